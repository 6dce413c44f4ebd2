package identity

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
)

// situation is a pull request with head 2222 since noon. alice, alice-ops (the same person), bob, carol and dave may
// answer for its files, mallory may not.
func situation(makers []Maker, approvals ...bot.Approval) Situation {
	return Situation{
		Makers: makers, Head: "2222", HeadSince: noon, Approvals: approvals,
		Entitled: func(login string) bool {
			return slices.Contains([]string{"alice", "alice-ops", "bob", "carol", "dave", "holdfast"}, strings.ToLower(login))
		},
	}
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func approves(login, commit string) bot.Approval {
	return bot.Approval{By: bot.Actor{Login: login}, Commit: commit, Time: noon.Add(time.Minute)}
}

func rejects(login, commit string) bot.Approval {
	a := approves(login, commit)
	a.Rejected = true
	return a
}

func TestDecide(t *testing.T) {
	ids := compiled(t, mapping())
	alice := []Maker{{Login: "alice", Certain: true}}
	maybeAlice := []Maker{{Login: "alice", Why: "metadata"}}
	nobody := []Maker{{Why: "unknown"}}
	byBot := approves("holdfast", "2222")
	byBot.By.Bot = true
	early := approves("bob", "")
	early.Time = noon.Add(-time.Minute)
	for _, c := range []struct {
		name      string
		situation Situation
		verdict   bot.Verdict
		title     string
		by        []string
	}{
		{"nobody approved", situation(alice), bot.Failure, "needs an approval by others than alice", nil},
		{"another person approved the head", situation(alice, approves("bob", "2222")), bot.Success, "approved by bob", []string{"bob"}},
		{"the maker approved", situation(alice, approves("alice", "2222")), bot.Failure, "needs an approval by others than alice", nil},
		{"the maker approved, in other letters", situation(alice, approves("ALICE", "2222")), bot.Failure, "needs an approval by others than alice", nil},
		{"the maker approved by another account", situation(alice, approves("alice-ops", "2222")), bot.Failure, "needs an approval by others than alice", nil},
		{"the maker is known by the other account", situation([]Maker{{Login: "alice-ops", Certain: true}}, approves("alice", "2222")), bot.Failure, "needs an approval by others than alice-ops", nil},
		{"the maker and another person approved", situation(alice, approves("alice", "2222"), approves("bob", "2222")), bot.Success, "approved by bob", []string{"bob"}},
		{"an older head was approved", situation(alice, approves("bob", "1111")), bot.Failure, "needs an approval by others than alice", nil},
		{"a bot approved", situation(alice, byBot), bot.Failure, "needs an approval by others than alice", nil},
		{"somebody approved who is not entitled", situation(alice, approves("mallory", "2222")), bot.Failure, "needs an approval by others than alice", nil},
		{"an account that is gone approved", situation(alice, approves("", "2222")), bot.Failure, "needs an approval by others than alice", nil},
		{"the forge names no commit, after the head came", situation(alice, approves("bob", "")), bot.Success, "approved by bob", []string{"bob"}},
		{"the forge names no commit, before the head came", situation(alice, early), bot.Failure, "needs an approval by others than alice", nil},

		{"two made the change, a third approved", situation([]Maker{{Login: "alice", Certain: true}, {Login: "bob", Certain: true}}, approves("carol", "2222")), bot.Success, "approved by carol", []string{"carol"}},
		{"two made the change and approve each other", situation([]Maker{{Login: "alice", Certain: true}, {Login: "bob", Certain: true}}, approves("alice", "2222"), approves("bob", "2222")), bot.Failure, "needs an approval by others than alice, bob", nil},

		{"the maker is unknown, nobody approved", situation(nobody), bot.Failure, "who made the change is not proven: needs two approvals", nil},
		{"the maker is unknown, one approved", situation(nobody, approves("bob", "2222")), bot.Failure, "who made the change is not proven: needs two approvals, has that of bob", []string{"bob"}},
		{"the maker is unknown, two approved", situation(nobody, approves("bob", "2222"), approves("carol", "2222")), bot.Success, "approved by bob, carol", []string{"bob", "carol"}},
		{"the maker is unknown, one person approved by two accounts", situation(nobody, approves("alice", "2222"), approves("alice-ops", "2222")), bot.Failure, "who made the change is not proven: needs two approvals, has that of alice", []string{"alice"}},
		{"the maker is unknown, one of two approved an older head", situation(nobody, approves("bob", "2222"), approves("carol", "1111")), bot.Failure, "who made the change is not proven: needs two approvals, has that of bob", []string{"bob"}},
		{"no makers at all are somebody unknown", situation(nil, approves("bob", "2222")), bot.Failure, "who made the change is not proven: needs two approvals, has that of bob", []string{"bob"}},
		{"the maker is not certain and approves with another", situation(maybeAlice, approves("alice", "2222"), approves("bob", "2222")), bot.Failure, "who made the change is not proven: needs two approvals by others than alice, has that of bob", []string{"bob"}},
		{"the maker is not certain, two others approved", situation(maybeAlice, approves("bob", "2222"), approves("carol", "2222")), bot.Success, "approved by bob, carol", []string{"bob", "carol"}},
		{"one maker is certain and another unknown, one approved", situation(slices.Concat(alice, nobody), approves("bob", "2222")), bot.Failure, "who made the change is not proven: needs two approvals by others than alice, has that of bob", []string{"bob"}},

		{"somebody entitled asks for changes", situation(alice, approves("bob", "2222"), rejects("carol", "2222")), bot.Failure, "carol asks for changes", []string{"bob"}},
		{"somebody entitled asked for changes of an older head", situation(alice, approves("bob", "2222"), rejects("carol", "1111")), bot.Failure, "carol asks for changes", []string{"bob"}},
		{"somebody who is not entitled asks for changes", situation(alice, approves("bob", "2222"), rejects("mallory", "2222")), bot.Success, "approved by bob", []string{"bob"}},
		{"the maker asks for changes", situation(alice, approves("bob", "2222"), rejects("alice", "2222")), bot.Failure, "alice asks for changes", []string{"bob"}},
	} {
		d := ids.Decide(c.situation)
		if d.Verdict != c.verdict || d.Title != c.title || !cmp.Equal(d.By, c.by) {
			t.Errorf("%s: %s, %q, by %q; want %s, %q, by %q", c.name, d.Verdict, d.Title, d.By, c.verdict, c.title, c.by)
		}
		objections := 0
		for _, a := range c.situation.Approvals {
			if a.Rejected && a.By.Login != "mallory" {
				objections++
			}
		}
		if len(d.Trace)+len(d.By)+objections != len(c.situation.Approvals) {
			t.Errorf("%s: of %d reviews, %d count, %d object, and the trace says %q", c.name, len(c.situation.Approvals), len(d.By), objections, d.Trace)
		}
	}
}

func TestDecideWithoutFacts(t *testing.T) {
	ids := compiled(t, Mapping{})
	s := situation([]Maker{{Login: "alice", Certain: true}}, approves("bob", "2222"))
	for name, change := range map[string]func(*Situation){
		"nobody is entitled":    func(s *Situation) { s.Entitled = nil },
		"the head is not known": func(s *Situation) { s.Head = "" },
		"when the head came is not known, and the approval names none": func(s *Situation) { s.HeadSince, s.Approvals = time.Time{}, []bot.Approval{approves("bob", "")} },
	} {
		changed := s
		change(&changed)
		if d := ids.Decide(changed); d.Verdict != bot.Failure || len(d.Trace) != 1 {
			t.Errorf("%s: %+v, want a failure that says why", name, d)
		}
	}
}
