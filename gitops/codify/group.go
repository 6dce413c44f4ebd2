package codify

import (
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// whole is a change, or several changes of one list taken together.
type whole struct {
	gitops.FieldChange
	stands []gitops.Path
}

// grouped gives the changes of a wish. Entries that come or go by position shift those behind them, so all
// changes of such a list become one change of the list.
func grouped(w *Wish) []whole {
	shifting := map[string]bool{}
	for _, c := range w.Changes {
		if list, ok := positional(c.Path); ok && len(list)+1 == len(c.Path) && c.After.Set != c.Before.Set {
			shifting[list.String()] = true
		}
	}
	var out []whole
	at := map[string]int{}
	for _, c := range w.Changes {
		list, ok := positional(c.Path)
		if !ok || !shifting[list.String()] {
			out = append(out, whole{FieldChange: c})
			continue
		}
		if _, begun := at[list.String()]; !begun {
			at[list.String()] = len(out)
			out = append(out, whole{FieldChange: listChange(w, list)})
		}
		i := at[list.String()]
		out[i].stands = append(out[i].stands, c.Path)
	}
	return out
}

// positional gives the path of the first list that p steps into by position.
func positional(p gitops.Path) (gitops.Path, bool) {
	i := slices.IndexFunc(p, gitops.Step.IsIndex)
	if i < 0 {
		return nil, false
	}
	return p[:i], true
}

// listChange makes all changes of a wish below a list, those that take entries away last and backwards.
func listChange(w *Wish, list gitops.Path) gitops.FieldChange {
	before := splice.Lookup(w.Declared.Content, list)
	var changes, gone []gitops.FieldChange
	for _, c := range w.Changes {
		switch {
		case !c.Path.HasPrefix(list) || len(c.Path) == len(list):
		case c.After.Set || len(c.Path) > len(list)+1:
			changes = append(changes, c)
		default:
			gone = append(gone, c)
		}
	}
	byPosition := func(a, b gitops.FieldChange) int { return a.Path[len(list)].Index - b.Path[len(list)].Index }
	slices.SortStableFunc(changes, byPosition)
	slices.SortStableFunc(gone, byPosition)
	slices.Reverse(gone)
	value := before.V
	for _, c := range changes {
		if c.After.Set {
			value = with(value, c.Path[len(list):], c.After.V)
		} else {
			value = without(value, c.Path[len(list):])
		}
	}
	for _, c := range gone {
		value = without(value, c.Path[len(list):])
	}
	return gitops.FieldChange{Path: list, Before: before, After: gitops.Present(value)}
}

// outcomes gives the outcome of each change that the goal stands for.
func (g *goal) outcomes() []Outcome {
	if g.stands == nil {
		return []Outcome{g.outcome}
	}
	var out []Outcome
	for _, p := range g.stands {
		o := g.outcome
		o.Path = p
		out = append(out, o)
	}
	return out
}
