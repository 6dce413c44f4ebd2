package codify

import (
	"fmt"
	"reflect"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// scoped holds a verdict to the scope that policy sets: in the overlay an edit is refused that others read too, and
// for the base it counts no less for moving others.
func scoped(g *goal, v verdict) verdict {
	switch {
	case g.wish.Scope == gitops.ScopeOverlay && v.others > 0:
		v.refused = fmt.Sprintf("policy keeps it in files that this Application alone reads, and %d more read these", v.others)
	case g.wish.Scope == gitops.ScopeBase:
		v.reach, v.readers = 0, 0
	}
	return v
}

// wishedElsewhere says whether another Application wishes the same and has not got it yet.
func (w *work) wishedElsewhere(g *goal) bool {
	for _, o := range w.goals {
		if o.member != g.member && !o.settled && g.like(o) {
			return true
		}
	}
	return false
}

// unwished names the moves that refuse a candidate, and those that policy lets pass.
func (w *work) unwished(moves []move) (unwished, wide []string) {
	for _, m := range moves {
		if w.mayMove(m) {
			wide = append(wide, m.String())
			continue
		}
		unwished = append(unwished, m.String())
	}
	return unwished, wide
}

// mayMove says whether a move is a goal's change in another Application, for which policy grants it: the same field of
// an object of the same kind and name takes the same value.
func (w *work) mayMove(m move) bool {
	return slices.ContainsFunc(w.goals, func(g *goal) bool {
		if !g.wish.AllowWide && g.wish.Scope != gitops.ScopeBase || !g.concerns(m) {
			return false
		}
		switch {
		case g.remove:
			return true
		case g.create:
			_, _, unlike := w.differs(g, gitops.NewObject(m.now))
			return !unlike
		}
		now := splice.Lookup(m.now, g.change.Path)
		if want := g.change.After; now.Set != want.Set || now.Set && !w.meaning.same(gitops.NewObject(m.now), g.change.Path, now.V, want.V) {
			return false
		}
		expected := splice.Lookup(transplant(m.old, m.now, g.change.Path), m.path)
		is := splice.Lookup(m.now, m.path)
		return expected.Set == is.Set && reflect.DeepEqual(splice.Normal(expected.V), splice.Normal(is.V))
	})
}
