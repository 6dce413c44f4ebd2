package compare

import (
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// list compares two lists of type t; either may be nil.
func (w *walker) list(t *typed.Type, git, live []any) {
	if keys := listKeys(t, git, live); len(keys) > 0 {
		w.keyed(t, keys, git, live)
		return
	}
	elem := t.Elem
	if elem == nil {
		elem = typed.Anything()
	}
	if len(git) == len(live) && w.pairwise(t, elem, git, live) {
		return
	}
	switch {
	case len(git) == 0 || len(live) == 0:
		w.emitLists(detect.Changed, git, live)
	case scalarsOnly(git) && scalarsOnly(live):
		w.scalars(t, elem, git, live)
	default:
		w.mappings(t, elem, git, live)
	}
}

// listKeys gives the keys by which the entries of a list are known. Entries of a custom resource's list are
// known by name where all have one and none repeats.
func listKeys(t *typed.Type, git, live []any) []string {
	if len(t.Keys) > 0 || !t.Custom {
		return t.Keys
	}
	if len(git)+len(live) > 0 && uniqueNames(git) && uniqueNames(live) {
		return []string{"name"}
	}
	return nil
}

func uniqueNames(list []any) bool {
	for i, entry := range list {
		m, _ := entry.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" {
			return false
		}
		for _, before := range list[:i] {
			if before.(map[string]any)["name"] == name {
				return false
			}
		}
	}
	return true
}

// pairwise compares lists of one length entry by entry. It lists nothing and gives false when some differ.
func (w *walker) pairwise(t, elem *typed.Type, git, live []any) bool {
	same := w.silently(func() {
		for i := range git {
			w.pair(t, nil, elem, git, live, i, i)
			if w.done() {
				return
			}
		}
	})
	if same && w.all {
		for i := range git {
			w.pair(t, nil, elem, git, live, i, i)
		}
	}
	return same
}

// pair compares the entries at two indexes.
func (w *walker) pair(t *typed.Type, keys []string, elem *typed.Type, git, live []any, gitI, liveI int) {
	g, l := git[gitI], live[liveI]
	if g == nil || l == nil {
		if g != nil || l != nil {
			w.frames = append(w.frames, frame{list: t, keys: keys, git: git, live: live, gitI: gitI, lvI: liveI})
			w.emit(detect.Changed, gitops.Present(g), gitops.Present(l))
			w.frames = w.frames[:len(w.frames)-1]
		}
		return
	}
	w.frames = append(w.frames, frame{list: t, keys: keys, git: git, live: live, gitI: gitI, lvI: liveI})
	w.both(nil, elem, g, l)
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

// scalars compares lists of scalars that are not equal entry by entry.
func (w *walker) scalars(t, elem *typed.Type, git, live []any) {
	if len(git) == len(live) && permuted(elem, git, live) {
		w.reordered(!t.Unordered, git, live)
		return
	}
	if t.Ordered && len(git) == len(live) {
		for i := range git {
			w.pair(t, nil, elem, git, live, i, i)
		}
		return
	}
	w.emitLists(detect.Changed, git, live)
}

// mappings compares atomic lists of mappings that are not equal entry by entry.
func (w *walker) mappings(t, elem *typed.Type, git, live []any) {
	if t.Ordered {
		w.byIndex(t, elem, git, live)
		return
	}
	partner := make([]int, len(git)) // index in live, or -1
	taken := make([]bool, len(live))
	moved, last := false, -1
	for i := range git {
		partner[i] = -1
		for _, j := range near(i, len(live)) {
			if !taken[j] && w.silently(func() { w.pair(t, nil, elem, git, live, i, j) }) {
				partner[i], taken[j] = j, true
				moved = moved || j < last
				last = max(last, j)
				break
			}
		}
	}
	leftGit, leftLive, crossed := 0, 0, false
	for i := range git {
		if partner[i] < 0 {
			if i < len(live) && !taken[i] {
				continue
			}
			leftGit++
		}
	}
	for j := range live {
		if !taken[j] && (j >= len(git) || partner[j] >= 0) {
			leftLive++
		}
	}
	crossed = leftGit > 0 && leftLive > 0
	if crossed || moved && !t.Unordered {
		same := len(git) == len(live) && leftGit == 0 && leftLive == 0 && !contains(partner, -1)
		if same {
			w.reordered(true, git, live)
		} else {
			w.emitLists(detect.Changed, git, live)
		}
		return
	}
	if moved && w.all {
		w.reordered(false, git, live)
	}
	for i := range git {
		switch {
		case partner[i] >= 0:
			if w.all && !moved {
				w.pair(t, nil, elem, git, live, i, partner[i])
			}
		case i < len(live) && !taken[i]:
			w.pair(t, nil, elem, git, live, i, i)
		default:
			w.one(t, nil, git, live, i, -1)
		}
	}
	for j := range live {
		if !taken[j] && (j >= len(git) || partner[j] >= 0) {
			w.one(t, nil, git, live, -1, j)
		}
	}
}

// byIndex compares lists in which position counts.
func (w *walker) byIndex(t, elem *typed.Type, git, live []any) {
	if len(git) != len(live) {
		w.emitLists(detect.Changed, git, live)
		return
	}
	for i := range git {
		w.pair(t, nil, elem, git, live, i, i)
	}
}

// near lists the indexes below n, i first.
func near(i, n int) []int {
	out := make([]int, 0, n)
	if i < n {
		out = append(out, i)
	}
	for j := range n {
		if j != i {
			out = append(out, j)
		}
	}
	return out
}

func contains(list []int, x int) bool {
	for _, v := range list {
		if v == x {
			return true
		}
	}
	return false
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
