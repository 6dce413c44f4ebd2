package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/deploy/lab"
)

const guardedShop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'registry.example.test/web:1.0'}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
data: {greeting: hello}
`

type guardDocument struct {
	Clusters []struct {
		Cluster        string
		Engines        []string
		EngineAccounts []string
		Objects        int
		Namespaces     []string
		Findings       []guardedFinding
		Actors         []struct {
			User, Sort      string
			Writes, Objects int
			Verbs, By       []string
		}
		Problems  []struct{ Message string }
		Guards    []struct{ InPlace bool }
		Manifests []map[string]any
		Notes     []string
	}
	Unknown []struct{ Reason string }
	Summary struct{ Objects, Unknown int }
}

type guardedFinding struct {
	Risk, Sort, Path, As string
	Subject              struct{ Kind, Namespace, Name string }
	Held, Everything     bool
	Objects              int
	Seen                 *struct{ Writes int }
}

// of gives a subject's findings in a few words each, in order.
func (d guardDocument) of(name string) []string {
	var out []string
	for _, c := range d.Clusters {
		for _, f := range c.Findings {
			if f.Subject.Name == name {
				text := f.Risk + " " + f.Path
				if f.As != "" {
					text += " " + f.As
				}
				if f.Held {
					text += " (held)"
				}
				out = append(out, text)
			}
		}
	}
	return out
}

func guardJSONOf(t *testing.T, wantCode int, args ...string) guardDocument {
	t.Helper()
	out, code := holdfast(t, append([]string{"guard", "-o", "json"}, args...)...)
	if code != wantCode {
		t.Fatalf("exit %d, want %d\n%s", code, wantCode, out)
	}
	var doc guardDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return doc
}

// TestGuardFromFirstLookToHeld looks at a real cluster, commits to nothing but what the command prints, and looks
// again.
func TestGuardFromFirstLookToHeld(t *testing.T) {
	c := lab.Start(t, lab.Options{Audit: true}).Clusters[0]
	grantReader(t, c)
	for _, namespace := range []string{"shop", "flux-system"} {
		c.Kubectl(t, lab.Admin, "", "create", "namespace", namespace)
	}
	c.Apply(t, lab.Engine, "kustomize-controller", guardedShop)
	c.Kubectl(t, lab.Alice, "", "--namespace=shop", "set", "image", "deployment/web", "web=registry.example.test/web:1.1")
	input := []string{"--kubeconfig", c.Kubeconfig(lab.Bot), "--audit", c.AuditLog}

	before := guardJSONOf(t, 1, input...)
	cluster := before.Clusters[0]
	if diff := cmp.Diff([]string{"flux"}, cluster.Engines); diff != "" || cluster.Objects != 2 || !slices.Equal(cluster.Namespaces, []string{"shop"}) {
		t.Errorf("%d objects in %v, engines %s", cluster.Objects, cluster.Namespaces, diff)
	}
	if want := []string{"flux-system/kustomize-controller", "flux-system/source-controller"}; !slices.Equal(cluster.EngineAccounts, want) {
		t.Errorf("engine accounts %v, want %v", cluster.EngineAccounts, want)
	}
	if diff := cmp.Diff([]string{"critical direct"}, before.of("alice@example.test")); diff != "" {
		t.Error(diff)
	}
	bobs := before.of("bob@example.test")
	if !slices.Contains(bobs, "high direct") || !slices.ContainsFunc(bobs, func(s string) bool { return strings.HasPrefix(s, "critical becomes ServiceAccount ") }) {
		t.Errorf("bob, who may mint any account's token: %v", bobs)
	}
	if got := before.of("drift-bot"); len(got) != 0 {
		t.Errorf("the bot, which reads: %v", got)
	}
	alice := cluster.Actors[slices.IndexFunc(cluster.Actors, func(a struct {
		User, Sort      string
		Writes, Objects int
		Verbs, By       []string
	}) bool {
		return a.User == "alice@example.test"
	})]
	if alice.Sort != "person" || alice.Writes != 1 || alice.Objects != 1 || !slices.Equal(alice.Verbs, []string{"patch"}) || !slices.Contains(alice.By, "User alice@example.test") {
		t.Errorf("what alice did: %+v", alice)
	}
	out, code := holdfast(t, append([]string{"guard"}, input...)...)
	if code != 1 || !strings.Contains(out, "alice@example.test wrote once to 1 managed object (patch)") || !strings.Contains(out, "no guard is in place") {
		t.Errorf("exit %d\n%s", code, out)
	}

	manifests, code := holdfast(t, "guard", "-o", "yaml", "--kubeconfig", c.Kubeconfig(lab.Bot))
	if code != 1 {
		t.Fatalf("exit %d\n%s", code, manifests)
	}
	c.Apply(t, lab.Engine, "kustomize-controller", manifests)
	for _, variant := range [][]string{{"--strict"}, {"--break-glass-group", "oncall", "--let-through", "pipeline"}, {"--engine-account", "tools/deployer", "--strict"}} {
		out, _ := holdfast(t, append([]string{"guard", "-o", "yaml", "--kubeconfig", c.Kubeconfig(lab.Bot)}, variant...)...)
		if _, err := c.Exec(t.Context(), lab.Engine, out, "apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-"); err != nil {
			t.Errorf("%v: %v", variant, err)
		}
	}
	eventually(t, "alice is kept out", func() bool {
		_, err := c.Exec(t.Context(), lab.Alice, "", "--namespace=shop", "set", "image", "deployment/web", "web=registry.example.test/web:1.2")
		return err != nil && strings.Contains(err.Error(), "change it there, by a pull request")
	})
	c.Apply(t, lab.Engine, "kustomize-controller", guardedShop)

	after := guardJSONOf(t, 1, input...)
	if diff := cmp.Diff([]string{"high direct (held)"}, after.of("alice@example.test")); diff != "" {
		t.Errorf("who may do everything may take the guards away: %s", diff)
	}
	if bobs := after.of("bob@example.test"); !slices.Contains(bobs, "low direct (held)") {
		t.Errorf("bob: %v", bobs)
	}
	if slices.ContainsFunc(after.Clusters[0].Guards, func(g struct{ InPlace bool }) bool { return !g.InPlace }) {
		t.Errorf("guards in place: %+v", after.Clusters[0].Guards)
	}
	c.Kubectl(t, lab.Admin, "", "patch", "validatingadmissionpolicybinding/holdfast-guard-flux", "--type=merge", `--patch={"spec":{"validationActions":["Audit"]}}`)
	if out, _ := holdfast(t, append([]string{"guard"}, input...)...); !strings.Contains(out, "not all guards are in place: ValidatingAdmissionPolicyBinding holdfast-guard-flux is not as it should be") {
		t.Errorf("a guard that was blunted:\n%s", out)
	}
}

// TestGuardSaysWhatItCannotRead is a bot without rights on roles and bindings.
func TestGuardSaysWhatItCannotRead(t *testing.T) {
	c := engineCluster(t)
	c.Apply(t, lab.Admin, "test", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reads-no-rbac}
rules: [{apiGroups: ['', apps], resources: ['*'], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reads-no-rbac}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads-no-rbac}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: no-rbac}]
`)
	kubeconfig, err := os.ReadFile(c.Kubeconfig(lab.Admin))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, file, strings.Replace(string(kubeconfig), "    token:", "    as: reader\n    as-groups: [no-rbac, system:authenticated]\n    token:", 1))
	out, code := holdfast(t, "guard", "--kubeconfig", file)
	if code != 2 || !strings.Contains(out, "unknown ClusterRoleBinding") || !strings.Contains(out, "who else can write is not known") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
