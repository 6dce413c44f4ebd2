package trail_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/ledger"
	"holdfast/bot/ledger/trail"
	"holdfast/bot/publish"
	"holdfast/detect"
	"holdfast/gitops"
)

const shop = "https://git.example.com/shop"

var now = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func application(objects ...map[string]any) detect.AssessedApplication {
	a := detect.AssessedApplication{
		Application: gitops.Application{Cluster: "north", Namespace: "flux-system", Name: "shop", Source: gitops.Source{Repo: shop, Applied: "aaaa"}},
		State:       detect.Rendered, Declared: []gitops.Declared{},
	}
	for _, o := range objects {
		a.Declared = append(a.Declared, gitops.Declared{Object: gitops.NewObject(o)})
	}
	return a
}

func finding(kind string, fields ...detect.Field) detect.Finding {
	content := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"namespace": "shop", "name": "web"}, "data": map[string]any{"password": "c3dvcmRmaXNo"}}
	object := gitops.NewObject(content)
	return detect.Finding{
		ID: detect.FindingID("north", "flux-system/shop", object.ID), Cluster: "north", Application: "flux-system/shop", Object: detect.Ref(object),
		Presence: detect.Both, Drift: true, Cause: detect.CauseManual, Disposition: detect.Revert, Risk: detect.High, Rule: "manual", Trace: []string{"first: no"},
		FirstSeen: now, Fingerprint: "ffff", Fields: fields, Declared: &gitops.Declared{Object: object}, Live: &object,
	}
}

func field(path, git, live string) detect.Field {
	p, err := gitops.ParsePath(path)
	if err != nil {
		panic(err)
	}
	return detect.Field{Path: p, Git: gitops.Present(git), Live: gitops.Present(live), Drift: true, Differs: true, Cause: detect.CauseManual, Risk: detect.High, Disposition: detect.Revert, Rule: "manual"}
}

func records(scan detect.Scan, outcomes ...publish.Outcome) []ledger.Record {
	return trail.Records(trail.Input{Repository: shop, Scan: scan, Outcomes: outcomes, Policy: func(gitops.Application) ledger.Policy { return ledger.Policy{Name: "production"} }})
}

func kinds(all []ledger.Record) (out []string) {
	for _, r := range all {
		out = append(out, fmt.Sprintf("%s %s", r.Kind, r.Subject))
	}
	return out
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestADriftIsRecordedWithItsDecision(t *testing.T) {
	f := finding("ConfigMap", field("data.color", "blue", "red"))
	other := finding("Service", field("spec.x", "1", "2"))
	other.Application = "flux-system/base" // of another repository
	explained := finding("Pod")
	explained.Drift = false
	scan := detect.Scan{Time: now, Applications: []detect.AssessedApplication{application()}, Findings: []detect.Finding{f, other, explained}}
	all := records(scan)
	want := []string{"finding finding/" + f.ID, "decision finding/" + f.ID}
	if diff := cmp.Diff(want, kinds(all)); diff != "" {
		t.Fatal(diff)
	}
	content := all[0].Content.(ledger.Finding)
	if string(content.Fields[0].Live.JSON) != `"red"` || content.Fields[0].Declared.SHA256 == "" || content.Cause != detect.CauseManual {
		t.Errorf("%+v", content)
	}
	if d := all[1].Content.(ledger.Decision); d.Disposition != detect.Revert || d.Policy.Name != "production" || len(d.Trace) != 1 || d.Fields[0].Path != "data.color" {
		t.Errorf("%+v", d)
	}
	// What changes from scan to scan makes no new content.
	later := scan
	f.FirstSeen, f.LastSeen = now.Add(time.Hour), now.Add(time.Hour)
	live := gitops.NewObject(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "web", "resourceVersion": "99"}})
	f.Live = &live
	later.Findings = []detect.Finding{f}
	again := records(later)
	if text(t, again[0].Content) != text(t, all[0].Content) || text(t, again[0].Observed) == text(t, all[0].Observed) {
		t.Errorf("an hour later: %s", text(t, again[0]))
	}
}

// TestASecretLeavesNoTrace: neither a value of a Secret nor a digest, by which it could be guessed, is recorded.
func TestASecretLeavesNoTrace(t *testing.T) {
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "shop", "name": "web"}, "data": map[string]any{"password": "c3dvcmRmaXNo"}}
	f := finding("Secret", field("data.password", "c3dvcmRmaXNo", "aHVudGVyMg=="))
	masked := finding("ConfigMap", field("data.token", "swordfish", "hunter2"))
	masked.Fields[0].Masked = true
	manifest := "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\ndata: {password: c3dvcmRmaXNo}\n"
	p := bot.Proposal{
		Key: bot.Key("north/flux-system/shop", "revert"), Kind: bot.AsPullRequest, Hash: "aa", Disposition: detect.Codify, Repo: shop, Findings: []string{f.ID},
		Files: []bot.FileChange{{Edit: gitops.Edit{Path: "secret.yaml", Before: []byte(manifest), After: []byte(manifest + "type: Opaque\n")}}},
		Proof: &gitops.Proof{Verified: true, Applications: []gitops.ProvenMember{
			{Cluster: "north", Namespace: "flux-system", Name: "shop", Path: "apps", Before: "d1d1", After: "d2d2"}, {Name: "root", Path: "base", Before: "d3d3", After: "d3d3"},
		}},
	}
	scan := detect.Scan{Time: now, Applications: []detect.AssessedApplication{application(secret)}, Findings: []detect.Finding{f, masked}}
	all := records(scan, publish.Outcome{Action: publish.Action{Verb: publish.Open, Proposal: p}, Thread: bot.Thread{Kind: bot.AsPullRequest, Number: 1}})
	whole := text(t, all)
	for _, hidden := range []string{"c3dvcmRmaXNo", "aHVudGVyMg", "swordfish", "hunter2", "d1d1", "d2d2", "d3d3", "declaredSha256", "beforeSha256", "afterSha256"} {
		if strings.Contains(whole, hidden) {
			t.Errorf("%q is recorded: %s", hidden, whole)
		}
	}
	if content := all[0].Content.(ledger.Finding); !content.Fields[0].Changed || all[0].Observed.(ledger.FindingObserved).LiveSHA256 != "" {
		t.Errorf("%s", text(t, all[0]))
	}
	proposal := all[len(all)-1].Content.(ledger.Proposal)
	if !proposal.Files[0].Changed || !proposal.Proof.Members[0].Changed || proposal.Proof.Members[1].Changed {
		t.Errorf("%s", text(t, proposal))
	}
}

func TestWhatBecameOfThreads(t *testing.T) {
	f := finding("ConfigMap", field("data.color", "blue", "red"))
	key := bot.Key("north/flux-system/shop", f.ID, string(bot.AsIssue))
	body := func(hash string) string {
		record := bot.Record{FirstSeen: now.Add(-time.Hour), About: map[string]string{f.ID: f.Fingerprint}}
		return "text\n" + record.String() + "\n" + bot.Marker(key, hash) + "\n"
	}
	p := bot.Proposal{Key: key, Kind: bot.AsIssue, Hash: "aa", Title: "Drift", Disposition: detect.Revert, Repo: shop, Findings: []string{f.ID}, Body: body("aa")}
	thread := bot.Thread{Kind: bot.AsIssue, Number: 7, URL: "https://user:token@git.example.com/shop/issues/7", State: bot.Open, Body: body("aa")}
	with := func(state bot.State, body string) bot.Thread {
		out := thread
		out.State, out.Body = state, body
		return out
	}
	subject := ledger.SubjectOfThread(shop, key)
	drifting := detect.Scan{Time: now, Applications: []detect.AssessedApplication{application()}, Findings: []detect.Finding{f}}
	settled := detect.Scan{Time: now, Applications: []detect.AssessedApplication{application()}}
	for _, c := range []struct {
		name    string
		scan    detect.Scan
		outcome publish.Outcome
		want    []string
	}{
		{"opened", settled, publish.Outcome{Action: publish.Action{Verb: publish.Open, Proposal: p}, Thread: thread}, []string{"proposal " + subject}},
		{"as it was, so that a lost record is made up for", settled, publish.Outcome{Action: publish.Action{Verb: publish.Nothing, Proposal: p, Thread: thread}, Thread: thread}, []string{"proposal " + subject}},
		{"left with other content than is wanted", settled, publish.Outcome{Action: publish.Action{Verb: publish.Nothing, Proposal: p, Thread: with(bot.Open, body("bb"))}, Thread: with(bot.Open, body("bb"))}, nil},
		{"merged, which is told from the forge", settled, publish.Outcome{Action: publish.Action{Verb: publish.Nothing, Proposal: p, Thread: with(bot.Merged, body("aa"))}, Thread: with(bot.Merged, body("aa"))}, nil},
		{"closed by somebody", settled, publish.Outcome{Action: publish.Action{Verb: publish.Nothing, Proposal: p, Thread: with(bot.Closed, body("aa"))}, Thread: with(bot.Closed, body("aa"))}, []string{"closed " + subject}},
		{"closed, and the drift is gone", settled, publish.Outcome{Action: publish.Action{Verb: publish.Close, Thread: thread}, Thread: thread}, []string{"closed " + subject, "converged finding/" + f.ID}},
		{"closed, and the drift is still there", drifting, publish.Outcome{Action: publish.Action{Verb: publish.Close, Thread: thread}, Thread: thread}, []string{"finding finding/" + f.ID, "decision finding/" + f.ID, "closed " + subject}},
		{"undone by the engine", settled, publish.Outcome{Action: publish.Action{Verb: publish.Healed, Thread: thread}, Thread: thread}, []string{"healed " + subject}},
		{"failed", settled, publish.Outcome{Action: publish.Action{Verb: publish.Open, Proposal: p}, Err: fmt.Errorf("no")}, nil},
		{"a thread without a marker", settled, publish.Outcome{Action: publish.Action{Verb: publish.Nothing, Thread: bot.Thread{Body: "x"}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := records(c.scan, c.outcome)
			if diff := cmp.Diff(c.want, kinds(all)); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(text(t, all), "token") {
				t.Error("a credential is recorded")
			}
		})
	}
	merged := trail.Records(trail.Input{Repository: shop, Scan: settled, Merged: []bot.PullRequest{{
		Thread: with(bot.Merged, body("aa")), MergeCommit: "c0ffee", MergedBy: bot.Actor{Login: "bob"}, MergedAt: now,
	}}})
	if len(merged) != 1 || merged[0].Subject != subject || merged[0].Content.(ledger.Merge).Commit != "c0ffee" || merged[0].Content.(ledger.Merge).By != "bob" {
		t.Errorf("a merge is recorded as %s", text(t, merged))
	}
	// When it was first seen is what its issue says.
	all := records(drifting, publish.Outcome{Action: publish.Action{Verb: publish.Open, Proposal: p}, Thread: thread})
	if got := all[0].Observed.(ledger.FindingObserved).FirstSeen; !got.Equal(now.Add(-time.Hour)) {
		t.Errorf("first seen %s", got)
	}
}

func TestALongFindingIsCut(t *testing.T) {
	var fields []detect.Field
	for i := range 500 {
		fields = append(fields, field(fmt.Sprintf("data.k%d", i), "a", strings.Repeat("x", 10_000)))
	}
	f := finding("ConfigMap", fields...)
	f.Reason = strings.Repeat("\u00e9", 5000)
	all := records(detect.Scan{Time: now, Applications: []detect.AssessedApplication{application()}, Findings: []detect.Finding{f}})
	content := all[0].Content.(ledger.Finding)
	if len(content.Fields) != 200 || content.FieldsLeftOut != 300 || content.Fields[0].Live.JSON != nil || content.Fields[0].Live.SHA256 == "" {
		t.Errorf("%d fields, %d left out", len(content.Fields), content.FieldsLeftOut)
	}
	if size := len(text(t, all[0].Content)); size > ledger.MaxRecord/2 {
		t.Errorf("%d bytes", size)
	}
}
