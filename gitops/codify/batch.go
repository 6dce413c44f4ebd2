package codify

import (
	"context"
	"fmt"
	"slices"

	"holdfast/gitops"
)

// attempt is one goal of a batch: what is known of its candidates so far.
type attempt struct {
	goal *goal
	// site and guesses are of the tree that the batch started with.
	site     site
	guesses  []Candidate
	refusals []string
	// tried are the candidates with a verdict, by name; misses those of them that were refused.
	tried  map[string]bool
	misses []miss
	best   *Candidate
	of     verdict
	// decided says that best is what the goal gets. hopeless says that no candidate is left.
	decided, hopeless bool
	// doubtful says that a refusal may have been another edit's fault: the goal is tried again alone.
	doubtful bool
	// alone says that what the goal's edits do cannot be told from what others do.
	alone bool
}

// trial is a candidate of an attempt, made on top of those of the attempts before it. It has no edits where
// they bring about the change already.
type trial struct {
	*attempt
	candidate Candidate
}

// together places many goals with few renders. In each round every goal that is still open tries its next
// candidate, all on one tree, and one render of each member judges them all: what moves is told apart by the
// fields that were wished. What is chosen is proven once more together. Where that does not tell, the goals
// are halved, down to single ones, which stay open for place.
func (w *work) together(ctx context.Context, goals []*goal) error {
	goals = slices.DeleteFunc(slices.Clone(goals), func(g *goal) bool { return g.settled })
	if len(goals) < 2 {
		return nil
	}
	attempts := w.attempts(ctx, goals)
	clear, err := w.rounds(ctx, attempts)
	if err != nil || clear {
		return err
	}
	if err := w.together(ctx, goals[:len(goals)/2]); err != nil {
		return err
	}
	return w.together(ctx, goals[len(goals)/2:])
}

// attempts begins one attempt for each goal that can be worked on. The others stay open: place says why.
func (w *work) attempts(ctx context.Context, goals []*goal) []*attempt {
	var out []*attempt
	for _, g := range goals {
		s, reason := w.site(g)
		if reason != "" {
			continue
		}
		a := &attempt{goal: g, site: s, tried: map[string]bool{}}
		s.refusals = &a.refusals
		a.guesses = guesses(ctx, s)
		out = append(out, a)
	}
	return out
}

// rounds tries candidates until every attempt is decided or hopeless, and takes over what is proven. clear is
// false, and nothing is taken over, where the renders do not tell whose edit did what.
func (w *work) rounds(ctx context.Context, attempts []*attempt) (clear bool, err error) {
	for {
		trials, tree := w.next(ctx, attempts)
		if len(trials) == 0 {
			break
		}
		j, clear := w.judgeTrials(ctx, trials, tree)
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("codify: %w", err)
		}
		if !clear {
			return false, nil
		}
		for i, t := range trials {
			if t.alone {
				t.best, t.decided, t.hopeless, t.doubtful = nil, false, true, true
			} else if !t.decided {
				t.learn(j.verdicts[i], j.doubtful[i])
			}
		}
		if slices.ContainsFunc(trials, func(t trial) bool { return !t.decided || t.alone }) {
			continue
		}
		idle := w.idle(ctx, trials)
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("codify: %w", err)
		}
		if len(idle) > 0 {
			for _, t := range idle {
				t.revoke()
			}
			continue
		}
		if !w.acceptTrials(trials, j) {
			return false, nil
		}
		break
	}
	for _, a := range attempts {
		if !a.decided && !a.doubtful {
			a.goal.settled = true
			a.goal.outcome.Reason, a.goal.outcome.NearestMiss = a.site.nowhere(ctx, a.misses, a.refusals)
		}
	}
	return true, nil
}

// learn takes a verdict on the attempt's candidate.
func (t trial) learn(v verdict, doubtful bool) {
	a, c := t.attempt, t.candidate
	a.tried[c.name] = true
	switch {
	case v.refused != "":
		a.doubtful = a.doubtful || doubtful
		a.misses = append(a.misses, miss{c, v.refused, v.reach})
	case v.perfect():
		a.best, a.of, a.decided = &c, v, true
	case a.best == nil || v.better(a.of):
		a.best, a.of = &c, v
	}
}

// next makes one tree of a candidate of each attempt, in order. Attempts without any left are decided for the
// best that was found, or hopeless.
func (w *work) next(ctx context.Context, attempts []*attempt) ([]trial, gitops.Tree) {
	p := w.newPile()
	var trials []trial
	for _, a := range attempts {
		for !a.hopeless {
			c, ok := a.pick(p.guesses(ctx, a))
			if !ok {
				a.decided, a.hopeless = a.best != nil, a.best == nil
				continue
			}
			if reason, no := w.untouchable(c); no {
				a.tried[c.name] = true
				a.misses = append(a.misses, miss{c, reason, 0})
				continue
			}
			p.add(a.goal, c)
			trials = append(trials, trial{a, c})
			break
		}
	}
	return trials, p.tree
}

// pick gives the chosen candidate of a decided attempt, and the next one of another: the first untried, unless
// the edits of other attempts made a better one possible. One that was possible and is no more is there already.
func (a *attempt) pick(now []Candidate) (Candidate, bool) {
	named := func(in []Candidate, name string) int {
		return slices.IndexFunc(in, func(c Candidate) bool { return c.name == name })
	}
	there := func(c Candidate) Candidate {
		c.Edits, c.engine = nil, nil
		return c
	}
	if a.decided {
		if i := named(now, a.best.name); i >= 0 {
			return now[i], true
		}
		return there(*a.best), true
	}
	if len(a.tried) >= maxTried {
		return Candidate{}, false
	}
	var c Candidate
	wanted := slices.IndexFunc(a.guesses, func(c Candidate) bool { return !a.tried[c.name] })
	i := slices.IndexFunc(now, func(c Candidate) bool {
		return !a.tried[c.name] && (named(a.guesses, c.name) < 0 || c.name == a.guesses[wanted].name)
	})
	switch {
	case i >= 0:
		c = now[i]
	case wanted >= 0:
		c = there(a.guesses[wanted])
	default:
		return Candidate{}, false
	}
	return c, a.best == nil || !c.enough(a.of)
}
