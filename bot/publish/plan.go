// Package publish makes a forge look as proposals want it: each thread opened once, updated in place,
// closed when its drift is gone. Plan decides on values; Apply carries the decisions out.
package publish

import (
	"strings"

	"holdfast/bot"
	"holdfast/detect"
)

// Verb is what has to be done about a thread.
type Verb string

// The verbs.
const (
	Open    Verb = "open"
	Update  Verb = "update"
	Reopen  Verb = "reopen"
	Close   Verb = "close"
	Healed  Verb = "mark healed" // an open codify whose drift the engine undid: it stays, and says so
	Nothing Verb = "nothing"
)

// Action is one decision, with its reason.
type Action struct {
	Verb     Verb
	Reason   string
	Proposal bot.Proposal // for Open, Update, Reopen
	Thread   bot.Thread   // for all but Open
}

// healedMark is the line that tells a codify whose live value is gone for now.
const healedMark = "<!-- holdfast healed -->"

// Plan compares what is wanted with the bot's own threads. scopes are the scope marks (bot.ScopeMark) of
// the Applications that were assessed: a thread of any other scope is left alone, since nothing is known
// about its drift.
func Plan(wanted []bot.Proposal, threads []bot.Thread, scopes map[string]bool) []Action {
	byKey := map[string]bot.Thread{}
	for _, t := range threads {
		key, _, ok := bot.ParseMarker(t.Body)
		if !ok {
			continue
		}
		if known, twice := byKey[key]; twice && !preferred(t, known) {
			continue
		}
		byKey[key] = t
	}
	var out []Action
	want := map[string]bool{}
	for _, p := range wanted {
		want[p.Key] = true
		thread, ok := byKey[p.Key]
		if !ok {
			out = append(out, Action{Verb: Open, Reason: "no thread has this key", Proposal: p})
			continue
		}
		out = append(out, existing(p, thread))
	}
	for _, t := range threads {
		key, _, ok := bot.ParseMarker(t.Body)
		if !ok || want[key] || byKey[key].Number != t.Number || t.State != bot.Open || !scopes[bot.ScopeOf(key)] {
			continue
		}
		out = append(out, gone(t))
	}
	return out
}

// preferred says which of two threads with one key counts: the open one, else the newer.
func preferred(a, b bot.Thread) bool {
	if (a.State == bot.Open) != (b.State == bot.Open) {
		return a.State == bot.Open
	}
	return a.Number > b.Number
}

func existing(p bot.Proposal, t bot.Thread) Action {
	_, hash, _ := bot.ParseMarker(t.Body)
	same := hash == p.Hash
	a := Action{Proposal: p, Thread: t}
	switch {
	case t.State == bot.Open && same && strings.Contains(t.Body, healedMark):
		a.Verb, a.Reason = Update, "the drift is back"
	case t.State == bot.Open && same:
		a.Verb, a.Reason = Nothing, "same content"
	case t.State == bot.Open:
		a.Verb, a.Reason = Update, "the content changed"
	case t.State == bot.Merged && same:
		a.Verb, a.Reason = Nothing, "merged; waiting for the engine"
	case t.State == bot.Merged:
		a.Verb, a.Reason = Open, "the earlier one was merged; this is new content"
	case p.Kind == bot.AsPullRequest && same:
		a.Verb, a.Reason = Nothing, "closed unmerged with the same content"
	case p.Kind == bot.AsIssue && same && strings.Contains(t.Body, closedMark):
		a.Verb, a.Reason = Reopen, "the drift is back"
	case p.Kind == bot.AsIssue && same:
		a.Verb, a.Reason = Nothing, "closed by a person with the same content"
	default:
		a.Verb, a.Reason = Reopen, "new content"
	}
	return a
}

// gone decides about an open thread whose drift is not seen any more.
func gone(t bot.Thread) Action {
	if t.Kind == bot.AsPullRequest && has(t.Labels, "drift/"+string(detect.Codify)) && !strings.Contains(t.Body, closeAfterHeal) {
		if strings.Contains(t.Body, healedMark) {
			return Action{Verb: Nothing, Reason: "undone by the engine, said so already", Thread: t}
		}
		return Action{Verb: Healed, Reason: "the live value is gone; merging brings it back", Thread: t}
	}
	return Action{Verb: Close, Reason: "the cluster and Git agree", Thread: t}
}

func has(list []string, text string) bool {
	for _, s := range list {
		if s == text {
			return true
		}
	}
	return false
}
