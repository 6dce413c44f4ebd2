package codify

import (
	"context"
	"maps"
	"slices"

	"holdfast/gitops"
)

// judgement is what one render of every member gave for the trials of a round.
type judgement struct {
	after    state
	unproven map[int]string
	engine   []engineEdit
	// closed are goals that the round's tree meets, of the trials and others.
	closed []*goal
	// verdicts and doubtful are one a trial.
	verdicts []verdict
	doubtful []bool
}

// judgeTrials renders every member that reads what the trials change, and tells their doings apart. clear is
// false where that cannot be done: a render failed, or something moved that nobody wished.
func (w *work) judgeTrials(ctx context.Context, trials []trial, tree gitops.Tree) (j judgement, clear bool) {
	var files []string
	for _, t := range trials {
		files = append(files, t.candidate.files()...)
		j.engine = append(j.engine, t.candidate.engine...)
	}
	j.after = state{tree: tree, renders: slices.Clone(w.now.renders)}
	j.unproven = map[int]string{}
	closed, moves := map[int][]*goal{}, make([][]move, len(trials))
	apps := w.decoded(tree, files)
	readers := w.readers(trials[0].goal.member, files)
	stopped := false
	for n, i := range readers {
		if n > 0 && tooMany(len(readers)-n) && !w.asked(trials, i, j.closed, moves) {
			stopped = true
			continue
		}
		if !w.reads(ctx, i, files) {
			continue
		}
		m, before := w.members[i], w.now.renders[i]
		if before.err != nil {
			j.unproven[i] = before.err.Error()
			continue
		}
		after := w.render(ctx, tree, m, apps(m, before.app))
		if after.err != nil || len(after.result.Problems) > len(before.result.Problems) {
			return j, false
		}
		j.after.renders[i] = after
		var moved []move
		closed[i], moved = w.compare(i, before, after, j.engine)
		j.closed = append(j.closed, closed[i]...)
		for _, mv := range moved {
			to, sure := w.blamed(trials, i, mv)
			if to == nil {
				return j, false
			}
			for _, n := range to {
				moves[n] = append(moves[n], mv)
				trials[n].alone = trials[n].alone || !sure
			}
		}
	}
	for n, t := range trials {
		v := w.verdictOf(t, j, closed, moves[n], stopped)
		j.verdicts = append(j.verdicts, v)
		j.doubtful = append(j.doubtful, !slices.Contains(v.closed, t.goal) && (len(t.candidate.Edits) == 0 || disturbed(t, trials)))
	}
	return j, true
}

// blamed gives the trials whose goal is the moved field, or else the undecided ones that edit the object, or else
// the only undecided one that edits a file which the member reads. sure is false where it may be another one's
// doing. None: it cannot be told.
func (w *work) blamed(trials []trial, member int, mv move) (out []int, sure bool) {
	var near, suspects []int
	for n, t := range trials {
		switch id := t.goal.wish.Declared.ID; {
		case t.goal.concerns(mv):
			out = append(out, n)
		case t.decided || len(t.candidate.Edits) == 0 || !w.may(w.members[member], w.now.renders[member], t.candidate.files()):
		case id.GroupKind() == mv.id.GroupKind() && id.Name == mv.id.Name:
			near = append(near, n)
		default:
			suspects = append(suspects, n)
		}
	}
	switch {
	case len(out) > 0:
		return out, true
	case len(near) > 0:
		return near, len(near)+len(suspects) == 1
	case len(suspects) == 1:
		return suspects, true
	}
	return nil, false
}

// asked says whether a member's render may still tell something: it may read what a trial edits that is not refused
// yet. While an undecided one is refused, this is not the last round, and what is decided is not asked about either.
func (w *work) asked(trials []trial, member int, closed []*goal, moves [][]move) bool {
	last, open := true, false
	for n, t := range trials {
		unwished, _ := w.unwished(moves[n])
		refused := len(unwished) > 0 || t.alone || !slices.Contains(closed, t.goal)
		switch {
		case !t.decided && refused:
			last = false
		case !t.decided:
			open = open || w.mayReach(member, t.candidate.files())
		}
	}
	return last || open
}

// verdictOf is the verdict on one trial, as if it had been alone.
func (w *work) verdictOf(t trial, j judgement, closed map[int][]*goal, moves []move, stopped bool) verdict {
	files := t.candidate.files()
	v := verdict{after: j.after, stopped: stopped, unproven: maps.Clone(j.unproven)}
	maps.DeleteFunc(v.unproven, func(i int, _ string) bool { return !w.may(w.members[i], w.now.renders[i], files) })
	if slices.Contains(j.closed, t.goal) {
		v.closed = []*goal{t.goal}
	}
	for i, m := range w.members {
		before := w.now.renders[i]
		if len(files) == 0 || len(t.candidate.engine) > 0 || !w.may(m, before, files) || w.deploys(m, t.goal.wish.App) {
			continue
		}
		v.others++
		if before.err == nil && !slices.ContainsFunc(closed[i], t.goal.like) {
			v.readers++
		}
	}
	return w.settle(t.goal, t.candidate, v, moves, files)
}

// disturbed says whether another trial is about the same object.
func disturbed(t trial, trials []trial) bool {
	return slices.ContainsFunc(trials, func(o trial) bool {
		return o.goal != t.goal && o.goal.wish.Declared.ID == t.goal.wish.Declared.ID
	})
}

// concerns says whether a move is of the goal's field, in an object of the same kind and name.
func (g *goal) concerns(m move) bool {
	id := g.wish.Declared.ID
	if id.GroupKind() != m.id.GroupKind() || id.Name != m.id.Name || g.remove != (m.what == isGone) || g.create != (m.what == isNew) {
		return false
	}
	return g.remove || g.create || gitops.Overlap(m.old, m.path, g.change.Path) || gitops.Overlap(m.now, m.path, g.change.Path)
}

// like says whether another goal is the same change in another Application.
func (g *goal) like(o *goal) bool {
	a, b := g.wish.Declared, o.wish.Declared
	named := a.ID.Name == b.ID.Name || a.Origin.File == b.Origin.File && a.Origin.Written.Name != "" && a.Origin.Written.Name == b.Origin.Written.Name
	return a.ID.GroupKind() == b.ID.GroupKind() && named && g.remove == o.remove && g.create == o.create && g.change.Path.Equal(o.change.Path)
}

// acceptTrials takes over what a round proved, where it also holds against the first tree.
func (w *work) acceptTrials(trials []trial, j judgement) bool {
	if slices.ContainsFunc(j.verdicts, func(v verdict) bool { return v.refused != "" }) {
		return false
	}
	earlier := w.checkpoint()
	for n, t := range trials {
		v, c := j.verdicts[n], t.candidate
		v.unproven = j.unproven
		if len(c.Edits) == 0 {
			c.What = source(trials[:n], t)
		}
		w.accept(t.goal, c, v)
	}
	for _, g := range j.closed {
		if !g.placed {
			what := trials[0].candidate.What
			if i := slices.IndexFunc(trials, func(t trial) bool { return t.goal.like(g) }); i >= 0 {
				what = trials[i].candidate.What
			}
			w.accept(g, Candidate{What: what}, verdict{after: j.after, closed: []*goal{g}})
		}
	}
	if w.broken() != "" {
		w.restore(earlier)
		return false
	}
	return true
}

// source gives the words for an edit that another trial brought: that of the same words, or else the last one
// before it in the same file.
func source(earlier []trial, t trial) string {
	what := t.candidate.What
	for _, g := range t.guesses {
		if g.name != t.candidate.name {
			continue
		}
		for _, o := range earlier {
			if slices.ContainsFunc(o.candidate.files(), func(f string) bool { return slices.Contains(g.files(), f) }) {
				what = o.candidate.What
			}
			if o.candidate.What == g.What {
				return g.What
			}
		}
	}
	return what
}
