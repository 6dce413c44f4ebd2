package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/deploy/lab"
)

// forgedObjects are applied as Flux does: one for each way to hide a change.
const forgedObjects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: cleared, namespace: shop}
data: {size: "4"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: entry-removed, namespace: shop}
data: {size: "4"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: folded, namespace: shop}
data: {size: "4"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: name-borrowed, namespace: shop}
data: {size: "4"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: apply-forged, namespace: shop}
data: {size: "4"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: impersonated, namespace: shop}
data: {size: "4"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: switched-off, namespace: shop}
data: {size: "4"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: forged, namespace: shop}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: scaled, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: scaled}}
  template:
    metadata: {labels: {app: scaled}}
    spec: {containers: [{name: web, image: "registry.example.test/web:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: contested, namespace: shop}
data: {size: "4"}
`

// TestHiddenChangesAreFound changes objects of a real API server in the ways that hide who did it, and scans without
// and with the audit log.
func TestHiddenChangesAreFound(t *testing.T) {
	cluster := lab.Start(t, lab.Options{Audit: true}).Clusters[0]
	grantReader(t, cluster)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "git", "shop", "all.yaml"), forgedObjects)
	application := filepath.Join(dir, "application.yaml")
	writeYAMLFile(t, application, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Application", "metadata": map[string]any{"name": "shop", "namespace": "flux-system"},
		"spec": map[string]any{"engine": "flux", "path": "shop"},
	})
	cluster.Kubectl(t, lab.Admin, "", "create", "namespace", "shop")
	marked := strings.ReplaceAll(forgedObjects, "namespace: shop}", "namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}")
	heal := func() { cluster.Apply(t, lab.Engine, "kustomize-controller", marked) }
	alice := func(args ...string) {
		t.Helper()
		cluster.Kubectl(t, lab.Alice, "", append([]string{"--namespace=shop"}, args...)...)
	}
	size := func(name, value string, more ...string) {
		t.Helper()
		alice(append([]string{"patch", "configmap", name, "--type=merge", "-p", fmt.Sprintf(`{"data":{"size":%q}}`, value)}, more...)...)
	}
	forge := func(kind, from, to string) {
		t.Helper()
		i := slices.IndexFunc(strings.Split(marked, "---\n"), func(doc string) bool { return strings.Contains(doc, kind) })
		doc := strings.Split(marked, "---\n")[i]
		if !strings.Contains(doc, from) {
			t.Fatalf("no %q in %s", from, doc)
		}
		cluster.Kubectl(t, lab.Alice, strings.Replace(doc, from, to, 1), "apply", "--server-side", "--force-conflicts", "--field-manager=kustomize-controller", "-f", "-")
	}
	heal()
	size("contested", "5")
	heal()
	size("contested", "6")
	heal()
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds: what follows is later

	size("cleared", "5")
	alice("patch", "configmap", "cleared", "--type=json", "-p", `[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`)
	size("entry-removed", "5")
	alice("patch", "configmap", "entry-removed", "--type=json", "-p", `[{"op":"remove","path":"/metadata/managedFields/1"}]`)
	size("folded", "5", "--field-manager=tool-0")
	for i := 1; i <= 11; i++ {
		alice("patch", "configmap", "folded", "--type=merge", "-p", fmt.Sprintf(`{"metadata":{"annotations":{"note-%d":"x"}}}`, i), fmt.Sprintf("--field-manager=tool-%d", i))
		if i == 1 {
			time.Sleep(1100 * time.Millisecond) // the oldest is folded first
		}
	}
	size("name-borrowed", "5", "--field-manager=kustomize-controller")
	forge("name: apply-forged", `size: "4"`, `size: "5"`)
	forge("name: forged", "resources: [pods]", "resources: [secrets]")
	size("impersonated", "5", "--as=bob@example.test")
	size("switched-off", "5")
	alice("annotate", "configmap", "switched-off", "kustomize.toolkit.fluxcd.io/reconcile=disabled")
	alice("scale", "deployment", "scaled", "--replicas=7")

	input := []string{"scan", "-o", "json", "--git", filepath.Join(dir, "git"), "--application", application, "--kubeconfig", cluster.Kubeconfig(lab.Bot)}
	for _, c := range []struct {
		name string
		args []string
		want map[string]string
	}{
		{"by managedFields alone", nil, map[string]string{
			"cleared data.size":       "drift unknown",
			"entry-removed data.size": "drift unknown",
			"folded data.size":        "drift unknown ancient-changes",
			"name-borrowed data.size": "drift manual kustomize-controller",
			"apply-forged data.size":  "no drift admission", // inferred: it is not sensitive
			"forged rules":            "drift unknown",
			"impersonated data.size":  "drift manual kubectl-patch",
			"switched-off data.size":  "drift manual kubectl-patch",
			`switched-off metadata.annotations["kustomize.toolkit.fluxcd.io/reconcile"]`: "drift manual kubectl-annotate",
			"scaled spec.replicas": "drift manual kubectl",
		}},
		{"with the audit log", []string{"--audit", cluster.AuditLog, "--all"}, map[string]string{
			"cleared data.size":       "drift manual alice@example.test",
			"entry-removed data.size": "drift manual alice@example.test",
			"folded data.size":        "drift manual alice@example.test",
			"name-borrowed data.size": "drift manual alice@example.test",
			"apply-forged data.size":  "drift manual alice@example.test",
			"forged rules":            "drift manual alice@example.test",
			"impersonated data.size":  "drift manual alice@example.test as bob@example.test",
			"switched-off data.size":  "drift manual alice@example.test",
			`switched-off metadata.annotations["kustomize.toolkit.fluxcd.io/reconcile"]`: "drift manual alice@example.test",
			"scaled spec.replicas": "drift manual alice@example.test",
			"contested data.size":  "drift contested alice@example.test",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := holdfastNow(t, append(input, c.args...)...)
			var doc scanJSON
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			got := map[string]string{}
			for _, f := range doc.Findings {
				for _, field := range f.Fields {
					text := "no drift"
					if field.Drift {
						text = "drift"
					}
					text += " " + string(field.Cause)
					if field.Writer != nil && field.Drift && field.Writer.Name() != "" {
						text += " " + field.Writer.Name()
					}
					path, _, _ := strings.Cut(field.Path.String(), "[0]") // rules[0].resources
					got[f.Object.Name+" "+path] = text
				}
			}
			for key, want := range c.want {
				if got[key] != want {
					t.Errorf("%s: %q, want %q", key, got[key], want)
				}
				delete(got, key)
			}
			for key, text := range got {
				if strings.HasPrefix(text, "drift") && !strings.Contains(key, "note-") {
					t.Errorf("%s: %s, which nobody changed", key, text)
				}
			}
		})
	}
}

// holdfastNow runs the command by the clock that the lab runs by.
func holdfastNow(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	s := testStreams(&stdout, &stderr)
	s.now = time.Now
	code = run(t.Context(), args, s)
	return stdout.String(), code
}
