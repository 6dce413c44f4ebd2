package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/detect"
)

// applied lets git apply a patch to a folder.
func applied(t *testing.T, dir, patch string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "apply", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: %s\n%s", err, out, patch)
	}
}

// A count that an autoscaler sets is no drift, and policy may take Git's out all the same.
func TestPolicyTakesCountsOutOfGit(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"git.yaml", "live.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", "cases", "19-hpa-owns-replicas", name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), string(data))
	}
	unpackInto(t, dir, `
-- app.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: shop, namespace: flux-system}
spec: {engine: flux, path: git.yaml}
-- policy.yaml --
apiVersion: holdfast/v1
kind: Policy
rules:
- {name: counts leave Git, cause: [autoscaler], path: [spec.replicas], undeclared: false, drift: false, disposition: codify}
`)
	input := []string{"--live", filepath.Join(dir, "live.yaml"), "--git", dir, "--application", filepath.Join(dir, "app.yaml"), "--policy", filepath.Join(dir, "policy.yaml")}
	text, _, _ := runAll(t, append([]string{"propose", "--dry-run"}, input...)...)
	for _, want := range []string{"it leaves Git, and the live value is not written there: HorizontalPodAutoscaler front sets the count", "-  replicas: 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	patch, _, _ := runAll(t, append([]string{"propose", "--dry-run", "-o", "patch"}, input...)...)
	before, _ := os.ReadFile(filepath.Join(dir, "git.yaml"))
	applied(t, dir, patch)
	after, _ := os.ReadFile(filepath.Join(dir, "git.yaml"))
	if string(after) != strings.Replace(string(before), "  replicas: 3\n", "", 1) {
		t.Errorf("the patch does more, or less:\n%s", patch)
	}
}

// handMadeObjects are what alice made in a namespace that an Application manages: a copy of what the engine applied, a
// workload of her own, and two Secrets, one of which Git declares.
const handMadeObjects = `
-- live.yaml --
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings, namespace: shop, labels: &marks {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
  data: {color: red}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: motd
    namespace: shop
    uid: 1d2c
    resourceVersion: "7"
    labels: *marks
    managedFields: [{manager: kubectl-create, operation: Update, apiVersion: v1, time: "2026-03-01T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:text": {}}}}]
  data: {text: hi}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: hand
    namespace: shop
    uid: 1d2d
    annotations: {deployment.kubernetes.io/revision: "1"}
    managedFields:
    - {manager: kubectl-create, operation: Update, apiVersion: apps/v1, time: "2026-03-01T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:selector": {}, "f:template": {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:name": {}, "f:image": {}}}}}}}}
    - {manager: kube-controller-manager, operation: Update, subresource: status, apiVersion: apps/v1, time: "2026-03-01T10:00:01Z", fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:deployment.kubernetes.io/revision": {}}}}}
  spec:
    replicas: 1
    progressDeadlineSeconds: 600
    revisionHistoryLimit: 10
    strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
    selector: {matchLabels: {app: hand}}
    template:
      metadata: {labels: {app: hand}}
      spec:
        containers:
        - {name: web, image: "registry.example.test/web:1", imagePullPolicy: IfNotPresent, resources: {}, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}
        dnsPolicy: ClusterFirst
        restartPolicy: Always
        schedulerName: default-scheduler
        securityContext: {}
        terminationGracePeriodSeconds: 30
  status: {replicas: 1}
- apiVersion: v1
  kind: Secret
  metadata:
    name: token
    namespace: shop
    labels: *marks
    managedFields: [{manager: kubectl-create, operation: Update, apiVersion: v1, time: "2026-03-01T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:token": {}}}}]
  data: {token: aHVudGVyMg==}
- apiVersion: v1
  kind: Secret
  metadata:
    name: declared
    namespace: shop
    labels: *marks
    managedFields: [{manager: kubectl-edit, operation: Update, apiVersion: v1, time: "2026-03-01T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:token": {}}}}]
  data: {token: aHVudGVyMw==}
-- git/shop/kustomization.yaml --
namespace: shop
resources:
- settings.yaml
- secret.yaml
-- git/shop/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: red
-- git/shop/secret.yaml --
apiVersion: v1
kind: Secret
metadata:
  name: declared
data:
  token: b3RoZXI=
-- app.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: shop, namespace: flux-system}
spec: {engine: flux, path: shop, kustomize: {}}
`

func TestObjectsMadeByHandBecomeFiles(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), handMadeObjects)
	input := []string{"--live", filepath.Join(dir, "live.yaml"), "--git", filepath.Join(dir, "git"), "--application", filepath.Join(dir, "app.yaml")}
	scanned := func() scanJSON {
		t.Helper()
		out, _, _ := runAll(t, append([]string{"scan", "--all", "-o", "json"}, input...)...)
		return scanOf(t, out)
	}
	byName := func(name string) detect.Finding {
		t.Helper()
		all := scanned().Findings
		i := slices.IndexFunc(all, func(f detect.Finding) bool { return f.Object.Name == name })
		if i < 0 {
			t.Fatalf("no finding about %s in %+v", name, all)
		}
		return all[i]
	}

	out, _, code := runAll(t, append([]string{"propose", "--dry-run", "--disposition", "codify", "-o", "json"}, input...)...)
	var doc proposalsJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 1 {
		t.Fatalf("exit %d, %v in %s", code, err, out)
	}
	for _, secret := range []string{"hunter", "aHVudGVy", "b3RoZXI"} {
		if strings.Contains(out, secret) {
			t.Errorf("%s is printed", secret)
		}
	}
	for name, want := range map[string]string{
		"token":    "a Secret is never written to Git: put it where Git has its secrets, encrypted or in a store, or delete it from the cluster",
		"declared": "a Secret's values are never written to Git: change the value where Git has it, encrypted or in a store, or revert the live one",
	} {
		id := byName(name).ID
		if !slices.ContainsFunc(doc.Skipped, func(s skippedJSON) bool { return s.Finding == id && s.Reason == want }) {
			t.Errorf("%s: skipped %+v, want %q", name, doc.Skipped, want)
		}
		if !slices.ContainsFunc(doc.Proposals, func(p proposalJSON) bool { return slices.Contains(p.Findings, id) && strings.Contains(p.Body, want) }) {
			t.Errorf("the issue about %s does not say what remains to be done", name)
		}
	}

	// What is no drift is codified when it is asked for.
	hand := byName("hand")
	if hand.Drift {
		t.Fatalf("%+v", hand)
	}
	patch, told, _ := runAll(t, append([]string{"propose", "--dry-run", "--all", "--disposition", "codify", "-o", "patch", "--finding", hand.ID, "--finding", byName("motd").ID}, input...)...)
	applied(t, filepath.Join(dir, "git"), patch)
	for name, want := range map[string]string{
		"kustomization.yaml":  "namespace: shop\nresources:\n- settings.yaml\n- secret.yaml\n- configmap-motd.yaml\n- deployment-hand.yaml\n",
		"configmap-motd.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: motd\ndata:\n  text: hi\n",
		"deployment-hand.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: hand\nspec:\n  selector:\n    matchLabels:\n      app: hand\n" +
			"  template:\n    metadata:\n      labels:\n        app: hand\n    spec:\n      containers:\n        - name: web\n          image: registry.example.test/web:1\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, "git", "shop", name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s\n%s", name, err, got, want, told)
		}
	}
	for _, f := range scanned().Findings {
		if f.Presence == detect.LiveOnly && f.Object.Kind != "Secret" {
			t.Errorf("still not declared: %+v", f)
		}
	}
}
