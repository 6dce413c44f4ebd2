package codify

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
	"holdfast/gitops/render"
)

// finds remembers what was found out about charts in one call: which edits of values bring a goal's change
// about, and what moved when a value was tried.
type finds struct {
	known  map[string]*find
	probes map[string]*probe
}

func newFinds() *finds { return &finds{known: map[string]*find{}, probes: map[string]*probe{}} }

// find is what is known about one goal: edits that work, best first, or why there is none.
type find struct {
	edits     [][]valueEdit
	what, why string
}

// probe is what a chart makes with some values laid over its own: the objects that are others then, nil for
// those that are gone.
type probe struct {
	moved map[gitops.ObjectID]map[string]any
	fresh bool // there are objects that were not there before
	err   error
}

// Bounds of one search. A render takes milliseconds for a common chart.
const (
	maxNodes  = 150 // values that are tried
	maxProbes = 400 // renders
	maxFound  = 4   // edits that work, of which the proof chooses

	searchLimit = 15 * time.Second // for one goal
)

// of looks for edits that bring the goal's change about, once for each goal.
func (f *finds) of(ctx context.Context, s site, r *chartRelease) *find {
	key := fmt.Sprintf("%s %s %s %t", s.app.ID(), s.declared.ID, s.change.Path, s.remove)
	if found := f.known[key]; found != nil {
		return found
	}
	p := &prober{site: s, release: r, finds: f, left: maxProbes, tried: map[string]bool{}}
	limited, cancel := context.WithTimeout(ctx, searchLimit)
	defer cancel()
	found := p.search(limited)
	if limited.Err() != nil && len(found.edits) == 0 {
		found.what, found.why = "not all values of the chart were tried", fmt.Sprintf("the chart takes too long to render: %s passed", searchLimit)
	}
	if ctx.Err() == nil {
		f.known[key] = found
	}
	return found
}

// prober searches for one goal.
type prober struct {
	site
	release *chartRelease
	finds   *finds
	base    string
	objects map[gitops.ObjectID]map[string]any
	left    int
	tried   map[string]bool
	// moves names a value that moves the field, though to nothing that is wished; secret an object that a value
	// feeds which would have done.
	moves, secret string
	// movers are the values that show in the field's text, gates those that make it another one without showing.
	movers, gates []valueEdit
	out           []found
}

// found are edits that work together, and how much else they move.
type found struct {
	edits  []valueEdit
	beside int
}

func (p *prober) search(ctx context.Context) *find {
	result, err := p.run(ctx, nil, false)
	if err != nil {
		return &find{what: "the chart is not rendered by itself", why: err.Error()}
	}
	p.objects = map[gitops.ObjectID]map[string]any{}
	for _, d := range result.Objects {
		p.objects[d.ID] = d.Content
	}
	data, err := json.Marshal(p.release.all)
	if err != nil {
		return &find{what: "the chart's values are not read", why: err.Error()}
	}
	p.base = fmt.Sprintf("%x", sha256.Sum256(data))
	for _, n := range p.nodes() {
		if p.left <= 0 || len(p.out) >= maxFound || ctx.Err() != nil {
			break
		}
		p.try(ctx, n)
		if slices.ContainsFunc(p.out, func(f found) bool { return f.beside == 0 }) {
			break
		}
	}
	if len(p.out) == 0 {
		p.jointly(ctx)
	}
	slices.SortStableFunc(p.out, func(a, b found) int { return a.beside - b.beside })
	out := &find{}
	for _, f := range p.out {
		out.edits = append(out.edits, f.edits)
	}
	switch {
	case len(out.edits) > 0:
	case p.secret != "":
		out.what, out.why = "the value that moves this field is not written", p.secret
	case p.moves != "":
		out.what, out.why = "no value of the chart gives what is wanted", p.moves+" moves this field, to something else"
	default:
		out.what, out.why = "no value of the chart moves this field", p.fixed(p.release)
	}
	return out
}

// try changes one value in the ways that suit it, and follows those that move the field.
func (p *prober) try(ctx context.Context, n node) {
	for _, m := range p.markers(n) {
		with := p.probe(ctx, overlay(p.release.all, n.at, m.value), false)
		if with.err != nil || !p.movesField(with, m.kind) {
			continue
		}
		before := len(p.out)
		for _, e := range p.invert(n, m, with.moved[p.declared.ID]) {
			p.confirm(ctx, e)
		}
		p.remember(n, m, with.moved[p.declared.ID])
		if len(p.out) > before {
			return
		}
		content := with.moved[p.declared.ID]
		if now := splice.Lookup(content, p.change.Path); now.Set && !reflect.DeepEqual(now, splice.Lookup(p.objects[p.declared.ID], p.change.Path)) {
			p.moves = n.at.String()
		}
	}
}

// movesField says whether a probe changed the goal's field, or something around or below it; with one more entry,
// something beside it.
func (p *prober) movesField(with *probe, kind markerKind) bool {
	content, moved := with.moved[p.declared.ID]
	if p.remove || !moved || content == nil {
		return p.remove && moved && content == nil
	}
	at := placed(p.objects[p.declared.ID], p.change.Path)
	if kind == asPair || kind == asItem || kind == asRecord {
		for len(at) > 1 && (len(at) == len(p.change.Path) || !gitops.Lookup(p.objects[p.declared.ID], at).Set) {
			at = at[:len(at)-1]
		}
	}
	return slices.ContainsFunc(differences(p.objects[p.declared.ID], content, nil), func(d gitops.Path) bool {
		return d.HasPrefix(at) || at.HasPrefix(d)
	})
}

// confirm renders with an edit, and keeps it when the goal is met. What goes away is taken from the Application's
// values, and when that does not do, from the chart's too.
func (p *prober) confirm(ctx context.Context, edits ...valueEdit) {
	values := overlays(p.release.all, edits)
	key, _ := json.Marshal(values)
	if p.tried[string(key)] || !slices.ContainsFunc(edits, func(e valueEdit) bool {
		return !reflect.DeepEqual(e.next(p.release.all), gitops.Lookup(p.release.all, e.at))
	}) {
		return
	}
	p.tried[string(key)] = true
	given := p.release.values.Merged
	if e := edits[0]; len(edits) == 1 && !e.next(p.release.all).Set && gitops.Lookup(given, e.at).Set {
		rest, _ := without(given, e.at).(map[string]any)
		if p.keep(edits, p.probe(ctx, rest, true)) {
			return
		}
	}
	p.keep(edits, p.probe(ctx, values, false))
}

// keep notes an edit when what it renders meets the goal.
func (p *prober) keep(edits []valueEdit, with *probe) bool {
	content, moved := with.moved[p.declared.ID]
	if with.err != nil || !moved || (content == nil) != p.remove {
		return false
	}
	beside := 0
	if !p.remove {
		d := p.declared
		d.Content = content
		if !p.met(d) {
			return false
		}
		beside = len(differences(transplant(p.objects[p.declared.ID], content, p.change.Path), content, nil))
	}
	for id, content := range with.moved {
		if id == p.declared.ID {
			continue
		}
		beside++
		if id.Group == "" && id.Kind == "Secret" && content != nil {
			p.secret = fmt.Sprintf("%s feeds %s too, and what goes into a Secret is never written to Git", edits[0].at, id)
			return false
		}
	}
	if with.fresh {
		beside++
	}
	p.out = append(p.out, found{edits, beside})
	return true
}

// probe renders the chart with values over all others, or alone in place of the Application's, and tells what that
// moves.
func (p *prober) probe(ctx context.Context, values map[string]any, alone bool) *probe {
	text, err := json.Marshal(values)
	if err != nil {
		return &probe{err: err}
	}
	key := fmt.Sprintf("%s %d %s %t %s", p.app.ID(), p.release.part, p.base, alone, text)
	if known := p.finds.probes[key]; known != nil {
		return known
	}
	p.left--
	result, err := p.run(ctx, values, alone)
	out := &probe{err: err, moved: map[gitops.ObjectID]map[string]any{}}
	if err == nil {
		seen := map[gitops.ObjectID]bool{}
		for _, d := range result.Objects {
			seen[d.ID] = true
			old, there := p.objects[d.ID]
			out.fresh = out.fresh || !there
			if there && !reflect.DeepEqual(old, d.Content) {
				out.moved[d.ID] = d.Content
			}
		}
		for id := range p.objects {
			if !seen[id] {
				out.moved[id] = nil
			}
		}
	}
	if ctx.Err() == nil {
		p.finds.probes[key] = out
	}
	return out
}

// run renders the goal's chart alone.
func (p *prober) run(ctx context.Context, values map[string]any, alone bool) (*render.Result, error) {
	app, helm := p.app, *p.release.how.Helm
	app.Source.Path, app.Parts, app.Render = p.release.path, nil, p.release.how
	if alone {
		helm.Values = nil
	}
	if values != nil {
		helm.Values = append(slices.Clip(helm.Values), gitops.Values{Inline: values})
	}
	app.Render.Helm = &helm
	return p.render(ctx, p.tree, app)
}

// placed gives a path with the positions of list entries in content, as far as they are there.
func placed(content any, path gitops.Path) gitops.Path {
	var out gitops.Path
	for _, step := range path {
		if step.IsField() {
			out = out.Child(step)
			continue
		}
		list, _ := gitops.Lookup(content, out).V.([]any)
		i := index(list, step)
		if i < 0 {
			return out
		}
		out = out.Child(gitops.Index(i))
	}
	return out
}

// shown prints a scalar as templates do; ok is false for what is none.
func shown(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, int64, float64:
		return strings.TrimSpace(fmt.Sprint(v)), true
	}
	return "", false
}
