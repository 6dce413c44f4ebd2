package codify

import (
	"context"
	"slices"

	"holdfast/gitops"
)

// pile is a tree with unproven edits on top of each other, and what the members would declare if each of them
// does what it is meant to.
type pile struct {
	work    *work
	tree    gitops.Tree
	changed bool
	objects map[int][]gitops.Declared
	apps    map[int]gitops.Application
}

func (w *work) newPile() *pile {
	return &pile{work: w, tree: w.now.tree, objects: map[int][]gitops.Declared{}, apps: map[int]gitops.Application{}}
}

// add puts a candidate for a goal on top.
func (p *pile) add(g *goal, c Candidate) {
	w, at := p.work, g.member
	if len(c.Edits) > 0 {
		p.tree, p.changed = p.tree.With(c.Edits), true
		p.apps[at] = w.decoded(p.tree, c.files())(w.members[at], p.app(at))
	}
	if p.objects[at] == nil {
		p.objects[at] = slices.Clone(w.now.renders[at].result.Objects)
	}
	i := slices.IndexFunc(p.objects[at], func(d gitops.Declared) bool { return d.ID == g.wish.Declared.ID })
	switch {
	case i < 0:
	case g.remove:
		p.objects[at] = slices.Delete(p.objects[at], i, i+1)
	default:
		d := p.objects[at][i]
		content := without(d.Content, g.change.Path)
		if g.change.After.Set {
			content = with(d.Content, g.change.Path, g.change.After.V)
		}
		if m, ok := content.(map[string]any); ok {
			d.Content = m
			p.objects[at][i] = d
		}
	}
}

func (p *pile) app(member int) gitops.Application {
	if app, ok := p.apps[member]; ok {
		return app
	}
	return p.work.now.renders[member].app
}

// guesses are an attempt's candidates on top of the pile.
func (p *pile) guesses(ctx context.Context, a *attempt) []Candidate {
	if !p.changed {
		return a.guesses
	}
	s := a.site
	var ignored []string
	s.tree, s.app, s.refusals = p.tree, p.app(a.goal.member), &ignored
	s.layers, s.flux = layersIf(s.tree, s.app), nil
	if l, ok := fluxLayer(s.tree, s.app); ok {
		s.flux = &l
	}
	if objects := p.objects[a.goal.member]; objects != nil {
		s.objects = objects
		if i := slices.IndexFunc(objects, func(d gitops.Declared) bool { return d.ID == s.declared.ID }); i >= 0 {
			s.declared = objects[i]
		}
	}
	return guesses(ctx, s)
}
