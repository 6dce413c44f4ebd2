// Package publish makes a forge look as proposals want it: each thread opened once, updated in place,
// closed when its drift is gone. Plan decides on values; Apply carries the decisions out.
package publish

import (
	"fmt"
	"slices"
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
	Healed  Verb = "mark healed"    // an open codify whose drift the engine undid: it stays, and says so
	Changed Verb = "mark overtaken" // an open codify in whose place a third value is live, which is answered otherwise
	Nothing Verb = "nothing"
)

// Action is one decision, with its reason.
type Action struct {
	Verb     Verb
	Reason   string
	Proposal bot.Proposal // for Open, Update, Reopen
	Thread   bot.Thread   // for all but Open
	// Note is added to the comment of a Close: where the evidence stood. May be empty.
	Note string
}

// Seen is what the scan behind the proposals saw.
type Seen struct {
	// Scopes are the scope marks (bot.ScopeMark) of the Applications that were assessed: a thread of any
	// other scope is left alone, since nothing is known about its drift.
	Scopes map[string]bool
	// Drifts are the fingerprints of all that drifts, named as in bot.Record.About.
	Drifts map[string]string
	// Unknown are the IDs of findings about objects that could not be judged.
	Unknown map[string]bool
	// Standings are those of open codify pull requests that nothing wants now, by number.
	Standings map[int]bot.Standing
	// Revisions are the revisions that the engines have applied, by scope mark, for texts.
	Revisions map[string]string
}

// Plan compares what is wanted with the bot's own threads.
func Plan(wanted []bot.Proposal, threads []bot.Thread, seen Seen) []Action {
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
	taken := map[bot.Kind]map[string]string{bot.AsIssue: {}, bot.AsPullRequest: {}} // what issues and codifies are wanted for, and by which
	for _, p := range wanted {
		want[p.Key] = true
		if p.Kind == bot.AsIssue || p.Disposition == detect.Codify {
			for id := range bot.ParseRecord(p.Body).About {
				taken[p.Kind][id] = p.Title
			}
		}
		thread, ok := byKey[p.Key]
		if !ok {
			out = append(out, Action{Verb: Open, Reason: "no thread has this key", Proposal: p})
			continue
		}
		out = append(out, seen.existing(p, thread))
	}
	for _, t := range threads {
		key, _, ok := bot.ParseMarker(t.Body)
		if !ok || t.State != bot.Open {
			continue
		}
		if first := byKey[key]; first.Number != t.Number {
			// Two runs at the same time, or one that did not learn what became of its request.
			out = append(out, Action{Verb: Close, Reason: fmt.Sprintf("number %d is the same", first.Number), Thread: t})
			continue
		}
		if want[key] || !seen.Scopes[bot.ScopeOf(key)] {
			continue
		}
		out = append(out, seen.gone(t, bot.ScopeOf(key), taken[t.Kind]))
	}
	return out
}

// preferred says which of two threads with one key counts: the open one; of two open ones the older, which
// people may have answered; else the newer.
func preferred(a, b bot.Thread) bool {
	open := a.State == bot.Open
	if open != (b.State == bot.Open) {
		return open
	}
	return open == (a.Number < b.Number)
}

func (s Seen) existing(p bot.Proposal, t bot.Thread) Action {
	_, hash, _ := bot.ParseMarker(t.Body)
	same := hash == p.Hash
	now, before := bot.ParseRecord(p.Body), bot.ParseRecord(t.Body)
	a := Action{Proposal: p, Thread: t}
	switch {
	case p.Once && t.State != bot.Open:
		a.Verb, a.Reason = Nothing, "it was merged or closed before: it is offered once"
	case t.State == bot.Open && same && hasNote(t.Body):
		a.Verb, a.Reason = Update, "the drift is back"
	case t.State == bot.Open && same && closedAt(t.Body) != "":
		a.Verb, a.Reason = Update, "the drift is back before its thread was closed"
	case t.State == bot.Open && same && bare(p, t):
		a.Verb, a.Reason = Update, "it has none of its labels"
	case t.State == bot.Open && same && now.Files == before.Files && (now.Proof == before.Proof || before.Proof == ""):
		a.Verb, a.Reason = Nothing, "same content"
	case t.State == bot.Open && same && now.Files == before.Files:
		a.Verb, a.Reason = Update, "the base branch went on in what it rests on; proven there anew"
	case t.State == bot.Open && same:
		a.Verb, a.Reason = Update, "the files that it changes are not what they were"
	case t.State == bot.Open && isCodify(t) && s.partlyUndone(now, before):
		a.Verb, a.Reason = Nothing, "the engine undid a part of it; the recorded values stay"
	case t.State == bot.Open:
		a.Verb, a.Reason = Update, "the content changed"
	case t.State == bot.Merged && same && now.Files == before.Files:
		a.Verb, a.Reason = Nothing, "merged; waiting for the engine"
	case t.State == bot.Merged:
		a.Verb, a.Reason = Open, "the earlier one was merged; this is new content"
	case same && closedAt(t.Body) != "":
		a.Verb, a.Reason = Reopen, "the drift is back"
	case p.Kind == bot.AsPullRequest && same:
		a.Verb, a.Reason = Nothing, "closed unmerged with the same content"
	case same:
		a.Verb, a.Reason = Nothing, "closed by a person with the same content"
	default:
		a.Verb, a.Reason = Reopen, "new content"
	}
	return a
}

// bare says whether a thread has none of the labels that it was opened with: the run died before it gave them.
func bare(p bot.Proposal, t bot.Thread) bool {
	return len(p.Labels) > 0 && !slices.ContainsFunc(t.Labels, func(label string) bool { return slices.Contains(p.Labels, label) })
}

// partlyUndone says whether now is what is left of before, whose other findings are gone: what a person did
// not decide about yet is not taken out of a codify because the engine was faster.
func (s Seen) partlyUndone(now, before bot.Record) bool {
	if len(now.About) == 0 || len(now.About) >= len(before.About) {
		return false
	}
	for id, fingerprint := range now.About {
		if before.About[id] != fingerprint {
			return false
		}
	}
	for id := range before.About {
		_, still := s.Drifts[id]
		if _, wanted := now.About[id]; still && !wanted {
			return false
		}
	}
	return true
}

// gone decides about an open thread that nothing wants any more.
func (s Seen) gone(t bot.Thread, scope string, taken map[string]string) Action {
	record := bot.ParseRecord(t.Body)
	for id := range record.About {
		if s.Unknown[id] {
			return Action{Verb: Nothing, Reason: "what it is about could not be read", Thread: t}
		}
	}
	if title := s.takenOver(t, record, taken); title != "" {
		return Action{Verb: Close, Reason: fmt.Sprintf("the %s %q is about this now", strings.ReplaceAll(string(t.Kind), "-", " "), title), Thread: t}
	}
	switch s.Standings[t.Number] {
	case bot.Settled:
		return Action{Verb: Close, Reason: "the base branch has the value already", Thread: t}
	case bot.Overtaken:
		return Action{Verb: Close, Reason: "the base branch went on, and what this changes does not read there any more as it did when it was proven", Thread: t}
	}
	if s.drifts(t, record) {
		if t.Kind == bot.AsIssue { // on another cluster, whose own run tells more
			return Action{Verb: Nothing, Reason: "its drift is still there", Thread: t}
		}
		return Action{Verb: Nothing, Reason: "its drift is still there, but is not answered this way now; left to you", Thread: t}
	}
	third := isCodify(t) && LiveOf(record, s.Drifts, s.Unknown) == ThirdValue
	switch {
	case third && record.CloseAfterHeal:
		return Action{Verb: Close, Reason: "another value is live now, which is not answered this way", Thread: t}
	case third && hasMark(t.Body, changedMark):
		return Action{Verb: Nothing, Reason: "another value is live, said so already", Thread: t}
	case third:
		return Action{Verb: Changed, Reason: "another value is live now; merging brings the recorded one back", Thread: t}
	case isCodify(t) && !record.CloseAfterHeal && hasMark(t.Body, healedMark):
		return Action{Verb: Nothing, Reason: "undone by the engine, said so already", Thread: t}
	case isCodify(t) && !record.CloseAfterHeal:
		return Action{Verb: Healed, Reason: "the live value is gone; merging brings it back", Thread: t}
	}
	if revision := s.Revisions[scope]; revision != "" {
		return Action{Verb: Close, Reason: "the cluster and Git agree at the applied revision " + revision, Thread: t}
	}
	return Action{Verb: Close, Reason: "the cluster and Git agree", Thread: t}
}

// takenOver says whether all of an issue or a codify that still drifts is wanted by another one, and gives its title.
func (s Seen) takenOver(t bot.Thread, record bot.Record, taken map[string]string) (title string) {
	if t.Kind == bot.AsPullRequest && !isCodify(t) {
		return ""
	}
	for id := range record.About {
		if _, still := s.Drifts[id]; !still {
			continue
		}
		if title = taken[id]; title == "" {
			return ""
		}
	}
	return title
}

// drifts says whether anything that a thread is about still drifts. A codify is about values: another value
// of the same field is not its drift.
func (s Seen) drifts(t bot.Thread, record bot.Record) bool {
	for id, fingerprint := range record.About {
		now, still := s.Drifts[id]
		if still && (now == fingerprint || !isCodify(t)) {
			return true
		}
	}
	return false
}

func isCodify(t bot.Thread) bool {
	return t.Kind == bot.AsPullRequest && has(t.Labels, "drift/"+string(detect.Codify))
}

func has(list []string, text string) bool {
	for _, s := range list {
		if s == text {
			return true
		}
	}
	return false
}
