package compare

import (
	"holdfast/detect"
	"holdfast/gitops/typed"
)

// matching pairs the entries of two lists that mean the same.
type matching struct {
	partner []int  // of each entry in Git: its index in live, or -1
	taken   []bool // of each entry in live
	moved   bool   // the pairs stand in another order
}

// match finds for each entry in Git the first free live one that means the same, the one at its own index
// first. No two entries are compared twice, so that nested lists cost no more than their product.
func (w *walker) match(t, elem *typed.Type, git, live []any) matching {
	m := matching{partner: make([]int, len(git)), taken: make([]bool, len(live))}
	same := func(i, j int) bool {
		return w.silently(func() { w.pair(t, nil, elem, git, live, i, j) })
	}
	for i := range git {
		m.partner[i] = -1
		if i < len(live) && same(i, i) {
			m.partner[i], m.taken[i] = i, true
		}
	}
	for i := range git {
		for j := 0; m.partner[i] < 0 && j < len(live); j++ {
			if j != i && !m.taken[j] && same(i, j) {
				m.partner[i], m.taken[j] = j, true
			}
		}
	}
	last := -1
	for _, j := range m.partner {
		if j >= 0 {
			m.moved = m.moved || j < last
			last = j
		}
	}
	return m
}

// place says what becomes of the entry at index i of Git.
func (m *matching) place(i int) place {
	switch {
	case m.partner[i] >= 0:
		return matched
	case i < len(m.taken) && !m.taken[i]:
		return inside // the same index is left on both sides
	}
	return alone
}

// addedAt says whether live has an entry at index j that nothing in Git stands against.
func (m *matching) addedAt(j int) bool {
	return !m.taken[j] && (j >= len(m.partner) || m.partner[j] >= 0)
}

type place uint8

const (
	matched place = iota
	inside
	alone
)

// mappings compares atomic lists of mappings.
func (w *walker) mappings(t, elem *typed.Type, git, live []any) {
	m := w.match(t, elem, git, live)
	counts := [3]int{}
	for i := range git {
		counts[m.place(i)]++
	}
	added := 0
	for j := range live {
		if m.addedAt(j) {
			added++
		}
	}
	whole := counts[matched] == len(git) && added == 0
	switch {
	case w.quiet:
		w.differs = w.differs || !whole || m.moved && !t.Unordered
	case whole && m.moved:
		w.reordered(!t.Unordered, git, live)
	case counts[alone] > 0 && added > 0, m.moved && !t.Unordered:
		w.emitLists(detect.Changed, git, live)
	default:
		if m.moved {
			w.reordered(false, git, live)
		}
		w.placed(t, elem, git, live, &m)
	}
}

// placed lists what the entries of the lists differ in, each at its place.
func (w *walker) placed(t, elem *typed.Type, git, live []any, m *matching) {
	for i := range git {
		switch m.place(i) {
		case matched:
			if w.all && !m.moved {
				w.pair(t, nil, elem, git, live, i, m.partner[i])
			}
		case inside:
			w.pair(t, nil, elem, git, live, i, i)
		case alone:
			w.one(t, nil, git, live, i, -1)
		}
	}
	for j := range live {
		if m.addedAt(j) {
			w.one(t, nil, git, live, -1, j)
		}
	}
}
