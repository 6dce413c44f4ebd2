package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/deploy/lab"
	"holdfast/deploy/lab/binary"
	"holdfast/detect"
)

// TestStoredReleaseOfHelmItself lets Helm install a chart that makes passwords, and scans with the record that it
// leaves in a real API server. There is no helm-controller in the lab: the record is written anew under its name.
func TestStoredReleaseOfHelmItself(t *testing.T) {
	store, err := binary.Open(".", os.Getenv(binary.CacheEnv))
	if err != nil {
		t.Fatal(err)
	}
	helm, err := store.Find(binary.Helm())
	if err != nil {
		t.Fatal(err)
	}
	cluster := lab.Start(t, lab.Options{}).Clusters[0]
	dir := unpackInto(t, t.TempDir(), `
-- git/chart/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- git/chart/templates/all.yaml --
{{- range $name := list "changed" "same" }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ $name }}
  labels: {helm.toolkit.fluxcd.io/name: shop, helm.toolkit.fluxcd.io/namespace: flux-system}
stringData:
  password: {{ randAlphaNum 12 }}
{{- end }}
-- release.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 1m, url: "https://git.example.test/fleet.git", ref: {branch: main}}
status: {artifact: {revision: "main@sha1:REVISION"}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: flux-system}
spec:
  interval: 10m
  releaseName: shop
  targetNamespace: shop
  storageNamespace: shop
  chart: {spec: {chart: chart, sourceRef: {kind: GitRepository, name: fleet}}}
status:
  storageNamespace: shop
  conditions: [{type: Ready, status: "True", reason: InstallSucceeded, message: ok, lastTransitionTime: "2026-03-01T00:00:00Z"}]
  history:
  - {name: shop, namespace: shop, version: 1, chartName: web, chartVersion: 1.0.0, status: deployed, digest: "sha256:0", configDigest: "sha256:0", firstDeployed: "2026-03-01T00:00:00Z", lastDeployed: "2026-03-01T00:00:00Z"}
`)
	repository := filepath.Join(dir, "git")
	git(t, repository, "init", "--quiet", "--initial-branch=main")
	git(t, repository, "add", "--all")
	git(t, repository, "-c", "user.name=Bob", "-c", "user.email=bob@example.test", "commit", "--quiet", "--message=shop")
	application := filepath.Join(dir, "release.yaml")
	text, err := os.ReadFile(application)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, application, strings.ReplaceAll(string(text), "REVISION", strings.TrimSpace(git(t, repository, "rev-parse", "HEAD"))))

	run := func(action string) {
		t.Helper()
		command := exec.Command(helm, action, "shop", filepath.Join(repository, "chart"), "--namespace", "shop", "--kubeconfig", cluster.Kubeconfig(lab.Admin))
		command.Env = []string{"HOME=" + dir}
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("helm %s: %v\n%s", action, err, out)
		}
	}
	scanned := func() map[string]string {
		t.Helper()
		out, errors, _ := runAll(t, "scan", "-o", "json", "--secrets", "values", "--git", "https://git.example.test/fleet.git="+repository,
			"--application", application, "--kubeconfig", cluster.Kubeconfig(lab.Admin))
		var scan scanJSON
		if err := json.Unmarshal([]byte(out), &scan); err != nil {
			t.Fatalf("%v\n%s%s", err, out, errors)
		}
		got := map[string]string{}
		for _, f := range scan.Findings {
			// What Helm notes in metadata is a controller's, and what the lab grants to people is not looked at.
			if f.Cause != detect.CauseController && f.Object.Kind != "ClusterRoleBinding" {
				got[f.Object.Kind+"/"+f.Object.Name] = fmt.Sprintf("%t %s", f.Drift, f.Cause)
			}
		}
		return got
	}

	cluster.Kubectl(t, lab.Admin, "", "create", "namespace", "shop")
	run("install")
	if got := scanned(); got["Secret/changed"] != "false render" {
		t.Errorf("with a record of somebody else: %v", got)
	}
	const record = "sh.helm.release.v1.shop.v1"
	var object map[string]any
	if err := json.Unmarshal([]byte(cluster.Kubectl(t, lab.Admin, "", "get", "secret", record, "--namespace", "shop", "-o", "json")), &object); err != nil {
		t.Fatal(err)
	}
	labels := object["metadata"].(map[string]any)["labels"]
	object["metadata"] = map[string]any{"name": record, "namespace": "shop", "labels": labels}
	anew, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Kubectl(t, lab.Admin, "", "delete", "secret", record, "--namespace", "shop")
	cluster.Kubectl(t, lab.Admin, string(anew), "create", "--filename", "-", "--field-manager", "helm-controller")
	if got := scanned(); len(got) > 0 {
		t.Errorf("as installed: %v, want nothing", got)
	}
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds
	cluster.Kubectl(t, lab.Alice, "", "patch", "secret", "changed", "--namespace", "shop", "--patch", `{"stringData": {"password": "chosen"}}`)
	if got := scanned(); len(got) != 1 || got["Secret/changed"] != "true manual" {
		t.Errorf("with one password changed: %v", got)
	}
	run("upgrade")
	if got := scanned(); got["HelmRelease/shop"] != "true manual" {
		t.Errorf("upgraded by hand: %v", got)
	}
}
