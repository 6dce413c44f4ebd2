package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/deploy/lab"
)

// twoEnvironments are a base and two overlays, and what two engines apply of them.
const twoEnvironments = `
-- base/kustomization.yaml --
resources:
- api.yaml
- banner.yaml
- hpa.yaml
- web.yaml
-- base/api.yaml --
# The API.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
spec:
  selector:
    matchLabels: {app: api}
  template:
    metadata:
      labels: {app: api}
    spec:
      containers:
      - name: api
        image: registry.example.test/shop/api:1.0 # pinned
        env:
        - name: REGION
          value: north
-- base/banner.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: banner
data:
  text: hello
-- base/hpa.yaml --
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
spec:
  minReplicas: 2
  maxReplicas: 9
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web
-- base/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3 # two zones
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: registry.example.test/shop/web:1.0
-- eu/kustomization.yaml --
# Europe
namespace: eu
resources:
- ../base
replicas:
- name: web
  count: 4
-- us/kustomization.yaml --
# America
namespace: us
resources:
- ../base
`

// TestWhatCodifyDecides makes drifts by kubectl in two environments that share a base, lets git apply the one patch of
// all codifies, and wants the cluster to be as Git says then.
func TestWhatCodifyDecides(t *testing.T) {
	c := lab.Start(t, lab.Options{ControllerManager: true}).Clusters[0]
	c.Grant(t, lab.Alice, "cluster-admin")
	dir := t.TempDir()
	for name, text := range lab.Files(twoEnvironments) {
		writeFile(t, filepath.Join(dir, name), text)
	}
	commitAll(t, dir)
	input := []string{"--kubeconfig", c.Kubeconfig(lab.Admin), "--git", dir}
	apply := func() {
		for _, name := range []string{"eu", "us"} {
			labelled := strings.ReplaceAll(withFluxLabels(kustomize(t, c, dir, name)), "fluxcd.io/name: shop", "fluxcd.io/name: "+name)
			c.Apply(t, lab.Engine, "kustomize-controller", labelled)
		}
	}
	for _, name := range []string{"eu", "us"} {
		c.Kubectl(t, lab.Admin, "", "create", "namespace", name)
		file := filepath.Join(t.TempDir(), name+".yaml")
		writeYAMLFile(t, file, map[string]any{
			"apiVersion": "holdfast/v1", "kind": "Application", "metadata": map[string]any{"name": name, "namespace": "flux-system"},
			"spec": map[string]any{"engine": "flux", "path": name, "kustomize": map[string]any{}},
		})
		input = append(input, "--application", file)
	}
	apply()
	// A second revision, so that there is one to roll back to.
	edit(t, filepath.Join(dir, "base", "web.yaml"), "shop/web:1.0", "shop/web:1.1")
	commitAll(t, dir)
	rolledOut := func(namespace, count string) {
		eventually(t, "web has its ReplicaSets", func() bool {
			return c.Kubectl(t, lab.Admin, "", "--namespace="+namespace, "get", "replicasets", "--selector=app=web", "-o", "jsonpath={.items[*].metadata.annotations.deployment\\.kubernetes\\.io/revision}") == count
		})
	}
	rolledOut("us", "1")
	apply()
	eventually(t, "web has two revisions", func() bool {
		return strings.Contains(c.Kubectl(t, lab.Admin, "", "--namespace=us", "get", "deployment/web", "-o", "jsonpath={.metadata.annotations}"), `revision":"2"`)
	})
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds
	if out, code := holdfast(t, append([]string{"scan"}, input...)...); code != 0 {
		t.Fatalf("before any change: exit %d\n%s", code, out)
	}

	alice := func(namespace, stdin string, args ...string) {
		t.Helper()
		c.Kubectl(t, lab.Alice, stdin, append([]string{"--namespace=" + namespace}, args...)...)
	}
	for _, both := range []string{"eu", "us"} {
		alice(both, "", "label", "deployment/api", "team=checkout")
		alice(both, "", "scale", "deployment/web", "--replicas=5")
		alice(both, strings.ReplaceAll(handMadeMotd, "{{ns}}", both), "create", "-f", "-")
	}
	alice("eu", "", "set", "env", "deployment/api", "EXTRA=1")
	alice("eu", strings.ReplaceAll(handMadeAdmin, "{{ns}}", "eu"), "create", "-f", "-")
	alice("us", "", "delete", "configmap/banner")
	alice("us", "", "rollout", "undo", "deployment/web")

	patch, code := holdfast(t, append([]string{"propose", "--dry-run", "--disposition", "codify", "-o", "patch"}, input...)...)
	if code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", dir, "apply", "-")
	cmd.Stdin = strings.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: %s\n%s", err, out, patch)
	}
	git(t, dir, "add", "--all")
	got := strings.Fields(git(t, dir, "diff", "--cached", "--name-only"))
	slices.Sort(got)
	want := []string{
		"base/api.yaml", "base/kustomization.yaml", "base/motd.yaml", "base/web.yaml",
		"eu/admin.yaml", "eu/kustomization.yaml", "eu/patch-deployment-api.yaml", "us/kustomization.yaml", "us/patch-configmap-banner.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changed files (-want +got):\n%s\n%s", diff, patch)
	}
	for name, texts := range map[string][]string{
		"base/api.yaml":           {"# The API.\n", "api:1.0 # pinned\n", "  labels:\n    team: checkout\n"},
		"base/motd.yaml":          {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: motd\ndata:\n  text: hi\n"},
		"base/kustomization.yaml": {"- hpa.yaml\n- motd.yaml\n- web.yaml\n"},
		"eu/admin.yaml":           {"apiVersion: v1\nkind: Service\nmetadata:\n  name: admin\nspec:\n  ports:\n  - port: 8080\n  selector:\n    app: web\n"},
		"us/kustomization.yaml":   {"newTag: \"1.0\"\n"},
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		for _, text := range texts {
			if err != nil || !strings.Contains(string(data), text) {
				t.Errorf("%s: %v\n%s\nwant in it\n%s", name, err, data, text)
			}
		}
	}
	for _, gone := range []string{"base/web.yaml replicas", "eu/kustomization.yaml count", "eu/admin.yaml namespace", "eu/admin.yaml clusterIP", "us/kustomization.yaml revision"} {
		name, text, _ := strings.Cut(gone, " ")
		if data, _ := os.ReadFile(filepath.Join(dir, name)); strings.Contains(string(data), text) {
			t.Errorf("%s still has %s:\n%s", name, text, data)
		}
	}
	commitAll(t, dir)
	before := webs(t, c)
	apply()
	if after := webs(t, c); after != before || before != "5 5" {
		t.Errorf("applying the patch moves what alice scaled from %s to %s", before, after)
	}
	if out, code := holdfast(t, append([]string{"scan"}, input...)...); code != 0 {
		t.Errorf("after the patch: exit %d\n%s", code, out)
	}
}

func webs(t *testing.T, c *lab.Cluster) string {
	t.Helper()
	count := func(namespace string) string {
		return c.Kubectl(t, lab.Admin, "", "--namespace="+namespace, "get", "deployment/web", "-o", "jsonpath={.spec.replicas}")
	}
	return fmt.Sprintf("%s %s", count("eu"), count("us"))
}

func commitAll(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		git(t, dir, "init", "--quiet", "--initial-branch=main")
		git(t, dir, "config", "user.name", "Bob")
		git(t, dir, "config", "user.email", "bob@example.test")
	}
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message=more")
}

// What alice makes from copies of what the engine applied, so that its marks are on it.
const (
	handMadeMotd = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: motd
  labels: {kustomize.toolkit.fluxcd.io/name: {{ns}}, kustomize.toolkit.fluxcd.io/namespace: flux-system}
data: {text: hi}
`
	handMadeAdmin = `
apiVersion: v1
kind: Service
metadata:
  name: admin
  labels: {kustomize.toolkit.fluxcd.io/name: {{ns}}, kustomize.toolkit.fluxcd.io/namespace: flux-system}
spec:
  selector: {app: web}
  ports: [{port: 8080}]
`
)
