package publish

import (
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/detect"
)

// closing is when a thread of the tests was closed.
func closing() time.Time { return time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC) }

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

// recorded is a proposal that remembers something.
func recorded(kind bot.Kind, hash string, r bot.Record, marks ...string) bot.Proposal {
	p := proposal(kind, scope, hash)
	p.Body = r.String() + "\n" + strings.Join(marks, "\n") + p.Body
	return p
}

func once(p bot.Proposal) bot.Proposal {
	p.Once = true
	return p
}

// codifies is a codify of its own key.
func codifies(name string, r bot.Record) bot.Proposal {
	p := recorded(bot.AsPullRequest, "aa", r)
	p.Disposition, p.Title = detect.Codify, name
	p.Key = bot.Key(scope, name)
	return p
}

// about is an issue of its own key.
func about(name string, r bot.Record) bot.Proposal {
	p := recorded(bot.AsIssue, "aa", r)
	p.Title, p.Key = name, bot.Key(scope, name)
	return p
}

// held is the thread that a proposal became.
func held(p bot.Proposal, number int, state bot.State, labels ...string) bot.Thread {
	return bot.Thread{Kind: p.Kind, Number: number, State: state, Body: p.Body, Labels: labels}
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
		{"of two threads with one key the newer closes, the older is kept", []bot.Proposal{proposal(issue, scope, "aa")},
			[]bot.Thread{thread(issue, scope, "aa", 7, bot.Open, ""), thread(issue, scope, "aa", 3, bot.Open, "")}, []Verb{Nothing, Close}},
		{"a thread without a marker is left alone", nil, []bot.Thread{{Kind: issue, Number: 1, State: bot.Open, Body: "hello"}}, nil},
		{"a closed issue whose drift is gone is left alone", nil, []bot.Thread{thread(issue, scope, "aa", 1, bot.Closed, "")}, nil},
		{"a drift that is back reopens the issue that Holdfast closed", []bot.Proposal{proposal(issue, scope, "aa")}, []bot.Thread{thread(issue, scope, "aa", 1, bot.Closed, closingMark(closing()))}, []Verb{Reopen}},
		{"an issue that a person closed stays closed for the same content", []bot.Proposal{proposal(issue, scope, "aa")}, []bot.Thread{thread(issue, scope, "aa", 1, bot.Closed, "")}, []Verb{Nothing}},
		{"new content reopens what a person closed", []bot.Proposal{proposal(issue, scope, "bb")}, []bot.Thread{thread(issue, scope, "aa", 1, bot.Closed, "")}, []Verb{Reopen}},
		{"a pull request closed unmerged stays closed for the same content", []bot.Proposal{proposal(pull, scope, "aa")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Closed, "")}, []Verb{Nothing}},
		{"a merged pull request with the same content waits for the engine", []bot.Proposal{proposal(pull, scope, "aa")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Merged, "")}, []Verb{Nothing}},
		{"new content after a merge opens a new one", []bot.Proposal{proposal(pull, scope, "bb")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Merged, "")}, []Verb{Open}},
		{"a codify whose drift the engine undid stays open and says so", nil, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, "", "drift/codify")}, []Verb{Healed}},
		{"it says so once", nil, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, healedMark+"\n", "drift/codify")}, []Verb{Nothing}},
		{"it is as before when the drift is back", []bot.Proposal{proposal(pull, scope, "aa")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, healedMark+"\n", "drift/codify")}, []Verb{Update}},
		{"policy may close it instead", nil, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, bot.Record{CloseAfterHeal: true}.String()+"\n", "drift/codify")}, []Verb{Close}},
		{"a codify of which the engine undid a part keeps all of it", []bot.Proposal{recorded(pull, "bb", bot.Record{About: map[string]string{"0a": "11"}})}, []bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0a": "11", "0b": "22"}}), 1, bot.Open, "drift/codify")}, []Verb{Nothing}},
		{"a codify whose other part drifts on to another answer is cut down", []bot.Proposal{recorded(pull, "bb", bot.Record{About: map[string]string{"0a": "11"}})}, []bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0a": "11", "0c": "33"}}), 1, bot.Open, "drift/codify")}, []Verb{Update}},
		{"a codify with another value is updated", []bot.Proposal{recorded(pull, "bb", bot.Record{About: map[string]string{"0a": "44"}})}, []bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0a": "11", "0b": "22"}}), 1, bot.Open, "drift/codify")}, []Verb{Update}},
		{"a pull request whose drift is still there is never said to be undone", nil, []bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0c": "33"}}), 1, bot.Open, "drift/codify")}, []Verb{Nothing}},
		{"a codify in whose place a third value is live stays open and says so", nil, []bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0c": "44"}}), 1, bot.Open, "drift/codify")}, []Verb{Changed}},
		{"it says that once too", nil, []bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0c": "44"}}, changedMark), 1, bot.Open, "drift/codify")}, []Verb{Nothing}},
		{"what was undone first, and has a third value now, says that instead", nil, []bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0c": "44"}}, healedMark), 1, bot.Open, "drift/codify")}, []Verb{Changed}},
		{"policy may close it instead of keeping it beside a third value", nil, []bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0c": "44"}, CloseAfterHeal: true}), 1, bot.Open, "drift/codify")}, []Verb{Close}},
		{"a third value that is codified too takes the recorded one's place", []bot.Proposal{recorded(pull, "bb", bot.Record{About: map[string]string{"0c": "33"}})}, []bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0c": "44"}}), 1, bot.Open, "drift/codify")}, []Verb{Update}},
		{"a pull request that Holdfast closed comes back with its drift", []bot.Proposal{proposal(pull, scope, "aa")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Closed, closingMark(closing()))}, []Verb{Reopen}},
		{"an issue whose closing ended half way is written anew when its drift is back", []bot.Proposal{proposal(issue, scope, "aa")}, []bot.Thread{thread(issue, scope, "aa", 1, bot.Open, closingMark(closing()))}, []Verb{Update}},
		{"it is closed when its drift stays away", nil, []bot.Thread{thread(issue, scope, "aa", 1, bot.Open, closingMark(closing()))}, []Verb{Close}},
		{"new content reopens a pull request that a person closed", []bot.Proposal{proposal(pull, scope, "bb")}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Closed, "")}, []Verb{Reopen}},
		{"a pull request that was left without its labels gets them", []bot.Proposal{complete(proposal(pull, scope, "aa"))}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, "")}, []Verb{Update}},
		{"one of them is enough, since people may take some away", []bot.Proposal{complete(proposal(pull, scope, "aa"))}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, "", "drift/codify")}, []Verb{Nothing}},
		{"what is offered once does not come back after it was closed, whatever its content", []bot.Proposal{once(proposal(pull, scope, "bb"))}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Closed, "")}, []Verb{Nothing}},
		{"nor after it was merged", []bot.Proposal{once(proposal(pull, scope, "bb"))}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Merged, "")}, []Verb{Nothing}},
		{"while it is open it is kept up to date", []bot.Proposal{once(proposal(pull, scope, "bb"))}, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, "")}, []Verb{Update}},
		{"a codify that another one took over is closed", []bot.Proposal{codifies("other", bot.Record{About: map[string]string{"0a": "11", "0c": "33"}})},
			[]bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0c": "33", "0b": "22"}}), 1, bot.Open, "drift/codify")}, []Verb{Open, Close}},
		{"one that it took over in part is not", []bot.Proposal{codifies("other", bot.Record{About: map[string]string{"0a": "11"}})},
			[]bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0a": "11", "0c": "33"}}), 1, bot.Open, "drift/codify")}, []Verb{Open, Nothing}},
		{"the same content on a base that declares something else is pushed anew", []bot.Proposal{recorded(pull, "aa", bot.Record{Files: "11", Base: "c2", Proof: "2d"})},
			[]bot.Thread{held(recorded(pull, "aa", bot.Record{Files: "11", Base: "c1", Proof: "1d"}), 1, bot.Open)}, []Verb{Update}},
		{"on one that went on elsewhere it is not", []bot.Proposal{recorded(pull, "aa", bot.Record{Files: "11", Base: "c2", Proof: "1d"})},
			[]bot.Thread{held(recorded(pull, "aa", bot.Record{Files: "11", Base: "c1", Proof: "1d"}), 1, bot.Open)}, []Verb{Nothing}},
		{"a codify whose value the base has is closed, though the drift is not gone yet", nil,
			[]bot.Thread{held(recorded(pull, "aa", bot.Record{About: map[string]string{"0c": "33"}}), 21, bot.Open, "drift/codify")}, []Verb{Close}},
		{"one whose value the base has is not said to be undone", nil, []bot.Thread{thread(pull, scope, "aa", 21, bot.Open, "", "drift/codify")}, []Verb{Close}},
		{"one whose place is gone is closed", nil, []bot.Thread{thread(pull, scope, "aa", 22, bot.Open, "", "drift/codify")}, []Verb{Close}},
		{"one that still fits stays", nil, []bot.Thread{thread(pull, scope, "aa", 23, bot.Open, "", "drift/codify")}, []Verb{Healed}},
		{"an issue whose drift another issue took over is closed", []bot.Proposal{about("other", bot.Record{About: map[string]string{"0c": "34"}})},
			[]bot.Thread{held(recorded(issue, "aa", bot.Record{About: map[string]string{"0c": "33"}}), 1, bot.Open)}, []Verb{Open, Close}},
		{"one about several clusters stays while another cluster has its drift", nil, []bot.Thread{held(recorded(issue, "aa", bot.Record{About: map[string]string{"0c": "33", "0b": "22"}}), 1, bot.Open)}, []Verb{Nothing}},
		{"the same content on files that changed is pushed anew", []bot.Proposal{recorded(pull, "aa", bot.Record{Files: "22"})}, []bot.Thread{held(recorded(pull, "aa", bot.Record{Files: "11"}), 1, bot.Open)}, []Verb{Update}},
		{"a closed one stays closed whatever becomes of its files", []bot.Proposal{recorded(pull, "aa", bot.Record{Files: "22"})}, []bot.Thread{held(recorded(pull, "aa", bot.Record{Files: "11"}), 1, bot.Closed)}, []Verb{Nothing}},
		{"the same drift after its merge, as a new record, opens a new one", []bot.Proposal{recorded(pull, "aa", bot.Record{Files: "22"})}, []bot.Thread{held(recorded(pull, "aa", bot.Record{Files: "11"}), 1, bot.Merged)}, []Verb{Open}},
		{"a revert whose drift is gone is closed", nil, []bot.Thread{thread(pull, scope, "aa", 1, bot.Open, "", "drift/revert")}, []Verb{Close}},
		{"of two threads with one key the open one counts", []bot.Proposal{proposal(issue, scope, "aa")}, []bot.Thread{thread(issue, scope, "aa", 2, bot.Closed, ""), thread(issue, scope, "aa", 1, bot.Open, "")}, []Verb{Nothing}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Plan(c.wanted, c.threads, Seen{Scopes: map[string]bool{bot.ScopeMark(scope): true}, Drifts: map[string]string{"0a": "11", "0c": "33"},
				Standings: map[int]bot.Standing{21: bot.Settled, 22: bot.Overtaken, 23: bot.Fits}})
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

func TestWhatCouldNotBeReadIsNotClosed(t *testing.T) {
	issue := held(recorded(bot.AsIssue, "aa", bot.Record{About: map[string]string{"0a": "1b"}}), 1, bot.Open)
	seen := Seen{Scopes: map[string]bool{bot.ScopeMark(scope): true}}
	if got := Plan(nil, []bot.Thread{issue}, seen); len(got) != 1 || got[0].Verb != Close {
		t.Errorf("read, and gone: got %+v", got)
	}
	seen.Unknown = map[string]bool{"0a": true}
	if got := Plan(nil, []bot.Thread{issue}, seen); len(got) != 1 || got[0].Verb != Nothing {
		t.Errorf("not read: got %+v", got)
	}
}
