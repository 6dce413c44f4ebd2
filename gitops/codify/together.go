package codify

import (
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// removalsFirst orders goals so that what goes from a list is gone before something is added beside it:
// entries then find the neighbours that they will have.
func removalsFirst(goals []*goal) []*goal {
	out := slices.Clone(goals)
	slices.SortStableFunc(out, func(a, b *goal) int {
		switch x, y := a.takesEntry(), b.takesEntry(); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return out
}

// byPlace orders an object's goals so that one after the other leads from the old object to the new one: entries
// that go first, then those that came, each in the place that it has in the new list.
func byPlace(goals []*goal, now gitops.Declared) []*goal {
	place := map[*goal]int{}
	for _, g := range goals {
		path := g.change.Path
		switch {
		case g.takesEntry():
			place[g] = -1
		case g.change.After.Set && len(path) > 0 && path[len(path)-1].IsEntry():
			list, _ := splice.Lookup(now.Content, path[:len(path)-1]).V.([]any)
			place[g] = index(list, path[len(path)-1])
		}
	}
	out := slices.Clone(goals)
	slices.SortStableFunc(out, func(a, b *goal) int { return place[a] - place[b] })
	return out
}

// entry says whether the goal is that an entry of a list comes, goes or changes as a whole.
func (g *goal) entry() bool {
	path := g.change.Path
	return len(path) > 0 && !path[len(path)-1].IsField()
}

// takesEntry says whether the goal is that an entry of a list goes.
func (g *goal) takesEntry() bool {
	return !g.change.After.Set && g.entry()
}

// checkpoint is what a rejected edit is taken back to.
type checkpoint struct {
	now      state
	unproven map[int]string
	moved    []string
	engine   []engineEdit
	placed   map[*goal]bool
}

func (w *work) checkpoint() checkpoint {
	c := checkpoint{now: w.now, unproven: map[int]string{}, moved: slices.Clip(w.moved), engine: slices.Clip(w.engine), placed: map[*goal]bool{}}
	for i, reason := range w.unproven {
		c.unproven[i] = reason
	}
	for _, g := range w.goals {
		c.placed[g] = g.placed
	}
	return c
}

func (w *work) restore(c checkpoint) {
	w.now, w.unproven, w.moved, w.engine = c.now, c.unproven, c.moved, c.engine
	for _, g := range w.goals {
		if g.placed && !c.placed[g] {
			g.placed, g.settled, g.outcome.How = false, false, ""
		}
	}
}

// broken says what the accepted edits move together, from the first tree on, although each of them alone moved
// nothing, or which goal they no longer meet.
func (w *work) broken() string {
	closed := map[*goal]bool{}
	for i := range w.members {
		before, after := w.start.renders[i], w.current(i)
		if before.err != nil || after.err != nil || before.result == after.result {
			continue
		}
		met, moves := w.compare(i, before, after, w.engine)
		for _, g := range met {
			closed[g] = true
		}
		for _, m := range moves {
			if !w.mayMove(m) {
				return "together with the edits of other changes it would also move " + m.String()
			}
		}
	}
	for _, g := range w.goals {
		if g.placed && !closed[g] {
			return "it would undo the edit for " + g.wish.Declared.ID.String() + " " + g.change.Path.String()
		}
	}
	return ""
}
