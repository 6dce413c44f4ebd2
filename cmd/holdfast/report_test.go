package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/bot/report"
	"holdfast/detect"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

// reportJSON runs report and gives its JSON.
func reportJSON(t *testing.T, args ...string) report.Report {
	t.Helper()
	out, said, code := runAll(t, append([]string{"report", "-o", "json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// scanFile writes what a scan at an hour would have printed: two clusters, of which the second cannot be reached.
func scanFile(t *testing.T, dir string, hour int, findings ...detect.Finding) string {
	t.Helper()
	prune := true
	doc := scanJSON{
		APIVersion: apiVersion, Kind: "Scan", Time: time.Date(2026, 3, 9, hour, 0, 0, 0, time.UTC), Findings: findings,
		Clusters: []clusterJSON{{Name: "north", Tier: detect.Production, Version: "v1.33.1-eks-1", Provider: &setting.Detected{Provider: setting.EKS, Because: "its version"}}},
		Applications: []applicationJSON{{
			Cluster: "north", Namespace: "flux-system", Name: "shop", Engine: "flux", Kind: "Kustomization", State: detect.Rendered, Objects: 12, Interval: "10m0s", Correction: gitops.Heals, Prune: &prune,
		}},
		Unknown: []unknownJSON{{Cluster: "south", Reason: "connection refused"}}, Summary: summaryJSON{Objects: 12},
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, fmt.Sprintf("scan-%02d.json", hour))
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func imageByHand(when time.Time) detect.Finding {
	object := detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	writer := &detect.Writer{User: "alice", Manager: "kubectl-edit", Time: when, Confidence: detect.ByAudit}
	return detect.Finding{
		ID: detect.FindingID("north", "flux-system/shop", object.ID()), Cluster: "north", Application: "flux-system/shop", Object: object, Presence: detect.Both, Drift: true,
		Cause: detect.CauseManual, Disposition: detect.Revert, Risk: detect.High, Class: "workload_image", Writer: writer,
	}
}

func TestReportOfRecordedScans(t *testing.T) {
	dir := t.TempDir()
	changed := time.Date(2026, 3, 9, 7, 40, 0, 0, time.UTC)
	files := []string{scanFile(t, dir, 0), scanFile(t, dir, 8, imageByHand(changed)), scanFile(t, dir, 12)}
	// As a shell gives the files of a pattern: the first behind --scan, the others after it.
	r := reportJSON(t, "--scan", files[0], files[1], files[2], "--provider", "EKS", "--engine", "Flux v2", "--clusters", "200", "--interval", "5 minutes",
		"--tier", "prod", "--standard", "SOC 2 Type II", "--standard", "CIS")
	if got := r.Detection.ChangeToDetection; got.N != 1 || *got.P50 != 20*60 {
		t.Errorf("from change to detection: %+v, want 20 minutes", got)
	}
	if got := r.Detection.ChangeToClosure; got.N != 1 || *got.P50 != (4*60+20)*60 {
		t.Errorf("from change to closure: %+v", got)
	}
	if *r.Matrix.Drifts != 1 || *r.Matrix.ClusterDays != 0.5 {
		t.Errorf("%d drifts in %g cluster-days", *r.Matrix.Drifts, *r.Matrix.ClusterDays)
	}
	if u := r.Data.Unread; len(u) != 1 || u[0].Cluster != "south" || u[0].Reason != "connection refused" {
		t.Errorf("the cluster that cannot be reached: %+v", u)
	}
	for _, v := range r.Variables {
		if v.Name == "compliance standard" && v.Used != "SOC 2, CIS Amazon EKS Benchmark 1.8.0" {
			t.Errorf("standards: %s", v.Used)
		}
		if v.Name == "cluster count" && (v.Given != "200" || v.Observed != "1" || !v.Differs) {
			t.Errorf("clusters: %+v", v)
		}
	}
	if r.NoData || report.Words(r.Brief.Text) > report.MostWords {
		t.Errorf("brief: %s", r.Brief.Text)
	}
}

func TestReportWithoutData(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	t.Setenv("HOME", dir)
	out, said, code := runAll(t, "report", "--provider", "GKE Autopilot", "--engine", "Argo CD 3.1", "--clusters", "40", "--interval", "3m", "--tier", "regulated", "--standard", "FedRAMP high", "--standard", "HIPAA")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	for _, want := range []string{"Nothing was observed: this report has no figures", "Google GKE Autopilot", "Argo CD 3.1", "40 clusters", "FedRAMP high, HIPAA Security Rule", "## Self-Review", "What could not be read"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	r := reportJSON(t)
	if !r.NoData || r.Matrix.Drifts != nil || r.Brief.Applications != nil {
		t.Errorf("with nothing given: %+v", r.Brief)
	}
}

func TestReportOfADump(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), ledgerShop+`
-- nodes.yaml --
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Node, metadata: {name: gk3-pool-1, labels: {cloud.google.com/gke-nodepool: pool}}}
  - apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: argocd-application-controller, namespace: argocd}
    spec: {template: {spec: {containers: [{name: controller, image: 'quay.io/argoproj/argocd:v3.5.1'}]}}}
`)
	t.Chdir(dir)
	git(t, filepath.Join(dir, "git"), "init", "--quiet", "--initial-branch=main")
	git(t, filepath.Join(dir, "git"), "add", "--all")
	git(t, filepath.Join(dir, "git"), "-c", "user.name=Bob", "-c", "user.email=bob@example.test", "commit", "--quiet", "--message=shop")
	r := reportJSON(t, "--live", "live.yaml", "--live", "nodes.yaml", "--application", "app.yaml", "--git", "https://git.test/shop.git=git", "--standard", "nist-800-53")
	for _, v := range r.Variables {
		want := map[string]string{"cloud provider": "Google GKE Autopilot", "engine": "Argo CD 3.5.1", "cluster count": "1", "environment tier": ""}
		if text, ok := want[v.Name]; ok && v.Observed != text {
			t.Errorf("%s: observed %q, want %q", v.Name, v.Observed, text)
		}
	}
	if *r.Matrix.Drifts != 1 || *r.Brief.Applications != 1 || *r.Brief.Drifting != 1 {
		t.Errorf("%s", r.Brief.Text)
	}
}

func TestReportOfALedger(t *testing.T) {
	s := newEvidenceShop(t, map[string]any{"ledger": map[string]any{}})
	s.propose(t, "live.yaml", 1)
	s.propose(t, "healed.yaml", 0)
	unverified := reportJSON(t, "--ledger", s.git, "--standard", "pci-dss")
	if n := unverified.Matrix.Drifts; n == nil || *n != 1 {
		t.Fatalf("%v drifts, want the one that healed", n)
	}
	met := func(r report.Report, part string) string {
		for _, d := range r.Compliance.Trails {
			if d.Part == part {
				return d.Met + ": " + d.Why
			}
		}
		return ""
	}
	if got := met(unverified, "integrity"); !strings.Contains(got, "unknown") || !strings.Contains(got, "--allowed-signers") {
		t.Errorf("integrity without keys: %s", got)
	}
	verified := reportJSON(t, "--ledger", s.git, "--standard", "pci-dss", "--allowed-signers", s.allowed)
	if got := met(verified, "integrity"); !strings.Contains(got, "no anchor was given") {
		t.Errorf("integrity without anchors: %s", got)
	}
	if got := met(verified, "retention"); !strings.Contains(got, "0 days of the 365") {
		t.Errorf("retention: %s", got)
	}
}

func TestReportWithFiguresOfControllers(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "metrics.txt")
	writeFile(t, page, `# TYPE controller_runtime_reconcile_time_seconds histogram
controller_runtime_reconcile_time_seconds_bucket{controller="kustomization",le="2"} 150
controller_runtime_reconcile_time_seconds_bucket{controller="kustomization",le="4"} 200
controller_runtime_reconcile_time_seconds_bucket{controller="kustomization",le="+Inf"} 200
controller_runtime_reconcile_time_seconds_sum{controller="kustomization"} 320
controller_runtime_reconcile_time_seconds_count{controller="kustomization"} 200
# TYPE controller_runtime_max_concurrent_reconciles gauge
controller_runtime_max_concurrent_reconciles{controller="kustomization"} 8
`)
	r := reportJSON(t, "--scan", scanFile(t, dir, 0), "--metrics", "north="+page, "--metrics", "south=http://127.0.0.1:1/metrics")
	if len(r.Bottleneck.Controllers) != 1 {
		t.Fatalf("%+v", r.Bottleneck.Controllers)
	}
	c := r.Bottleneck.Controllers[0]
	if c.Cluster != "north" || c.Duration.N != 200 || *c.Duration.Mean != 1.6 || c.Workers != 8 || c.WorkersFrom != "read" || c.Applications != 1 {
		t.Errorf("%+v", c)
	}
	if p := r.Bottleneck.Predictions[0]; p.Formula == nil || p.Simulated == nil || p.Formula.Utilisation < 0.0003 || p.Formula.Utilisation > 0.0004 { // 1.6 s of 600 by 8
		t.Errorf("%+v", p)
	}
	found := false
	for _, u := range r.Data.Unread {
		found = found || u.Cluster == "south" && strings.Contains(u.What, "127.0.0.1:1")
	}
	if !found {
		t.Errorf("the page that cannot be reached is not named: %+v", r.Data.Unread)
	}
	if _, said, code := runAll(t, "report", "--scan", scanFile(t, dir, 0), "--metrics", filepath.Join(dir, "none")); code != 2 || !strings.Contains(said, "--metrics") {
		t.Errorf("a file that is not there: exit %d, %s", code, said)
	}
}

func TestReportAsAPage(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "drift.html")
	out, said, code := runAll(t, "report", "--scan", scanFile(t, dir, 0), "--scan", scanFile(t, dir, 8, imageByHand(time.Time{})), "-o", "html", "--output", page, "--standard", "dora")
	if code != 0 || out != "" {
		t.Fatalf("exit %d: %s%s", code, out, said)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<!doctype html>", `<section id="matrix">`, "prefers-color-scheme: dark", "@media print", "default-src 'none'"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in the page", want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("%d files, %v: want two scans and the page", len(entries), err)
	}
}

func TestReportBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := scanFile(t, dir, 0)
	negative := write("negative.json", `{"apiVersion":"holdfast/v1","kind":"Scan","time":"2026-03-09T00:00:00Z","applications":[{"cluster":"north","namespace":"a","name":"b","engine":"flux","state":"rendered","interval":"-5m"}]}`)
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"a provider that nobody knows", []string{"--provider", "Heroku", "--scan", good}, []string{`"Heroku"`, "aws-eks", "self-managed"}},
		{"a standard that nobody knows", []string{"--standard", "ISO 9001", "--scan", good}, []string{`"ISO 9001"`, "iso27001-2022"}},
		{"several of them are all told", []string{"--standard", "x", "--tier", "y", "--engine", "z", "--scan", good}, []string{`standard "x"`, `tier "y"`, `engine "z"`}},
		{"a negative interval", []string{"--interval=-5m", "--scan", good}, []string{"positive"}},
		{"a negative number of clusters", []string{"--clusters=-1", "--scan", good}, []string{"-1"}},
		{"a scan that is not there", []string{"--scan", filepath.Join(dir, "none.json")}, []string{"none.json"}},
		{"a scan that is none", []string{"--scan", write("other.json", `{"kind":"Proposals"}`)}, []string{"other.json", "holdfast scan -o json"}},
		{"a scan that was cut off", []string{"--scan", write("cut.json", `{"apiVersion":"holdfast/v1",`)}, []string{"cut.json", "line 1"}},
		{"a negative duration in a scan", []string{"--scan", negative}, []string{"negative.json", `"-5m"`}},
		{"another format", []string{"--scan", good, "-o", "pdf"}, []string{"want one of markdown, html, json"}},
		{"files without --scan", []string{good}, []string{"--scan"}},
		{"keys without a ledger", []string{"--scan", good, "--anchors", good}, []string{"--ledger"}},
		{"a ledger that is not there", []string{"--ledger", filepath.Join(dir, "none")}, []string{"no such folder"}},
		{"a page into a folder that is not there", []string{"--scan", good, "--output", filepath.Join(dir, "none", "x.html")}, []string{"no such file"}},
	} {
		_, said, code := runAll(t, append([]string{"report"}, c.args...)...)
		if code != 2 {
			t.Errorf("%s: exit %d", c.name, code)
		}
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: no %q in %q", c.name, want, said)
			}
		}
	}
}
