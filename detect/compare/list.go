package compare

import (
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// list compares two lists of type t; either may be nil.
func (w *walker) list(t *typed.Type, git, live []any) {
	elem := t.Elem
	if elem == nil {
		elem = typed.Anything()
	}
	if keys := t.EntryKeys(git, live); len(keys) > 0 {
		w.keyed(t, keys, elem, git, live)
		return
	}
	switch {
	case len(git) == 0 && len(live) == 0:
	case len(git) == 0 || len(live) == 0:
		w.emitLists(detect.Changed, git, live)
	case scalarsOnly(git) && scalarsOnly(live):
		w.scalars(t, elem, git, live)
	case t.Ordered:
		w.byIndex(t, elem, git, live)
	default:
		w.mappings(t, elem, git, live)
	}
}

// pair compares the entries at two indexes.
func (w *walker) pair(t *typed.Type, keys []string, elem *typed.Type, git, live []any, gitI, liveI int) {
	g, l := git[gitI], live[liveI]
	if g == nil && l == nil {
		return
	}
	w.frames = append(w.frames, frame{list: t, keys: keys, git: git, live: live, gitI: gitI, lvI: liveI})
	if g == nil || l == nil {
		w.emit(detect.Changed, gitops.Present(g), gitops.Present(l))
	} else {
		w.both(nil, elem, g, l)
	}
	w.frames = w.frames[:len(w.frames)-1]
}

// one notes an entry that one side alone has.
func (w *walker) one(t *typed.Type, keys []string, git, live []any, gitI, liveI int) {
	w.frames = append(w.frames, frame{list: t, keys: keys, git: git, live: live, gitI: gitI, lvI: liveI})
	if liveI >= 0 {
		w.emit(detect.Added, gitops.Value{}, gitops.Present(live[liveI]))
	} else {
		w.emit(detect.Removed, gitops.Present(git[gitI]), gitops.Value{})
	}
	w.frames = w.frames[:len(w.frames)-1]
}

// scalars compares lists of scalars.
func (w *walker) scalars(t, elem *typed.Type, git, live []any) {
	switch {
	case len(git) != len(live):
		w.emitLists(detect.Changed, git, live)
	case sameByIndex(elem, git, live):
		if w.all {
			w.eachPair(t, elem, git, live) // other spellings
		}
	case permuted(elem, git, live):
		w.reordered(!t.Unordered, git, live)
	case t.Ordered:
		w.eachPair(t, elem, git, live)
	default:
		w.emitLists(detect.Changed, git, live)
	}
}

// byIndex compares lists of mappings in which position counts.
func (w *walker) byIndex(t, elem *typed.Type, git, live []any) {
	if len(git) != len(live) {
		w.emitLists(detect.Changed, git, live)
		return
	}
	w.eachPair(t, elem, git, live)
}

func (w *walker) eachPair(t, elem *typed.Type, git, live []any) {
	for i := range git {
		w.pair(t, nil, elem, git, live, i, i)
		if w.done() {
			return
		}
	}
}

// reordered notes the same entries in another order.
func (w *walker) reordered(meaning bool, git, live []any) {
	if meaning {
		w.emitLists(detect.Reordered, git, live)
	} else {
		w.excuse(detect.Reordered, gitops.Present(git), gitops.Present(live))
	}
}

func (w *walker) emitLists(kind detect.DifferenceKind, git, live []any) {
	g, l := gitops.Value{}, gitops.Value{}
	if git != nil {
		g = gitops.Present(git)
	}
	if live != nil {
		l = gitops.Present(live)
	}
	w.emit(kind, g, l)
}

func scalarsOnly(list []any) bool {
	for _, v := range list {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return true
}

func sameByIndex(elem *typed.Type, git, live []any) bool {
	for i := range git {
		if !elem.Format.SameScalar(git[i], live[i]) {
			return false
		}
	}
	return true
}

// permuted says whether the lists, of one length, hold the same entries.
func permuted(elem *typed.Type, git, live []any) bool {
	taken := make([]bool, len(live))
	for _, g := range git {
		found := false
		for j, l := range live {
			if !taken[j] && elem.Format.SameScalar(g, l) {
				taken[j], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}
