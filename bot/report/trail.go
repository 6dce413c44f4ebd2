package report

import (
	"encoding/json"
	"time"

	"holdfast/bot/ledger"
	"holdfast/detect"
)

// recorded is what a ledger says of one finding.
type recorded struct {
	finding ledger.Finding
	// spans are its times of drift, in order.
	spans    []span
	decided  bool
	proposed bool
	approved bool
	merged   bool
	settled  bool
}

type span struct {
	changed, detected, closed time.Time
	healed                    bool
}

// NewTrail starts the trail of a ledger.
func NewTrail(source string) *Trail {
	return &Trail{Source: source, drifts: map[string]*recorded{}, threads: map[string][]string{}}
}

// Add takes in the next record. One whose content cannot be read, as a later version may have written it, counts and says no
// more.
func (t *Trail) Add(e ledger.Entry) {
	at := e.Statement.Predicate.Time
	if t.First.IsZero() || at.Before(t.First) {
		t.First = at
	}
	if at.After(t.Last) {
		t.Last = at
	}
	t.Records++
	content := ledger.ContentOf(e.Name.Kind)
	if content == nil || json.Unmarshal(e.Statement.Predicate.Content, content) != nil {
		return
	}
	switch c := content.(type) {
	case *ledger.Finding:
		t.seen(at, c, e.Statement.Predicate.Observed)
	case *ledger.Decision:
		t.mark([]string{c.Finding}, func(r *recorded) { r.decided = true })
	case *ledger.Proposal:
		t.threads[threadOf(c.Thread)] = c.Findings
		t.mark(c.Findings, func(r *recorded) { r.proposed = true })
	case *ledger.Approval:
		if !c.Rejected {
			t.mark(t.threads[threadOf(c.Thread)], func(r *recorded) { r.approved = true })
		}
	case *ledger.Merge:
		t.mark(t.threads[threadOf(c.Thread)], func(r *recorded) { r.merged = true })
	case *ledger.Healing:
		t.settle(c.Finding, at, true)
	case *ledger.Convergence:
		t.settle(c.Finding, at, false)
	}
}

func threadOf(t ledger.Thread) string { return t.Repository + " " + t.Key }

func (t *Trail) mark(findings []string, do func(*recorded)) {
	for _, id := range findings {
		if r := t.drifts[id]; r != nil {
			do(r)
		}
	}
}

func (t *Trail) seen(at time.Time, f *ledger.Finding, observed json.RawMessage) {
	r := t.drifts[f.ID]
	if r == nil {
		r = &recorded{}
		t.drifts[f.ID] = r
		t.order = append(t.order, f.ID)
	}
	r.finding = *f
	if n := len(r.spans); n > 0 && r.spans[n-1].closed.IsZero() {
		return // the same drift with other content
	}
	detected := at
	var o ledger.FindingObserved
	if json.Unmarshal(observed, &o) == nil && !o.FirstSeen.IsZero() && o.FirstSeen.Before(at) {
		detected = o.FirstSeen
	}
	r.settled = false
	r.spans = append(r.spans, span{detected: detected, changed: changedAt(f.Writer, f.Fields)})
}

// changedAt is when a drift began, as its writers' times have it; zero when they have none.
func changedAt(object *detect.Writer, fields []ledger.Field) time.Time {
	var out time.Time
	take := func(w *detect.Writer) {
		if w != nil && !w.Time.IsZero() && (out.IsZero() || w.Time.Before(out)) {
			out = w.Time
		}
	}
	take(object)
	for _, f := range fields {
		take(f.Writer)
	}
	return out
}

func (t *Trail) settle(finding string, at time.Time, healed bool) {
	r := t.drifts[finding]
	if r == nil || len(r.spans) == 0 {
		return
	}
	r.settled = true
	if last := &r.spans[len(r.spans)-1]; last.closed.IsZero() {
		last.closed, last.healed = at, healed
	}
}
