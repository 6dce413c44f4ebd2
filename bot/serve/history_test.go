package serve

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/publish"
	"holdfast/detect"
	"holdfast/gitops"
)

// a month of rounds, an hour apart.
func hour(n int) time.Time {
	return time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Hour)
}

var web = detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}

// after gives a report that follows another.
func after(before Report, n int, change func(*Report)) Report {
	r := Report{Cluster: "north", Began: hour(n), Ended: hour(n).Add(time.Minute), Scan: detect.Scan{Time: hour(n)}}
	change(&r)
	r.after([]Report{before})
	return r
}

func finding(print string, risk detect.Risk) detect.Finding {
	return detect.Finding{
		ID: detect.FindingID("north", "flux-system/shop", web.ID()), Cluster: "north", Application: "flux-system/shop", Object: web,
		Drift: true, Risk: risk, Fingerprint: print, FirstSeen: hour(0),
	}
}

func found(all ...detect.Finding) func(*Report) {
	return func(r *Report) { r.Scan.Findings = all }
}

func TestTheHistoryOfADrift(t *testing.T) {
	first := finding("a", detect.Low)
	thread := Thread{Kind: bot.AsIssue, Number: 7, URL: "https://git.example.test/shop/issues/7", Verb: publish.Open, Reason: "no thread has this key", Findings: []string{first.ID}}
	r := after(Report{}, 1, func(r *Report) { found(first)(r); r.Published.Threads = []Thread{thread} })
	thread.Verb = publish.Nothing
	r = after(r, 2, func(r *Report) { found(first)(r); r.Published.Threads = []Thread{thread} })
	r = after(r, 3, found(finding("b", detect.High)))
	r = after(r, 4, func(r *Report) { r.Error, r.Scan = "no answer", detect.Scan{} })
	r = after(r, 5, func(r *Report) {
		r.Scan.Unknown = []detect.UnknownObject{{Cluster: "north", Application: "flux-system/shop", Object: web, Reason: "forbidden"}}
	})
	r = after(r, 6, func(r *Report) {
		r.Scan.Applications = []detect.AssessedApplication{{Application: gitops.Application{Namespace: "flux-system", Name: "shop"}, State: detect.Unknown}}
	})
	r = after(r, 7, func(r *Report) { r.Scan.Unknown = []detect.UnknownObject{{Cluster: "north", Reason: "no answer"}} })
	if past := r.History[first.ID]; !past.Gone.IsZero() {
		t.Fatalf("it is gone, though no scan could tell: %+v", past)
	}
	settled := finding("c", 0)
	settled.Drift, settled.Cause = false, detect.CauseAutoscaler
	r = after(r, 8, func(r *Report) {
		found(settled)(r)
		r.Published.Threads = []Thread{{Kind: bot.AsIssue, Number: 7, URL: thread.URL, Verb: publish.Close, Reason: "the cluster and Git agree", Findings: []string{first.ID}}}
	})
	r = after(r, 9, found(finding("d", detect.High)))
	past := r.History[first.ID]
	var got []string
	for _, e := range past.Events {
		got = append(got, fmt.Sprintf("%d %s %s", int(e.Time.Sub(hour(0)).Hours()), e.What, strings.TrimPrefix(e.URL, "https://git.example.test")))
	}
	want := []string{
		"1 first seen, low risk ", "1 open issue 7: no thread has this key /shop/issues/7", "3 its content changed ", "3 its risk went from low to high ",
		"8 no drift any more: what differs has the cause autoscaler ", "8 close issue 7: the cluster and Git agree /shop/issues/7", "9 it drifts again ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !past.Since.Equal(hour(9)) || !past.Gone.IsZero() || past.Risk != detect.High || past.Object != web {
		t.Errorf("%+v, want what drifts since hour 9", past)
	}
}

func TestTheHistoryIsBounded(t *testing.T) {
	r := Report{}
	for n := range 200 {
		r = after(r, n, found(finding(fmt.Sprint(n), detect.Low)))
	}
	events := r.History[finding("", 0).ID].Events
	if len(events) != mostEvents || events[0].What != "first seen, low risk" || !events[mostEvents-1].Time.Equal(hour(199)) {
		t.Errorf("%d events, from %v to %v: want the first and the latest", len(events), events[0], events[len(events)-1])
	}
	var many []detect.Finding
	for n := range mostGone + 5 {
		f := finding("a", detect.Low)
		f.ID = fmt.Sprintf("%05d", n)
		many = append(many, f)
	}
	r = after(Report{}, 1, found(many...))
	r = after(r, 2, found(many[:3]...))
	if len(r.History) != mostGone+3 {
		t.Errorf("%d pasts are kept, want the 3 that drift and %d", len(r.History), mostGone)
	}
	r = after(r, 2+24*30+2, found(many[:3]...))
	if len(r.History) != 3 {
		t.Errorf("%d pasts are kept after more than 30 days, want the 3 that drift", len(r.History))
	}
}

func TestThreadsOfAReport(t *testing.T) {
	pull := publish.Outcome{
		Action: publish.Action{Verb: publish.Update, Reason: "the content changed", Proposal: bot.Proposal{
			Kind: bot.AsPullRequest, Disposition: detect.Codify, Findings: []string{"a"}, Proof: &gitops.Proof{Verified: true},
			Files: []bot.FileChange{{Edit: gitops.Edit{Path: "a.yaml"}, Diff: "+a"}, {Edit: gitops.Edit{Path: "b.yaml"}, Diff: strings.Repeat("+", mostDiff)}},
		}},
		Thread: bot.Thread{Kind: bot.AsPullRequest, Number: 3, URL: "https://git.example.test/3", State: bot.Open, Title: "Codify"},
	}
	got, there := ThreadOf(pull)
	want := Thread{
		Kind: bot.AsPullRequest, Number: 3, URL: "https://git.example.test/3", Title: "Codify", State: bot.Open, Disposition: detect.Codify,
		Verb: publish.Update, Reason: "the content changed", Findings: []string{"a"}, Files: []File{{"a.yaml", "+a"}}, FilesCut: true, Proof: &gitops.Proof{Verified: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || !there {
		t.Errorf("%v %s", there, diff)
	}
	if _, there := ThreadOf(publish.Outcome{Action: pull.Action, Err: fmt.Errorf("no answer")}); there {
		t.Error("a pull request that could not be opened is told of")
	}
	waiting := pull
	waiting.Waits = hour(5)
	if got, _ := ThreadOf(waiting); got.Verb != publish.Nothing || !strings.Contains(got.Reason, "waits") {
		t.Errorf("%+v, want a thread that waits", got)
	}
	closing := publish.Outcome{Action: publish.Action{Verb: publish.Close, Reason: "agreed"}, Thread: pull.Thread}
	closed, _ := ThreadOf(closing)
	before := Report{Cluster: "north", Published: Published{Threads: []Thread{got}}}
	r := after(before, 1, func(r *Report) { r.Published.Threads = []Thread{closed} })
	if now := r.Published.Threads; len(now) != 1 || now[0].State != bot.Closed || cmp.Diff([]string{"a"}, now[0].Findings) != "" {
		t.Errorf("%+v, want a closed thread about a", now)
	}
	r = after(before, 1, func(r *Report) { r.Error = "the forge does not answer" })
	if now := r.Published.Threads; len(now) != 1 || now[0].Verb != publish.Nothing || now[0].Number != 3 {
		t.Errorf("%+v, want the thread that was not reached", now)
	}
	if r = after(before, 1, func(*Report) {}); len(r.Published.Threads) != 0 {
		t.Errorf("%+v after a whole round, want none", r.Published.Threads)
	}
}
