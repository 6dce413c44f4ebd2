package audit

import (
	"reflect"
	"slices"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// claim is a write that brought the value which lives now. Changed says that admission made of it what lives.
type claim struct {
	write
	changed bool
}

// trace is what a field's history tells of its present value.
type trace struct {
	// claims brought the value, oldest first; several only where nothing shows which was the first.
	claims []claim
	// suspects may have written the field, and nothing tells whether they did.
	suspects []write
	// from is when the field last was known to hold another value.
	from time.Time
	// lost says that events are missing since.
	lost bool
}

// state is what a field is known to hold at a point of its history.
type state struct {
	known, partial bool
	value          gitops.Value
}

// equals compares two states as far as they are whole. Values of Secrets compare by presence.
func (s state) equals(o state) bool {
	switch {
	case s.value.Set != o.value.Set:
		return false
	case !s.value.Set:
		return true
	case s.partial:
		return same(s.value.V, o.value.V)
	case o.partial:
		return same(o.value.V, s.value.V)
	}
	return reflect.DeepEqual(s.value.V, o.value.V) || same(s.value.V, o.value.V) && same(o.value.V, s.value.V)
}

// trace follows the field through the history to what lives now.
func (h *History) trace(field *detect.Field) trace {
	want := state{known: true, value: field.Live}
	if field.Masked && want.value.Set {
		want.value.V = masked
	}
	var t trace
	var now state
	for _, w := range h.writes {
		if w.lost {
			now, t.lost = state{}, true
			continue
		}
		if w.Verb == "delete" || w.Verb == "deletecollection" {
			t, now = trace{from: w.Time}, state{}
			continue
		}
		e := h.effect(w, field.Path)
		before := now
		if w.creates && w.Subresource == "" {
			t, before = trace{from: w.Time}, state{}
		}
		switch {
		case e.known:
			now = state{known: true, partial: e.partial, value: e.after}
		case e.reach != untouched:
			now = state{}
		}
		t = h.step(t, w, e, before, now, want)
	}
	return t
}

// step adds one write to the trace. Before and now are what the field held before and after it.
func (h *History) step(t trace, w write, e effect, before, now, want state) trace {
	if now.known && e.known && !now.equals(want) {
		return trace{from: w.Time}
	}
	c := claim{write: w, changed: e.reach == asked && e.known && !(state{partial: true, value: e.value}).equals(now)}
	whole := w.Verb == "update"
	switch {
	case e.reach == asked && !e.value.Set && e.known && before.known && !before.equals(now) && !h.byEngine(w):
		return trace{from: t.from, claims: []claim{c}} // the default came, or admission put something there
	case e.reach == untouched, e.reach == asked && !e.value.Set && now.value.Set, c.changed && h.byEngine(w):
		// What lives is not what was asked for: admission put it there, or a write is missing.
		if e.known && before.known && !before.equals(now) {
			return trace{from: w.Time}
		}
	case e.known && before.known && !before.equals(now):
		return trace{from: t.from, claims: []claim{c}}
	case e.known && before.known && !h.hides(now):
		if body, ok := w.body.(map[string]any); ok && isApply(body) && e.reach == asked && w.Verb == "patch" {
			t.claims = append(t.claims, c) // an apply of the same value shares it
		}
	case e.reach == possible, whole && !w.creates:
		if !h.byEngine(w) {
			t.suspects = append(t.suspects, w)
		}
	case e.reach == touched && !e.known:
		return trace{from: t.from, claims: []claim{c}}
	case t.lost: // whoever wrote it before the events that are missing, this write asks for it after them
		return trace{from: t.from, claims: []claim{c}}
	default:
		t.claims = append(t.claims, c)
	}
	return t
}

// hides says that a value cannot be told from another: it is a Secret's.
func (h *History) hides(s state) bool { return s.value.V == masked }

// Field names who wrote a field's present value, where the log tells it: for sure where a write's event has the change
// in it; as the writer of the object where that write's event has no body, or where admission changed what it asked
// for, and nobody else but the engine wrote then. Otherwise ok is false and the field's writer stays what managedFields
// tell, as unresolved where the log was written at that time or before it: the event that it should have is late or
// missing, or it is one of several users'.
func (h *History) Field(field *detect.Field) (ok bool) {
	if h == nil {
		return false
	}
	t := h.trace(field)
	entry := entryOf(field)
	for _, c := range t.claims {
		if c.write.User == "" || !entry.allows(c.write) || t.lost && !entry.confirms(c.write) {
			continue
		}
		confidence := detect.ByAudit
		if c.changed {
			confidence = detect.ByAuditMetadata
		}
		take(field, c.write, confidence)
		return true
	}
	if suspect, ok := h.onlySuspect(t, entry); ok && suspect.User != "" {
		take(field, suspect, detect.ByAuditMetadata)
		return true
	}
	if !entry.Time.IsZero() && !h.log.First.IsZero() && !entry.Time.Before(h.log.First.Add(-slack)) {
		doubted := *field.Writer
		doubted.Confidence = detect.Unresolved
		field.Writer = &doubted
	}
	return false
}

// onlySuspect gives the newest of the writes that may have made the change, where all of them are one user's and none
// can be missing.
func (h *History) onlySuspect(t trace, m entry) (write, bool) {
	from := h.open(t.from)
	suspects := slices.DeleteFunc(t.suspects, func(w write) bool {
		if m.Time.IsZero() {
			return !m.allows(w) || w.Time.Before(from.Add(-slack))
		}
		return !m.confirms(w)
	})
	if len(suspects) == 0 || t.lost || len(t.claims) > 0 || !ofOne(suspects) {
		return write{}, false
	}
	bodies := !slices.ContainsFunc(suspects, func(w write) bool { return w.body == nil })
	if m.Time.IsZero() && !bodies && from.Before(h.log.First.Add(-slack)) {
		return write{}, false // it may have happened before the log begins
	}
	return suspects[len(suspects)-1], true
}

// entry is the entry of managedFields that holds a field, as far as it bounds who may have written it; empty where
// nothing but a fold or nobody does.
type entry struct{ detect.Writer }

func entryOf(field *detect.Field) entry {
	if w := field.Writer; w != nil && w.Confidence == detect.ByManager {
		return entry{*w}
	}
	return entry{}
}

// allows says whether the entry may be of this write: the same manager, and not made before it.
func (m entry) allows(w write) bool {
	if m.Manager == "" {
		return true
	}
	if w.Manager != "" && w.Manager != m.Manager || w.Subresource != m.Subresource {
		return false
	}
	return m.Time.IsZero() || !w.Time.After(m.Time.Add(slack))
}

// confirms says whether the entry was made by a write of this manager at this time.
func (m entry) confirms(w write) bool {
	return m.Manager != "" && m.allows(w) && !m.Time.IsZero() && w.Time.Sub(m.Time).Abs() <= slack
}
