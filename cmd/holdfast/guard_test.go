package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	dumpedRoles = `
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: cluster-admin}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: deployer}, rules: [{apiGroups: [apps], resources: [deployments], verbs: [patch]}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: flux}, roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, namespace: flux-system, name: kustomize-controller}]}
`
	dumpedWeb = `
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop}}}
`
	alicesBinding = `
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: deployers, namespace: shop}, roleRef: {kind: ClusterRole, name: deployer}, subjects: [{kind: User, name: alice}]}
`
)

func guardDump(t *testing.T, items ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "live.yaml")
	list := "items: []\n"
	if len(items) > 0 {
		list = "items:" + strings.Join(items, "")
	}
	writeFile(t, file, "apiVersion: v1\nkind: List\n"+list)
	return []string{"--live", file}
}

func TestGuardOfADump(t *testing.T) {
	cycle := func(name, selects, label string) string {
		return "\n- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " + name + ", labels: {" + label + ": 'true'}}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {" + selects + ": 'true'}}]}, rules: []}"
	}
	cases := []struct {
		name  string
		items []string
		code  int
		want  []string // in the table
	}{
		{"a person who can", []string{dumpedRoles, dumpedWeb, alicesBinding}, 1, []string{"high  User alice  person  patch deployments.apps  1 in shop  ?     RoleBinding shop/deployers",
			"1 managed object: 1 way past the pipeline (1 high), 1 of them open to people, 1 of engines and the system (--all lists them)"}},
		{"nobody but the engine", []string{dumpedRoles, dumpedWeb}, 0, []string{"1 managed object: 0 ways past the pipeline, 1 of engines and the system"}},
		{"nothing is managed", []string{dumpedRoles, alicesBinding}, 0, []string{"nothing is managed by an engine that is known, so there is nothing to guard"}},
		{"a dump without roles", []string{dumpedWeb}, 2, []string{"unknown ClusterRole, ClusterRoleBinding: the dump holds none, and every cluster has some"}},
		{"an empty dump", nil, 2, []string{"unknown ClusterRole", "0 managed objects"}},
		{"a binding to a role that is not there", []string{dumpedRoles, dumpedWeb, strings.Replace(alicesBinding, "ClusterRole, name: deployer", "Role, name: gone", 1)}, 0,
			[]string{"note: RoleBinding shop/deployers binds the Role gone, which is not there"}},
		{"aggregates in a circle", []string{dumpedRoles, dumpedWeb, alicesBinding, cycle("a", "to-a", "to-b"), cycle("b", "to-b", "to-a")}, 1, []string{"User alice"}},
		{"what the engine lists, whatever its mark", []string{dumpedRoles, alicesBinding, `
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}
- {apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: shop, namespace: flux-system}, spec: {interval: 1m, prune: true, path: ., sourceRef: {kind: GitRepository, name: shop}}, status: {inventory: {entries: [{id: shop_web_apps_Deployment, v: v1}]}}}
`}, 1, []string{"1 in shop", "2 managed objects"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, code := holdfast(t, append([]string{"guard"}, guardDump(t, c.items...)...)...)
			if code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

func TestGuardPrintsManifestsOnly(t *testing.T) {
	out, code := holdfast(t, append([]string{"guard", "-o", "yaml"}, guardDump(t, dumpedRoles, dumpedWeb, alicesBinding)...)...)
	var kinds []string
	for line := range strings.SplitSeq(out, "\n") {
		if kind, ok := strings.CutPrefix(line, "kind: "); ok {
			kinds = append(kinds, kind)
		}
	}
	want := []string{
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ClusterRole", "RoleBinding",
	}
	if diff := cmp.Diff(want, kinds); diff != "" || code != 1 {
		t.Errorf("exit %d\n%s", code, diff)
	}
}

func TestGuardRefusesBadFlags(t *testing.T) {
	dump := guardDump(t, dumpedRoles, dumpedWeb)
	for _, c := range []struct{ flags, want string }{
		{"--engine-account=deployer", `--engine-account "deployer": want NAMESPACE/NAME`},
		{"--break-glass-group=system:masters", `the break-glass group "system:masters": groups of the system are not people's: name a group of your identity provider`},
		{"--break-glass-group=a'b", `the break-glass group "a'b": cannot stand in an expression of a policy`},
		{"--let-through=x'y", `the user "x'y": cannot stand in an expression of a policy`},
		{"--output=sarif", `--output "sarif": want one of table, json, yaml, markdown`},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"guard", c.flags}, dump...), testStreams(&out, &errs))
		if code != 2 || !strings.Contains(errs.String(), "holdfast: "+c.want) {
			t.Errorf("%s: exit %d, want %q in\n%s", c.flags, code, c.want, errs.String())
		}
	}
}
