package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"holdfast/deploy/lab"
	"holdfast/detect"
)

// wantField is what the main job must say of one field that alice, a controller or nobody changed.
type wantField struct {
	object, path string
	cause        detect.Cause
	drift        bool
	user         string
	confidence   detect.Confidence
	risk         string
	disposition  detect.Disposition
}

// TestMainJobOnARealAPIServer is the main job end to end: a repository with a base and two overlays, applied
// as Flux's kustomize-controller does; drift by kubectl; what scan says of it; what propose would write; and
// that what it would write closes the drift.
func TestMainJobOnARealAPIServer(t *testing.T) {
	cluster := lab.Start(t, lab.Options{Audit: true, ControllerManager: true}).Clusters[0]
	cluster.Grant(t, lab.Alice, "cluster-admin")
	repository := newShop(t)
	cluster.Kubectl(t, lab.Admin, "", "create", "namespace", "shop")
	cluster.Apply(t, lab.Engine, "kustomize-controller", withFluxLabels(kustomize(t, cluster, repository, "apps/shop/production")))
	eventually(t, "the autoscalers have scaled front and search", func() bool {
		return field(t, cluster, "deployment/front", "{.spec.replicas}") == "3" && field(t, cluster, "deployment/search", "{.spec.replicas}") == "3"
	})
	input := shopInput(t, repository)

	out, code := holdfast(t, append([]string{"scan", "-o", "json", "--kubeconfig", cluster.Kubeconfig(lab.Admin)}, input...)...)
	if drifted := findingsOf(t, out, true); len(drifted) > 0 || code != 0 {
		t.Fatalf("before any change: exit %d, drift %+v", code, drifted)
	}

	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds
	driftShop(t, cluster)
	scan := append([]string{"scan", "-o", "json", "--kubeconfig", cluster.Kubeconfig(lab.Admin), "--audit", cluster.AuditLog}, input...)
	out, code = holdfast(t, scan...)
	if code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	checkFields(t, findingsOf(t, out, false), shopWants())

	codifyShop(t, cluster, repository, input)
}

// shopWants lists every difference that must be found, with its answer under the production policy.
func shopWants() []wantField {
	const alice = "alice@example.test"
	manual := func(object, path, risk string, d detect.Disposition) wantField {
		return wantField{object, path, detect.CauseManual, true, alice, detect.ByAudit, risk, d}
	}
	return []wantField{
		manual("Deployment/web", "spec.replicas", "medium", detect.Revert),
		manual("Deployment/web", "metadata.labels.team", "low", detect.Revert),
		manual("Deployment/api", "spec.template.spec.containers[name=api].image", "high", detect.Revert),
		manual("Deployment/api", "spec.template.spec.containers[name=api].env[name=CACHE_TTL]", "medium", detect.Revert),
		{"Deployment/api", "spec.template.spec.containers[name=api].env[name=REGION]", detect.CauseManual, true, alice, detect.ByAudit, "medium", detect.Revert},
		manual("Deployment/worker", "spec.template.spec.containers[name=worker].resources.limits.memory", "low", detect.Revert),
		{"Deployment/worker", "spec.template.spec.containers[name=worker].args", detect.CauseManual, true, alice, detect.ByAudit, "medium", detect.Revert},
		manual("Deployment/media", "spec.template.spec.hostNetwork", "critical", detect.AsIssue),
		{"Deployment/quiet", "spec.template.spec.containers[name=quiet].env[name=LEVEL].value", detect.CauseManual, true, alice, detect.ByAudit, "medium", detect.Revert},
		{"Deployment/restarted", `spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`, detect.CauseManual, true, alice, detect.ByAudit, "low", detect.Revert},
		{"Deployment/front", "spec.replicas", detect.CauseAutoscaler, false, "", "", "", detect.Ignore},
		{"Deployment/search", "spec.replicas", detect.CauseAutoscaler, false, "", "", "", detect.Ignore},
		{"Service/search", "", detect.CauseMissing, true, alice, detect.ByAudit, "high", detect.Revert},
		{"ConfigMap/stray", "", detect.CauseManual, true, alice, detect.ByAudit, "low", detect.AsIssue},
	}
}

// driftShop is what alice does by hand.
func driftShop(t *testing.T, c *lab.Cluster) {
	t.Helper()
	alice := func(stdin string, args ...string) {
		t.Helper()
		c.Kubectl(t, lab.Alice, stdin, append([]string{"--namespace=shop"}, args...)...)
	}
	alice("", "scale", "deployment/web", "--replicas=6")
	alice("", "label", "deployment/web", "team=checkout")
	alice("", "set", "image", "deployment/api", "api=registry.example.test/shop/api:2.4.2")
	alice("", "set", "env", "deployment/api", "CACHE_TTL=30s")
	alice("", "set", "env", "deployment/api", "REGION-")
	alice("", "set", "resources", "deployment/worker", "--containers=worker", "--limits=memory=1Gi")
	alice("", "patch", "deployment/worker", "--type=json", `--patch=[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["--queue=mail","--queue=invoices","--verbose"]}]`)
	alice("", "patch", "deployment/media", "--type=merge", `--patch={"spec":{"template":{"spec":{"hostNetwork":true}}}}`)
	alice("", "delete", "service/search")
	alice("", "rollout", "restart", "deployment/restarted")
	alice(`{apiVersion: v1, kind: ConfigMap, metadata: {name: stray, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}}`, "create", "-f", "-")
	alice("", "set", "env", "deployment/quiet", "LEVEL=trace")
	entries := strings.Fields(field(t, c, "deployment/quiet", "{.metadata.managedFields[*].manager}"))
	i := slices.Index(entries, "kubectl-set")
	if i < 0 {
		t.Fatalf("no entry of kubectl-set among %v", entries)
	}
	alice("", "patch", "deployment/quiet", "--type=json", fmt.Sprintf(`--patch=[{"op":"remove","path":"/metadata/managedFields/%d"}]`, i))
}

// codifyShop writes every drift to Git instead, and looks whether that closes it.
func codifyShop(t *testing.T, c *lab.Cluster, repository string, input []string) {
	t.Helper()
	staging := kustomize(t, c, repository, "apps/shop/staging")
	propose := append([]string{"propose", "--dry-run", "--disposition", "codify", "-o", "json", "--kubeconfig", c.Kubeconfig(lab.Admin)}, input...)
	out, _ := holdfast(t, propose...)
	var doc proposalsJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(doc.Proposals, func(p proposalJSON) bool { return p.Kind == "pull-request" && p.Disposition == detect.Codify })
	if i < 0 {
		t.Fatalf("no codify pull request is proposed: %+v", doc.Skipped)
	}
	p := doc.Proposals[i]
	if !p.Proof.Verified || !p.Proof.Complete {
		t.Errorf("proof: %+v", p.Proof)
	}
	for _, s := range doc.Skipped {
		t.Errorf("not placed: %+v", s)
	}
	for _, f := range p.Files {
		name := filepath.Join(repository, f.Path)
		before, _ := os.ReadFile(name)
		for _, line := range strings.Split(string(before), "\n") {
			if _, comment, ok := strings.Cut(line, "#"); ok && f.After != nil && !strings.Contains(*f.After, comment) {
				t.Errorf("%s loses the comment %q", f.Path, comment)
			}
		}
		if f.After == nil {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(name, []byte(*f.After), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, repository, "add", "--all")
	git(t, repository, "commit", "--quiet", "--message=codify")
	if after := kustomize(t, c, repository, "apps/shop/staging"); after != staging {
		t.Error("the other overlay moved")
	}
	out, _ = holdfast(t, append([]string{"scan", "-o", "json", "--kubeconfig", c.Kubeconfig(lab.Admin)}, input...)...)
	for _, f := range findingsOf(t, out, true) {
		for _, field := range f.Fields { // the engine's marks, which alice copied, become its own when it applies
			if f.Object.Name != "stray" || len(field.Path) != 3 || !strings.HasPrefix(field.Path[2].Field, "kustomize.toolkit.fluxcd.io/") {
				t.Errorf("still drifting after the codify: %s %+v", f.Object.ID(), field)
			}
		}
	}
}

// checkFields compares findings with wants, both ways: nothing else may be reported as drift.
func checkFields(t *testing.T, findings []detect.Finding, wants []wantField) {
	t.Helper()
	seen := map[string]bool{}
	for _, want := range wants {
		got, ok := lookUp(findings, want)
		seen[want.object+" "+want.path] = true
		if !ok {
			t.Errorf("%s %s: not reported", want.object, want.path)
			continue
		}
		if got != want {
			t.Errorf("%s %s:\n got %+v\nwant %+v", want.object, want.path, got, want)
		}
	}
	for _, f := range findings {
		name := f.Object.Kind + "/" + f.Object.Name
		if f.Drift && len(f.Fields) == 0 && !seen[name+" "] {
			t.Errorf("%s: reported as %s, and nobody changed it", name, f.Cause)
		}
		for _, field := range f.Fields {
			if field.Drift && !seen[name+" "+field.Path.String()] {
				t.Errorf("%s %s: reported as %s (git %v, live %v), and nobody changed it", name, field.Path, field.Cause, field.Git.V, field.Live.V)
			}
		}
	}
}

func lookUp(findings []detect.Finding, want wantField) (wantField, bool) {
	i := slices.IndexFunc(findings, func(f detect.Finding) bool { return f.Object.Kind+"/"+f.Object.Name == want.object })
	if i < 0 {
		return wantField{}, false
	}
	f := findings[i]
	if want.path == "" {
		got := wantField{object: want.object, cause: f.Cause, drift: f.Drift, risk: f.Risk.String(), disposition: f.Disposition}
		return written(got, f.Writer), true
	}
	j := slices.IndexFunc(f.Fields, func(field detect.Field) bool { return field.Path.String() == want.path })
	if j < 0 {
		return wantField{}, false
	}
	field := f.Fields[j]
	got := wantField{object: want.object, path: want.path, cause: field.Cause, drift: field.Drift, risk: field.Risk.String(), disposition: field.Disposition}
	if !field.Drift {
		return got, true
	}
	return written(got, field.Writer), true
}

func written(w wantField, by *detect.Writer) wantField {
	if by != nil {
		w.user, w.confidence = by.User, by.Confidence
	}
	return w
}

// scanOf reads what scan prints, or the errors beside it.
func scanOf(t *testing.T, out string) scanJSON {
	t.Helper()
	var doc scanJSON
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&doc); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return doc
}

func findingsOf(t *testing.T, out string, driftOnly bool) []detect.Finding {
	t.Helper()
	doc := scanOf(t, out)
	for _, u := range doc.Unknown {
		t.Errorf("unknown: %+v", u)
	}
	if !driftOnly {
		return doc.Findings
	}
	return slices.DeleteFunc(doc.Findings, func(f detect.Finding) bool { return !f.Drift })
}

// newShop makes a Git repository of testdata/shop.txtar.
func newShop(t *testing.T) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "shop.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, dir, "config", "user.name", "Bob")
	git(t, dir, "config", "user.email", "bob@example.test")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message=shop")
	return dir
}

func shopInput(t *testing.T, repository string) []string {
	t.Helper()
	application := filepath.Join(t.TempDir(), "application.yaml")
	writeYAMLFile(t, application, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Application", "metadata": map[string]any{"name": "shop", "namespace": "flux-system"},
		"spec": map[string]any{"engine": "flux", "path": "apps/shop/production", "kustomize": map[string]any{}},
	})
	return []string{"--git", repository, "--application", application}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func kustomize(t *testing.T, c *lab.Cluster, repository, path string) string {
	t.Helper()
	return c.Kubectl(t, lab.Admin, "", "kustomize", filepath.Join(repository, path))
}

// withFluxLabels adds the ownership labels that kustomize-controller puts on what it applies.
func withFluxLabels(manifests string) string {
	var out []string
	for _, doc := range strings.Split(manifests, "\n---\n") {
		labels := "  labels:\n    kustomize.toolkit.fluxcd.io/name: shop\n    kustomize.toolkit.fluxcd.io/namespace: flux-system\n"
		if strings.Contains(doc, "\nmetadata:\n  labels:\n") {
			doc = strings.Replace(doc, "\nmetadata:\n  labels:\n", "\nmetadata:\n"+labels, 1)
		} else {
			doc = strings.Replace(doc, "\nmetadata:\n", "\nmetadata:\n"+labels, 1)
		}
		out = append(out, doc)
	}
	return strings.Join(out, "\n---\n")
}

func field(t *testing.T, c *lab.Cluster, object, path string) string {
	t.Helper()
	return c.Kubectl(t, lab.Admin, "", "--namespace=shop", "get", object, "-o", "jsonpath="+path)
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	patiently(t, time.Minute, what, done)
}

// patiently is eventually with another limit.
func patiently(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("waited %s in vain until %s", limit, what)
}
