package codify

import (
	"context"
	"fmt"
	"math/bits"
	"strings"

	"holdfast/gitops"
)

// idle gives the decided trials whose goals other edits meet without theirs: a value that a replacement or a
// variable overwrites with the same one is met only as long as somebody edits its source, and is no place to
// edit. Each pair of trials is told apart by leaving out one half of them after the other, each half by a bit
// of the trial's number: that takes two renders for each doubling of the trials.
func (w *work) idle(ctx context.Context, trials []trial) []trial {
	var suspects []trial
	for _, t := range trials {
		if len(t.candidate.Edits) > 0 && sharesValue(t, trials) {
			suspects = append(suspects, t)
		}
	}
	found := map[*attempt]bool{}
	for bit := range bits.Len(uint(max(len(suspects)-1, 0))) {
		for _, kept := range []int{0, 1} {
			left := map[*attempt]bool{}
			for n, t := range suspects {
				left[t.attempt] = n>>bit&1 != kept
			}
			w.metWithout(ctx, trials, left, found)
		}
	}
	var out []trial
	for _, t := range suspects {
		if found[t.attempt] {
			out = append(out, t)
		}
	}
	return out
}

// metWithout renders without the edits of some attempts, and notes which of their goals are met all the same.
func (w *work) metWithout(ctx context.Context, trials []trial, left, found map[*attempt]bool) {
	p := w.newPile()
	members := map[int]rendered{}
	for _, t := range trials {
		if left[t.attempt] {
			members[t.goal.member] = rendered{}
			continue
		}
		if len(t.candidate.Edits) == 0 {
			continue // it went with the edit of another, which may be left out
		}
		if c, ok := t.pick(p.guesses(ctx, t.attempt)); ok {
			p.add(t.goal, c)
		}
	}
	for i := range members {
		members[i] = w.render(ctx, p.tree, w.members[i], p.app(i))
	}
	for a := range left {
		r := members[a.goal.member]
		if !left[a] || r.err != nil {
			continue
		}
		d, there := r.find(a.goal.wish.Declared.ID)
		found[a] = found[a] || (there && !a.goal.remove && w.met(a.goal, d)) || (!there && a.goal.remove)
	}
}

// sharesValue says whether another trial's edit may write what this goal wishes.
func sharesValue(t trial, trials []trial) bool {
	own := written(t.goal.change.After)
	for _, o := range trials {
		if other := written(o.goal.change.After); o.goal != t.goal && (strings.Contains(own, other) || strings.Contains(other, own)) {
			return true
		}
	}
	return false
}

func written(v gitops.Value) string {
	if !v.Set {
		return ""
	}
	return fmt.Sprint(v.V)
}

// revoke takes a decision back, for which the trial's edit turned out to be idle.
func (a *attempt) revoke() {
	a.misses = append(a.misses, miss{*a.best, "the render does not take the live value from there", 0})
	a.best, a.decided, a.doubtful = nil, false, true
}
