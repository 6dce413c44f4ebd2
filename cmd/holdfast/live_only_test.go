package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/deploy/lab"
	"holdfast/detect"
)

// strayObjects are what people and operators make in a namespace: {{ns}} stands for it. Pods are not scheduled in the
// lab and need not run.
const strayObjects = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: hand, namespace: {{ns}}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob@example.test}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: hand, namespace: {{ns}}}
spec: {podSelector: {}, ingress: [{}]}
---
apiVersion: v1
kind: Pod
metadata: {name: hand, namespace: {{ns}}}
spec:
  containers: [{name: shell, image: registry.example.test/shell:1, securityContext: {privileged: true}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: hand, namespace: {{ns}}}
spec:
  selector: {matchLabels: {app: hand}}
  template:
    metadata: {labels: {app: hand}}
    spec:
      hostNetwork: true
      containers: [{name: shell, image: registry.example.test/shell:1}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: harmless, namespace: {{ns}}}
spec:
  selector: {matchLabels: {app: harmless}}
  template:
    metadata: {labels: {app: harmless}}
    spec:
      containers: [{name: web, image: registry.example.test/web:1}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hand, namespace: {{ns}}}
data: {a: "1"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: hand-{{ns}}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default, namespace: {{ns}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: people-{{ns}}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob@example.test}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hand-{{ns}}}
webhooks:
- name: hand.example.test
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {url: "https://127.0.0.1:1/"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: {{ns}}}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE]}]
`

// operatorObjects are what an operator makes for an object that Git declares, with the labels of its parent.
const operatorObjects = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: child
  namespace: shop
  labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: settings, uid: {{uid}}}]
spec: {podSelector: {}, ingress: [{}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: child
  namespace: shop
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: settings, uid: {{uid}}}]
spec:
  containers: [{name: agent, image: registry.example.test/agent:1, securityContext: {privileged: true}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: generated, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: default, namespace: shop}]
`

// TestWhatPeopleMakePastGitIsFound makes the same objects in a namespace that two Applications share and in one that
// none has anything in.
func TestWhatPeopleMakePastGitIsFound(t *testing.T) {
	cluster := lab.Start(t, lab.Options{Audit: true}).Clusters[0]
	grantReader(t, cluster)
	dir := t.TempDir()
	settings := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {a: \"1\"}\n"
	more := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: shop}\ndata: {a: \"1\"}\n"
	other := strings.ReplaceAll(more, "name: more", "name: other")
	writeFile(t, filepath.Join(dir, "git", "shop", "all.yaml"), settings+"---\n"+more)
	writeFile(t, filepath.Join(dir, "git", "side", "all.yaml"), other)
	input := []string{"--git", filepath.Join(dir, "git"), "--kubeconfig", cluster.Kubeconfig(lab.Bot), "--audit", cluster.AuditLog}
	for _, name := range []string{"shop", "side"} {
		file := filepath.Join(dir, name+".yaml")
		writeYAMLFile(t, file, map[string]any{
			"apiVersion": "holdfast/v1", "kind": "Application", "metadata": map[string]any{"name": name, "namespace": "flux-system"},
			"spec": map[string]any{"engine": "flux", "path": name},
		})
		input = append(input, "--application", file)
	}
	for _, name := range []string{"shop", "elsewhere"} {
		cluster.Kubectl(t, lab.Admin, "", "create", "namespace", name)
		cluster.Kubectl(t, lab.Admin, "", "create", "serviceaccount", "default", "--namespace="+name)
	}
	for name, text := range map[string]string{"shop": settings + "---\n" + more, "side": other} {
		text = strings.ReplaceAll(text, "namespace: shop}", "namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: "+name+", kustomize.toolkit.fluxcd.io/namespace: flux-system}}")
		cluster.Apply(t, lab.Engine, "kustomize-controller", text)
	}
	for _, name := range []string{"shop", "elsewhere"} {
		cluster.Kubectl(t, lab.Alice, strings.ReplaceAll(strayObjects, "{{ns}}", name), "create", "-f", "-")
	}
	uid := cluster.Kubectl(t, lab.Admin, "", "get", "configmap", "settings", "--namespace=shop", "-o", "jsonpath={.metadata.uid}")
	cluster.Kubectl(t, lab.Engine, strings.ReplaceAll(operatorObjects, "{{uid}}", uid), "create", "--field-manager=operator", "-f", "-")
	// Alice borrows an operator's name, and Flux's; the audit log tells.
	borrowed := strings.ReplaceAll(strings.SplitN(strayObjects, "---", 2)[0], "{{ns}}", "shop")
	cluster.Kubectl(t, lab.Alice, strings.ReplaceAll(borrowed, "name: hand", "name: borrowed"), "create", "--field-manager=operator", "-f", "-")
	cluster.Kubectl(t, lab.Alice, strings.ReplaceAll(borrowed, "name: hand", "name: as-flux"), "apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-")

	scan := func(args ...string) []string {
		t.Helper()
		out, _ := holdfast(t, append(append([]string{"scan", "-o", "json"}, args...), input...)...)
		var doc scanJSON
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		var found []string
		for _, f := range doc.Findings {
			if f.Presence != detect.LiveOnly {
				continue
			}
			drift, who := "no drift", ""
			if f.Drift {
				drift = "drift"
			}
			if f.Writer != nil && f.Cause == detect.CauseManual {
				who = " " + f.Writer.User
			}
			if f.Drift && (f.Application != "flux-system/shop" || len(f.Controls) == 0) {
				t.Errorf("%s is reported by %s with %d controls, want it from the Application that declares most there", f.Object.ID(), f.Application, len(f.Controls))
			}
			found = append(found, strings.Join([]string{f.Object.ID().String(), drift, string(f.Cause), f.Risk.String(), string(f.Disposition)}, " ")+who)
		}
		slices.Sort(found)
		return found
	}
	want := []string{
		"ClusterRoleBinding.rbac.authorization.k8s.io/hand-elsewhere drift manual critical issue alice@example.test",
		"ClusterRoleBinding.rbac.authorization.k8s.io/hand-shop drift manual critical issue alice@example.test",
		"ClusterRoleBinding.rbac.authorization.k8s.io/people-elsewhere drift manual critical issue alice@example.test",
		"ClusterRoleBinding.rbac.authorization.k8s.io/people-shop drift manual critical issue alice@example.test",
		"Deployment.apps/shop/hand drift manual critical issue alice@example.test",
		"NetworkPolicy.networking.k8s.io/shop/child drift unknown critical issue", // a ConfigMap makes nothing
		"NetworkPolicy.networking.k8s.io/shop/hand drift manual critical issue alice@example.test",
		"Pod/shop/hand drift manual critical issue alice@example.test",
		"RoleBinding.rbac.authorization.k8s.io/shop/as-flux drift manual critical issue alice@example.test",
		"RoleBinding.rbac.authorization.k8s.io/shop/borrowed drift manual critical issue alice@example.test",
		"RoleBinding.rbac.authorization.k8s.io/shop/hand drift manual critical issue alice@example.test",
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io/hand-shop drift manual critical issue alice@example.test",
	}
	if diff := cmp.Diff(want, scan()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	all := scan("--all")
	for _, listed := range []string{
		"Deployment.apps/shop/harmless no drift manual",
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io/hand-elsewhere no drift manual",
	} {
		if !slices.ContainsFunc(all, func(line string) bool { return strings.HasPrefix(line, listed) }) {
			t.Errorf("--all does not list %q:\n%s", listed, strings.Join(all, "\n"))
		}
	}
	for _, line := range all {
		for _, quiet := range []string{"/elsewhere/", "ConfigMap/", "/shop/generated ", "/system:", "Pod/shop/child drift"} {
			if strings.Contains(line, quiet) {
				t.Errorf("listed: %s", line)
			}
		}
	}
}
