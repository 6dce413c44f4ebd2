package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/detect/setting"
	"holdfast/gitops"
	"holdfast/templates"
)

func TestDriftIsCountedByVectorAndTime(t *testing.T) {
	r := build(t, world(t))
	passes(t, r)
	if r.Matrix.Drifts == nil || *r.Matrix.Drifts != 3 {
		t.Fatalf("drifts: %v, want 3", r.Matrix.Drifts)
	}
	if r.Matrix.ClusterDays == nil || *r.Matrix.ClusterDays != 6 {
		t.Errorf("cluster-days: %v, want 2 clusters for 3 days", r.Matrix.ClusterDays)
	}
	manual := vector(t, r, "manual")
	if *manual.Count != 2 || *manual.Open != 1 || *manual.Share != 2.0/3 || manual.Risk != "high" {
		t.Errorf("manual: %d, %d open, share %v, risk %s", *manual.Count, *manual.Open, *manual.Share, manual.Risk)
	}
	// One of the two stood at the first look, so it began at no known time.
	if *manual.PerClusterDay != 1.0/6 {
		t.Errorf("manual a cluster-day: %v, want 1/6", *manual.PerClusterDay)
	}
	if manual.Trend.Direction != trendHidden || manual.Trend.Why == "" {
		t.Errorf("a trend of one event: %+v", manual.Trend)
	}
	if scaling := vector(t, r, "autoscaling"); *scaling.Count != 0 || *scaling.Explained != 1 {
		t.Errorf("autoscaling: %d drifts, %d explained", *scaling.Count, *scaling.Explained)
	}
	if a := r.Matrix.Autoscaling; *a.Fields != 1 || *a.Objects != 1 || *a.Contradictions != 1 {
		t.Errorf("intentional scaling: %+v", a)
	}
	if admission := vector(t, r, "admission"); *admission.Count != 0 || admission.Share == nil || *admission.Share != 0 {
		t.Errorf("admission was looked for and not seen: %+v", admission)
	}
}

func TestWindowsHaveTheirTimes(t *testing.T) {
	in := world(t)
	h := newHistory(in)
	var got []string
	for _, w := range h.windows {
		line := w.Object.Name + " " + w.Detected.Format("02T15")
		if !w.Closed.IsZero() {
			line += " to " + w.Closed.Format("02T15")
		}
		if w.Standing {
			line += " standing"
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"relay 02T00 standing", "web 03T00 to 04T00", "web 04T00"}, got); diff != "" {
		t.Error(diff)
	}
	d := build(t, in).Detection
	if d.ChangeToDetection.N != 1 || *d.ChangeToDetection.P50 != 1800 {
		t.Errorf("change to detection: %+v, want one of half an hour", d.ChangeToDetection)
	}
	if d.ChangeToDetection.P95 != nil {
		t.Error("a 95th percentile of one value")
	}
	if d.ChangeToClosure.N != 1 || *d.ChangeToClosure.Max != 24.5*3600 {
		t.Errorf("change to closure: %+v", d.ChangeToClosure)
	}
}

func TestAnApplicationThatWasNotAssessedClosesNothing(t *testing.T) {
	in := world(t)
	in.Scans = in.Scans[1:3] // image at 24, gone at 48
	in.Scans[1].Applications[0].Assessed = false
	for _, w := range newHistory(in).windows {
		if w.Object.Name == "web" && w.Cluster == "prod-eu" && !w.Closed.IsZero() {
			t.Errorf("closed at %s by a scan that could not look", w.Closed)
		}
	}
}

func TestClocksThatDiffer(t *testing.T) {
	in := world(t)
	f := &in.Scans[1].Findings[1].Fields[0]
	f.Writer.Time = at(24).Add(2 * time.Minute) // a little after it was seen
	h := newHistory(in)
	if h.wrongClocks != 0 || !slices.ContainsFunc(h.windows, func(w Window) bool { return w.Changed.Equal(at(24)) && w.Detected.Equal(at(24)) }) {
		t.Errorf("two minutes are within what clocks differ by: %+v", h)
	}
	f.Writer.Time = at(30)
	r := build(t, in)
	passes(t, r)
	if r.Data.WrongClocks != 1 || r.Detection.ChangeToDetection.N != 0 {
		t.Errorf("six hours: %d wrong clocks, %d durations", r.Data.WrongClocks, r.Detection.ChangeToDetection.N)
	}
	if r.Detection.Missed != nil {
		t.Error("a share of missed windows from a time that says nothing")
	}
}

func TestGivenAndObserved(t *testing.T) {
	in := world(t)
	in.Given = setting.Setting{Clusters: 200, Interval: 5 * time.Minute, Engines: []setting.Engine{{Name: gitops.Flux}}, Standards: []string{setting.CIS, "pci-dss-4.0.1"}}
	r := build(t, in)
	passes(t, r)
	want := map[string][3]string{
		nameProvider: {"", "Amazon EKS, Google GKE", "Amazon EKS, Google GKE"}, nameEngine: {"Flux", "Flux 2.9.4, Argo CD 3.5.1", "Flux 2.9.4"},
		nameClusters: {"200", "2", "200"}, nameInterval: {"5m", "10m", "5m"}, nameTier: {"", "production, staging", "production, staging"},
		nameStandards: {"CIS Amazon EKS Benchmark 1.8.0, CIS GKE Benchmark 1.9.0, PCI DSS 4.0.1", "SOC 2", "CIS Amazon EKS Benchmark 1.8.0, CIS GKE Benchmark 1.9.0, PCI DSS 4.0.1"},
	}
	for _, v := range r.Variables {
		if diff := cmp.Diff(want[v.Name], [3]string{v.Given, v.Observed, v.Used}); diff != "" {
			t.Errorf("%s: %s", v.Name, diff)
		}
	}
	if r.Variables[2].Differs != true || r.Variables[0].Differs {
		t.Error("200 and 2 clusters differ, and that is to be said; providers were not given")
	}
	// Argo CD's controller serves all clusters: capacity is about the 200 that were given.
	for _, p := range r.Bottleneck.Predictions {
		if p.Controller == "argocd-application-controller" && p.Factor == 2 && !p.Rollout && p.Applications != 400 {
			t.Errorf("twice 200 clusters with 2 Applications on each hub: %d", p.Applications)
		}
	}
}

func TestLedgerAndScansTellOfTheSameDrift(t *testing.T) {
	in := world(t)
	image := in.Scans[1].Findings[1]
	trail := NewTrail("https://git.example.com/fleet")
	trail.Add(entry(ledger.FindingSeen, at(-24), ledger.Finding{ID: "other", Cluster: "prod-eu", Application: "flux-system/shop", Object: image.Object, Cause: detect.CauseManual, Risk: "low"}, nil))
	trail.Add(entry(ledger.FindingSeen, at(23.6), record(image), nil))
	trail.Add(entry(ledger.Decided, at(23.6), ledger.Decision{Finding: image.ID, Disposition: detect.Revert}, nil))
	trail.Add(entry(ledger.Converged, at(25), ledger.Convergence{Finding: image.ID}, nil))
	trail.Verdict = ledger.Whole
	in.Trails = []Trail{*trail}
	in.Given.Standards = []string{"pci-dss-4.0.1"}
	r := build(t, in)
	passes(t, r)
	n := 0
	for _, w := range newHistory(in).windows {
		if w.Finding == image.ID {
			n++
			if !w.Detected.Equal(at(23.6)) || !w.Closed.Equal(at(25)) || w.Source != "scans and ledger" {
				t.Errorf("%+v: the ledger knows better", w)
			}
		}
	}
	if n != 1 {
		t.Errorf("one drift counts %d times", n)
	}
	states := map[string]string{}
	for _, d := range r.Compliance.Trails {
		states[d.Part] = d.Met
	}
	// 124 h are 5 days of the 365; the other finding has neither decision nor a writer that is known.
	if diff := cmp.Diff(map[string]string{"content": notMet, "retention": notMet, "integrity": met}, states); diff != "" {
		t.Error(diff)
	}
	for _, s := range r.Compliance.Scenarios {
		if s.Evidence == unknown {
			t.Errorf("%s: with a ledger, evidence is not unknown", s.Name)
		}
	}
}

func TestIntegrityIsWhatVerificationSaid(t *testing.T) {
	for _, c := range []struct {
		verdict ledger.Verdict
		want    string
	}{{ledger.Whole, met}, {ledger.Unanchored, notMet}, {ledger.Broken, notMet}, {"", unknown}} {
		in := world(t)
		trail := NewTrail("fleet")
		trail.Verdict = c.verdict
		in.Trails = []Trail{*trail}
		b := builder{Input: in}
		if got, why := b.integrityMet(); got != c.want || why == "" {
			t.Errorf("%q: %s (%s), want %s", c.verdict, got, why, c.want)
		}
	}
}

func TestTiersSideBySide(t *testing.T) {
	in := world(t)
	for i := range 6 {
		f := drift(t, "stage", "argocd/shop", "tuned-"+string(rune('a'+i)), detect.CauseRender, detect.Low, nil)
		in.Scans[3].Findings = append(in.Scans[3].Findings, f)
	}
	part := build(t, in).Matrix.Tier
	if !part.Compared || len(part.Rows) != 2 {
		t.Fatalf("%+v", part)
	}
	if len(part.Causes) != 1 || part.Causes[0].Tier != "staging" || part.Causes[0].Vector != "helm" || part.Causes[0].Origin != "observed" {
		t.Errorf("staging alone has Helm anomalies: %+v", part.Causes)
	}
	for i := range in.Scans {
		in.Scans[i].Clusters[1].Tier = detect.Production
	}
	part = build(t, in).Matrix.Tier
	if part.Compared || part.Causes[0].Origin != "catalogue" || !strings.Contains(part.Basis.Source, "not an observation") {
		t.Errorf("one tier cannot be compared: %+v", part)
	}
}

func TestWithoutDataThereAreNoFigures(t *testing.T) {
	in := input(t)
	in.Given = setting.Setting{
		Providers: []setting.Provider{setting.Autopilot}, Engines: []setting.Engine{{Name: gitops.ArgoCD, Version: "3.1"}}, Clusters: 30, Interval: 3 * time.Minute,
		Tiers: []detect.Tier{detect.Regulated}, Standards: []string{"fedramp-high", "dora"},
	}
	r := build(t, in)
	passes(t, r)
	if !r.NoData || !strings.Contains(r.Brief.Text, "Nothing was observed") || r.Matrix.Drifts != nil || r.Brief.Applications != nil {
		t.Errorf("%+v", r.Brief)
	}
	for _, row := range r.Matrix.Rows {
		if row.Count != nil || row.Share != nil || len(row.Controls) == 0 || len(row.EngineSees) != 1 {
			t.Errorf("row %s: %+v", row.ID, row)
		}
	}
	if empty := build(t, input(t)); len(empty.Failed()) != 0 {
		t.Errorf("with nothing given either: %+v", empty.Failed())
	}
}

func TestExpectationsAndTheInterval(t *testing.T) {
	verdict := func(interval time.Duration, engine gitops.Engine, standard, control string) string {
		in := input(t)
		in.Given = setting.Setting{Interval: interval, Engines: []setting.Engine{{Name: engine}}, Standards: []string{standard}}
		for _, x := range build(t, in).Detection.Expectations {
			if x.Control[0].ID == control {
				return x.Met
			}
		}
		t.Fatalf("%s expects nothing by %s", standard, control)
		return ""
	}
	for _, c := range []struct {
		name, got, want string
	}{
		{"weekly is met by ten minutes", verdict(10*time.Minute, gitops.Flux, "pci-dss-4.0.1", "11.5.2"), met},
		{"weekly is not met by a week with jitter", verdict(7*24*time.Hour, gitops.Flux, "pci-dss-4.0.1", "11.5.2"), notMet},
		{"Argo CD's jitter is a minute, whatever the interval", verdict(7*24*time.Hour-2*time.Minute, gitops.ArgoCD, "pci-dss-4.0.1", "11.5.2"), met},
		{"components in five minutes are not what engines look for", verdict(4*time.Minute, gitops.Flux, "fedramp-high", "CM-8(3)"), unknown},
		{"ten minutes are more than five", verdict(10*time.Minute, gitops.Flux, "fedramp-high", "CM-8(3)"), notMet},
		{"a review by people leaves no mark", verdict(time.Minute, gitops.Flux, "pci-dss-4.0.1", "7.2.4"), unknown},
		{"SOC 2 leaves it to the entity", verdict(time.Minute, gitops.ArgoCD, "soc2-tsc2017", "CC7.1"), ownPolicy},
		{"without an interval nothing is known", verdict(0, gitops.Flux, "pci-dss-4.0.1", "11.5.2"), unknown},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

func TestWhatPollsWouldHaveMissed(t *testing.T) {
	// A poll every hour meets a window of half an hour every other time, and one of two hours always.
	got := missed([]float64{1800, 7200}, time.Hour)
	shares := map[float64]float64{}
	used := 0.0
	for _, m := range got {
		shares[m.Interval] = m.Share
		if m.Used {
			used = m.Interval
		}
	}
	if shares[3600] != 0.25 || shares[60] != 0 || used != 3600 || len(got) != 7 {
		t.Errorf("%+v", got)
	}
	if got := missed([]float64{1800}, 30*24*time.Hour); len(got) != 8 || !got[7].Used {
		t.Errorf("an interval beyond the others: %+v", got)
	}
	if missed(nil, time.Hour) != nil {
		t.Error("a share of nothing")
	}
}

func TestControllersAndTheirQueues(t *testing.T) {
	in := world(t)
	in.Controllers = []Controller{controller("prod-eu", "kustomize-controller", gitops.Flux, 2), controller("stage", "argocd-application-controller", gitops.ArgoCD, 600)}
	in.Given.Standards = []string{"nist-800-53r5"}
	r := build(t, in)
	passes(t, r)
	row := r.Bottleneck.Controllers[1]
	if row.Name != "kustomize-controller" || row.Applications != 1 || *row.Interval != 600 || row.Workers != 4 || row.WorkersFrom != "read" || *row.Limit != 2400 {
		t.Errorf("%+v", row)
	}
	if helm := r.Bottleneck.Controllers[0]; helm.Name != "helm-controller" || helm.Duration != nil || helm.WorkersFrom != "default" {
		t.Errorf("%+v", helm)
	}
	for _, p := range r.Bottleneck.Predictions {
		switch {
		case p.Controller == "helm-controller" && (p.Formula != nil || !strings.Contains(p.Says, "below 4 h")):
			t.Errorf("no turn of the helm-controller was measured: %+v", p)
		case p.Controller == "argocd-application-controller" && (p.Formula.Stable || p.Formula.Wait != nil || !strings.Contains(p.Says, "not stable")) && p.Factor == 10:
			t.Errorf("ten times the clusters: %+v", p)
		case p.Controller == "kustomize-controller" && p.Applications != 1:
			t.Errorf("more clusters bring a Flux controller no more to do: %+v", p)
		}
	}
	if !slices.ContainsFunc(r.Plan.Actions, func(a Action) bool { return strings.HasPrefix(a.ID, "argocd-workers") }) {
		t.Error("no action for the controller that does not keep up")
	}
	if len(r.Bottleneck.Measured) != 1 || r.Bottleneck.Measured[0].N != 500 {
		t.Errorf("measured waits: %+v", r.Bottleneck.Measured)
	}
}

func TestThePlanIsWhatTheFleetNeeds(t *testing.T) {
	in := world(t)
	in.Given.Standards = []string{"soc2-tsc2017"}
	r := build(t, in)
	passes(t, r)
	actions := map[string]Action{}
	for _, a := range r.Plan.Actions {
		actions[a.ID] = a
	}
	for id, want := range map[string]string{
		"flux-resume":               "name: mail\n  namespace: flux-system\nspec:\n  suspend: false",
		"flux-helm-drift-detection": "kind: HelmRelease\nmetadata:\n  name: metrics",
		"flux-prune":                "prune: true",
		"flux-exempt-autoscaled":    "- paths: [\"/spec/replicas\"]\n      target:\n        kind: Deployment\n        name: api",
		"argocd-self-heal":          "selfHeal: true",
		"flux-alerts":               "eventSeverity: info",
		"argocd-alerts":             "app.status.sync.status == 'OutOfSync'",
		"readers":                   "verbs: [get, list, watch]",
	} {
		a, ok := actions[id]
		if !ok || !slices.ContainsFunc(a.Manifests, func(m Manifest) bool { return strings.Contains(m.YAML, want) }) {
			t.Errorf("%s: no %q in %+v", id, want, a.Manifests)
		}
	}
	if _, ok := actions["flux-undeclare-autoscaled"]; ok {
		t.Error("Flux 2.9 has spec.ignore, and replicas are taken out of Git")
	}
	if a := actions["answer-drift/critical"]; a.Priority != critical || len(a.Closes) != 1 {
		t.Errorf("the critical drift of staging: %+v", a)
	}
	if a := actions["flux-resume"]; !slices.Contains(a.Closes, "application/prod-eu/flux-system/mail") || len(a.Closes) != 2 {
		t.Errorf("to resume mail closes it and its drift: %v", a.Closes)
	}
	for i := range in.Scans {
		in.Scans[i].Clusters[0].Engines[0].Engine.Version = "2.8.1"
	}
	older := build(t, in)
	passes(t, older)
	if !slices.ContainsFunc(older.Plan.Actions, func(a Action) bool { return a.ID == "flux-undeclare-autoscaled" }) {
		t.Error("Flux 2.8 has no spec.ignore, and nothing else is recommended")
	}
}

func TestOneClusterOfManyCannotBeReached(t *testing.T) {
	in := world(t)
	in.Unread = []Unread{{Cluster: "prod-us", What: "the cluster", Reason: "connection refused"}}
	r := build(t, in)
	passes(t, r)
	if !slices.Contains(r.Data.Unread, in.Unread[0]) {
		t.Errorf("%+v", r.Data.Unread)
	}
	text, err := templates.ReportMarkdown(r.Document())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "prod-us: the cluster: connection refused") || *r.Matrix.Drifts != 3 {
		t.Error("it is not named, or the rest does not stand")
	}
}

func TestInputsThatAreRefused(t *testing.T) {
	in := input(t)
	in.Given.Clusters = -3
	if _, err := Build(in); err == nil {
		t.Error("fewer than no clusters were taken")
	}
	if _, err := Build(Input{}); err == nil {
		t.Error("no tables were taken")
	}
}

func TestSectionsStandInTheirOrder(t *testing.T) {
	in := world(t)
	in.Controllers = []Controller{controller("prod-eu", "kustomize-controller", gitops.Flux, 2)}
	r := build(t, in)
	want := []string{SectionBrief, SectionMechanism, SectionMatrix, SectionBottleneck, SectionDetection, SectionCompliance, SectionPlan, SectionReview}
	var got []string
	for _, s := range r.Document().Sections {
		got = append(got, s.Title)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	markdown, err := templates.ReportMarkdown(r.Document())
	if err != nil {
		t.Fatal(err)
	}
	page, err := templates.ReportHTML(r.Document())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{markdown, page} {
		last := -1
		for _, title := range want {
			i := strings.Index(text[last+1:], title)
			if i < 0 {
				t.Fatalf("%s does not come after those before it", title)
			}
			last += i + 1
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "http-equiv=\"refresh\"") || !strings.Contains(page, "<svg") {
		t.Error("the page has a script, or no figure")
	}
}

func TestStatistics(t *testing.T) {
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(i+1))
	}
	p := percentilesOf(hundred)
	if *p.P50 != 50 || *p.P95 != 95 || *p.P99 != 99 || *p.Mean != 50.5 || *p.Max != 100 {
		t.Errorf("%+v", p)
	}
	for _, c := range []struct {
		name          string
		first, second int
		want          string
	}{
		{"few", 3, 4, trendHidden}, {"alike", 20, 24, steady}, {"more", 10, 30, rising}, {"fewer", 30, 10, falling}, {"chance alone", 4, 9, steady},
	} {
		if got := trendOf(c.first, c.second).Direction; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for text, want := range map[string]string{
		seconds(0.0032): "3.2 ms", seconds(0.5): "500 ms", seconds(42): "42 s", seconds(150): "2.5 min", seconds(7200): "2 h", seconds(4 * 86400): "4 d",
		length(90 * time.Minute): "1h30m", length(7 * 24 * time.Hour): "7d", length(90 * time.Second): "1m30s", fluxDuration(10 * time.Minute): "10m", fluxDuration(48 * time.Hour): "48h",
	} {
		if text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
	if n := Words("One, two - three: 4 - §164.308(a)(1)."); n != 5 {
		t.Errorf("%d words", n)
	}
}
