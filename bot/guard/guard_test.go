package guard_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast/bot/guard"
	"holdfast/detect/access"
	"holdfast/gitops"
)

func manifest(t *testing.T, text string) guard.Manifest {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return guard.Manifest{Object: gitops.NewObject(content)}
}

func TestNoManifestGrantsAnybodyAnything(t *testing.T) {
	role := func(rules string) string {
		return "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: [" + rules + "]}"
	}
	const binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {kind: ClusterRole, name: r}}"
	cases := []struct {
		name      string
		manifests []string
		want      []string
	}{
		{"reading is no change", []string{role("{apiGroups: [apps], resources: [deployments, deployments/status], verbs: [get, list, watch]}"), binding}, nil},
		{"a verb that writes", []string{role("{apiGroups: [apps], resources: [deployments], verbs: [get, patch]}"), binding},
			[]string{"ClusterRole r: allows the verb patch", "ClusterRoleBinding b: binds ClusterRole r, which is not among the manifests as a role that only reads"}},
		{"all verbs", []string{role("{apiGroups: [apps], resources: [deployments], verbs: ['*']}")}, []string{"ClusterRole r: allows the verb *"}},
		{"getting an exec runs commands", []string{role("{apiGroups: [''], resources: [pods, pods/exec], verbs: [get]}")},
			[]string{"ClusterRole r: allows pods/exec, which does more than read whatever the verb"}},
		{"getting all subresources does too", []string{role("{apiGroups: [''], resources: [pods/*], verbs: [get]}")},
			[]string{"ClusterRole r: names resources by pods/*, what runs commands in pods and Secrets among them"}},
		{"getting a proxy writes through it", []string{role("{apiGroups: [''], resources: [services/proxy, nodes/proxy], verbs: [get]}")},
			[]string{"ClusterRole r: allows nodes/proxy, which does more than read whatever the verb", "ClusterRole r: allows services/proxy, which does more than read whatever the verb"}},
		{"Secrets hold tokens", []string{role("{apiGroups: [''], resources: [secrets], verbs: [list]}")}, []string{"ClusterRole r: reads Secrets, and with them tokens of service accounts"}},
		{"every group of the API", []string{role("{apiGroups: ['*'], resources: [pods], verbs: [get]}")}, []string{"ClusterRole r: names groups of the API by *"}},
		{"a role that is not here", []string{binding}, []string{"ClusterRoleBinding b: binds ClusterRole r, which is not among the manifests as a role that only reads"}},
		{"cluster-admin", []string{strings.ReplaceAll(binding, "name: r}", "name: cluster-admin}")},
			[]string{"ClusterRoleBinding b: binds ClusterRole cluster-admin, which is not among the manifests as a role that only reads"}},
		{"a Role of another namespace", []string{
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: a}, rules: []}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: c}, roleRef: {kind: Role, name: r}}"},
			[]string{"RoleBinding c/b: binds Role c/r, which is not among the manifests as a role that only reads"}},
		{"an aggregate", []string{"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: []}}"},
			[]string{"ClusterRole r: is an aggregate, whose rules others write"}},
		{"a part of an aggregate", []string{"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}}}"},
			[]string{"ClusterRole r: adds its rules to other roles (rbac.authorization.k8s.io/aggregate-to-view)"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var ms []guard.Manifest
			for _, text := range c.manifests {
				ms = append(ms, manifest(t, text))
			}
			if diff := cmp.Diff(c.want, guard.Grants(ms)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsGenerated(t *testing.T) {
	ms, err := guard.Manifests(input())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range ms {
		names = append(names, m.Object.ID.String())
	}
	want := []string{
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io/holdfast-guard-flux", "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io/holdfast-guard-flux",
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io/holdfast-guard-argocd", "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io/holdfast-guard-argocd",
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io/holdfast-guard-engine", "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io/holdfast-guard-engine",
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io/holdfast-guard-namespaces", "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io/holdfast-guard-namespaces",
		"ClusterRole.rbac.authorization.k8s.io/holdfast-guard-reader", "ClusterRoleBinding.rbac.authorization.k8s.io/holdfast-guard-reader",
		"RoleBinding.rbac.authorization.k8s.io/shop/holdfast-guard-reader",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if wrong := guard.Grants(ms); len(wrong) > 0 {
		t.Errorf("what is generated grants: %v", wrong)
	}
	first, err := guard.YAML(ms)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := guard.Manifests(input())
	second, _ := guard.YAML(again)
	if string(first) != string(second) {
		t.Error("the same input gives another file")
	}
	for text := range strings.SplitSeq(string(first), "---\n") {
		var content map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &content); err != nil || content["kind"] == nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	if strings.Contains(string(first), "secrets") {
		t.Error("people are to read Secrets")
	}
}

func TestNothingToGuard(t *testing.T) {
	if ms, err := guard.Manifests(guard.Input{}); err != nil || len(ms) != 0 {
		t.Errorf("got %v, %v", ms, err)
	}
}

func TestNamesThatCannotStandInAnExpression(t *testing.T) {
	cases := []struct {
		name   string
		change func(*guard.Input)
		want   string
	}{
		{"a group that ends the text", func(in *guard.Input) { in.BreakGlass = "x' in ['x'] || 'a" }, "the break-glass group"},
		{"a group of the system", func(in *guard.Input) { in.BreakGlass = "system:authenticated" }, "name a group of your identity provider"},
		{"a namespace", func(in *guard.Input) { in.Namespaces = []string{"a", `b\`} }, "the namespace"},
		{"an account", func(in *guard.Input) { in.Accounts = []string{"a\nb"} }, "the account"},
		{"a label of Argo CD's settings", func(in *guard.Input) {
			in.Marks = []guard.Marks{{Engine: gitops.ArgoCD, Labels: []string{"a'b"}}}
		}, "the tracking mark"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := input()
			c.change(&in)
			if _, err := guard.Manifests(in); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestReadersAreBoundOnceWhereTheyAre(t *testing.T) {
	in := input()
	bob := access.Subject{Kind: access.User, Name: "bob"}
	in.Readers = []guard.Reader{{bob, []string{"shop", "till"}}, {bob, []string{"till"}}, {access.Subject{Kind: access.Group, Name: "sre"}, []string{"till"}}}
	ms, err := guard.Manifests(in)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, m := range ms {
		if !strings.HasSuffix(m.Object.ID.Kind, "RoleBinding") {
			continue
		}
		subjects, _ := m.Object.Content["subjects"].([]any)
		for _, s := range subjects {
			name, _ := s.(map[string]any)["name"].(string)
			got[m.Object.ID.Namespace] = append(got[m.Object.ID.Namespace], name)
		}
	}
	if diff := cmp.Diff(map[string][]string{"shop": {"bob"}, "till": {"sre", "bob"}}, got); diff != "" {
		t.Error(diff)
	}
}
