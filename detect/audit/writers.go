package audit

import (
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// Flip is a write that gave a field another value than it had, or that was somebody else's than the one before.
type Flip struct {
	// Writer is who wrote, with User always set; Confidence is ByAudit.
	Writer detect.Writer
	// Value is what the field held afterwards; absent where the write removed it, null where that is not known.
	// Secrets' values are never known.
	Value gitops.Value
}

// Writes counts the object's writes from since on.
func (h *History) Writes(since time.Time) int {
	n := 0
	if h != nil {
		for _, w := range h.writes {
			if !w.lost && !w.Time.Before(since) {
				n++
			}
		}
	}
	return n
}

// Writers gives the sequence of distinct writers of a field of the live object from since on, oldest first: several
// writes in a row by one user are one Flip, the first of them. Only writes whose event holds the change count, so
// the answer is a lower bound; [a b a b] is two writers and three flips. A nil History gives none.
func (h *History) Writers(path gitops.Path, since time.Time) []Flip {
	if h == nil {
		return nil
	}
	var flips []Flip
	var now state
	for _, w := range h.writes {
		if w.lost || w.Verb == "delete" || w.Verb == "deletecollection" {
			now = state{}
			continue
		}
		e := h.effect(w, path)
		before := now
		switch {
		case e.known:
			now = state{known: true, partial: e.partial, value: e.after}
		case e.reach != untouched:
			now = state{}
		}
		if e.reach == untouched {
			continue
		}
		// Which of a Secret's values is sent cannot be told: a patch that names the key is taken for a change, the whole
		// object, sent back for an annotation's sake, is not.
		named := w.Verb == "patch" && e.reach == asked
		if before.known && now.known && before.equals(now) && !(h.hides(now) && named) {
			continue
		}
		if unsure := e.reach == possible || w.Verb == "update" && !w.creates; unsure && !(before.known && now.known) {
			continue // nothing shows that this write changed the field
		}
		if w.Time.Before(since) || len(flips) > 0 && flips[len(flips)-1].Writer.Name() == writer(w, detect.ByAudit).Name() {
			continue
		}
		value := gitops.Present(nil)
		if now.known {
			value = now.value
		}
		flips = append(flips, Flip{Writer: *writer(w, detect.ByAudit), Value: value})
	}
	return flips
}
