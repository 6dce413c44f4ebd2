package publish

import (
	"strings"
	"testing"

	"holdfast/bot"
)

// The scope that the tests assess, and one that they do not.
const (
	scope   = "production/flux-system/shop"
	foreign = "staging/flux-system/shop"
)

func proposal(kind bot.Kind, scope, hash string) bot.Proposal {
	key := bot.Key(scope, "Deployment/shop/web", string(kind))
	return bot.Proposal{Key: key, Kind: kind, Hash: hash, Body: "body\n" + bot.Marker(key, hash) + "\n"}
}

func thread(kind bot.Kind, scope, hash string, number int, state bot.State, extra string, labels ...string) bot.Thread {
	p := proposal(kind, scope, hash)
	return bot.Thread{Kind: kind, Number: number, State: state, Body: extra + p.Body, Labels: labels}
}

func TestPlan(t *testing.T) {
	const issue, pull = bot.AsIssue, bot.AsPullRequest
	for _, c := range []struct {
		name    string
		wanted  []bot.Proposal
		threads []bot.Thread
		want    []Verb
	}{
		{"a drift without a thread opens one", []bot.Proposal{proposal(issue, scope, "aa")}, nil, []Verb{Open}},
		{"the same content needs nothing", []bot.Proposal{proposal(issue, scope, "aa")}, []bot.Thread{thread(issue, scope, "aa", 1, bot.Open, "")}, []Verb{Nothing}},
		{"new content updates in place", []bot.Proposal{proposal(issue, scope, "bb")}, []bot.Thread{thread(issue, scope, "aa", 1, bot.Open, "")}, []Verb{Update}},
		{"a drift that is gone closes its issue", nil, []bot.Thread{thread(issue, scope, "aa", 1, bot.Open, "")}, []Verb{Close}},
		{"a thread of an Application that was not assessed is left alone", nil, []bot.Thread{thread(issue, foreign, "aa", 1, bot.Open, "")}, nil},
		{"a thread without a marker is left alone", nil, []bot.Thread{{Kind: issue, Number: 1, State: bot.Open, Body: "hello"}}, nil},
		{"a closed issue whose drift is gone is left alone", nil, []bot.Thread{thread(issue, scope, "aa", 1, bot.Closed, "")}, nil},
		{"a drift that is back reopens the issue that Holdfast closed", []bot.Proposal{proposal(issue, scope, "aa")}, []bot.Thread{thread(issue, scope, "aa", 1, bot.Closed, closedMark+"\n")}, []Verb{Reopen}},
		{"an issue that a person closed stays closed for the same content", []bot.Proposal{proposal(issue, scope, "aa")}, []bot.Thread{thread(issue, scope, "aa", 1, bot.Closed, "")}, []Verb{Nothing}},
		{"new content reopens what a person closed", []bot.Proposal{proposal(issue, scope, "bb")}, []bot.Thread{thread(issue, scope, "aa", 1, bot.Closed, "")}, []Verb{Reopen}},
		{"a pull request closed unmerged stays closed for the same content", []bot.Proposal{proposal(pull, scope, "aa")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Closed, "")}, []Verb{Nothing}},
		{"a merged pull request with the same content waits for the engine", []bot.Proposal{proposal(pull, scope, "aa")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Merged, "")}, []Verb{Nothing}},
		{"new content after a merge opens a new one", []bot.Proposal{proposal(pull, scope, "bb")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Merged, "")}, []Verb{Open}},
		{"a codify whose drift the engine undid stays open and says so", nil, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, "", "drift/codify")}, []Verb{Healed}},
		{"it says so once", nil, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, healedMark+"\n", "drift/codify")}, []Verb{Nothing}},
		{"it is as before when the drift is back", []bot.Proposal{proposal(pull, scope, "aa")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, healedMark+"\n", "drift/codify")}, []Verb{Update}},
		{"policy may close it instead", nil, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, bot.Record{CloseAfterHeal: true}.String()+"\n", "drift/codify")}, []Verb{Close}},
		{"a revert whose drift is gone is closed", nil, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, "", "drift/revert")}, []Verb{Close}},
		{"of two threads with one key the open one counts", []bot.Proposal{proposal(issue, scope, "aa")}, []bot.Thread{thread(issue, scope, "aa", 2, bot.Closed, ""), thread(issue, scope, "aa", 1, bot.Open, "")}, []Verb{Nothing}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Plan(c.wanted, c.threads, Seen{Scopes: map[string]bool{bot.ScopeMark(scope): true}})
			var verbs []string
			for _, a := range got {
				verbs = append(verbs, string(a.Verb))
				if a.Reason == "" {
					t.Errorf("%s has no reason", a.Verb)
				}
			}
			var want []string
			for _, v := range c.want {
				want = append(want, string(v))
			}
			if strings.Join(verbs, ",") != strings.Join(want, ",") {
				t.Errorf("got %v, want %v", verbs, want)
			}
		})
	}
}
