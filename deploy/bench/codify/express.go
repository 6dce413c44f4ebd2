package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"sigs.k8s.io/yaml"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast/gitops"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

// express tells which fields some value of a chart can set: a field counts where another value at one place of the
// values moves it and nothing else. It renders in this process, since it only says what a refusal is worth and judges
// nothing.
type express struct {
	schemas *typed.Schemas

	mutex sync.Mutex
	// known are what other values move, by Application and place.
	known map[string]moved
}

// moved is what other values at a place, or at all places below it, move.
type moved struct {
	fields []movedField
	// failed says that the chart does not take such values, so that nothing is known.
	failed bool
}

type movedField struct {
	object gitops.ObjectID
	path   gitops.Path
	added  bool
}

// target is a field of which is asked who moves it.
type target struct {
	*express
	ctx     context.Context
	tree    gitops.Tree
	app     gitops.Application
	before  *render.Result
	values  map[string]any
	object  gitops.ObjectID
	changes []gitops.FieldChange
}

// can gives the value that moves the changed field of an object alone, empty where there is none; along is one that
// moves it along with others. Whole sections of the values are tried first, and those that move the field part by part.
func (x *express) can(ctx context.Context, tree gitops.Tree, app gitops.Application, id gitops.ObjectID, changes []gitops.FieldChange) (alone, along string) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.known == nil {
		x.known = map[string]moved{}
	}
	before, err := render.Application(ctx, tree, app, render.Env{})
	if err != nil {
		return "", ""
	}
	t := target{x, ctx, tree, app, before, valuesOf(tree, app), id, changes}
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		one, more := t.below(gitops.Path{gitops.Field(key)})
		along = cmp.Or(along, more)
		if one != "" {
			return one, one
		}
	}
	return "", along
}

// below looks at a place of the values and all places in it.
func (t target) below(at gitops.Path) (alone, along string) {
	v := gitops.Lookup(t.values, at).V
	for _, next := range others(v) {
		m := t.move(at.String()+" alone", at, next)
		if m.failed || len(m.fields) == 0 {
			continue
		}
		if len(m.fields) == 1 && m.fields[0].object == t.object && slices.ContainsFunc(t.changes, m.fields[0].is) {
			return at.String(), at.String()
		}
		if t.hit(m) {
			along = at.String()
		}
		break
	}
	if v == nil || mapOf(v) == nil && listOf(v) == nil || t.ctx.Err() != nil {
		return "", along
	}
	if all := t.move(at.String()+" and below", at, varied(v)); !all.failed && !t.hit(all) {
		return "", along
	}
	for _, step := range steps(v) {
		one, more := t.below(at.Child(step))
		along = cmp.Or(along, more)
		if one != "" {
			return one, one
		}
	}
	return "", along
}

func steps(v any) []gitops.Step {
	var out []gitops.Step
	for _, key := range slices.Sorted(maps.Keys(mapOf(v))) {
		out = append(out, gitops.Field(key))
	}
	for i := range listOf(v) {
		out = append(out, gitops.Index(i))
	}
	return out
}

// varied gives a copy of v with other values everywhere.
func varied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = varied(e)
		}
		if len(v) == 0 {
			out["other"] = "value"
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = varied(e)
		}
		return out
	}
	if next := others(v); len(next) > 0 {
		return next[0]
	}
	return v
}

// hit says whether the field is among what moved.
func (t target) hit(m moved) bool {
	return slices.ContainsFunc(m.fields, func(f movedField) bool {
		return f.object == t.object && slices.ContainsFunc(t.changes, func(c gitops.FieldChange) bool { return meets(f, c) })
	})
}

// is says whether f is the changed place itself, or one in it; for an entry that comes to a list or goes, that the list
// grows or shrinks; for something else added, that another one comes beside it. That the object as a whole comes or
// goes, or what holds the field, is another change.
func (f movedField) is(c gitops.FieldChange) bool {
	if len(f.path) == 0 || len(c.Path) == 0 {
		return false
	}
	last := c.Path[len(c.Path)-1]
	switch {
	case f.path.HasPrefix(c.Path):
		return true
	case c.Before.Set == c.After.Set:
		return false
	case !last.IsField():
		return f.path.Equal(c.Path[:len(c.Path)-1])
	}
	return f.added && !c.Before.Set && len(f.path) == len(c.Path) && f.path[:len(f.path)-1].Equal(c.Path[:len(c.Path)-1])
}

// meets says whether what moves f may lead to a value that brings about c.
func meets(f movedField, c gitops.FieldChange) bool {
	if f.path.HasPrefix(c.Path) || c.Path.HasPrefix(f.path) {
		return true
	}
	return !c.Before.Set && f.added && len(f.path) == len(c.Path) && f.path[:len(f.path)-1].Equal(c.Path[:len(c.Path)-1])
}

// move renders with another value at a place, once for each kind of trial.
func (t target) move(trial string, at gitops.Path, next any) moved {
	key := fmt.Sprintf("%s %s %s %s %v", t.app.ID(), t.app.Source.Path, t.app.Render.File, trial, next)
	if known, ok := t.known[key]; ok {
		return known
	}
	helm := *t.app.Render.Helm
	over, _ := put(t.values, at, next).(map[string]any)
	helm.Values = append(slices.Clone(helm.Values), gitops.Values{Inline: map[string]any{at[0].Field: over[at[0].Field]}})
	changed := t.app
	changed.Render.Helm = &helm
	out := moved{failed: true}
	if after, err := render.Application(t.ctx, t.tree, changed, render.Env{}); err == nil {
		out = moved{fields: t.fields(t.before, after)}
	}
	if t.ctx.Err() == nil {
		t.known[key] = out
	}
	return out
}

// fields lists what differs between two renders.
func (x *express) fields(before, after *render.Result) []movedField {
	now := map[gitops.ObjectID]map[string]any{}
	for _, d := range after.Objects {
		now[d.ID] = d.Content
	}
	var out []movedField
	for _, d := range before.Objects {
		content, there := now[d.ID]
		delete(now, d.ID)
		if !there {
			out = append(out, movedField{object: d.ID})
			continue
		}
		for _, diff := range differences(x.schemas, d.Content, content) {
			was, is := gitops.Lookup(d.Content, diff.path), gitops.Lookup(content, diff.path)
			added := !was.Set
			if a, b := listOf(was.V), listOf(is.V); len(b) > len(a) {
				added = true
			}
			out = append(out, movedField{d.ID, diff.path, added})
		}
	}
	for id := range now {
		out = append(out, movedField{object: id, added: true})
	}
	return out
}

// valuesOf merges the chart's values and the Application's, roughly: only which places there are matters.
func valuesOf(tree gitops.Tree, app gitops.Application) map[string]any {
	values := map[string]any{}
	add := func(data []byte) {
		var more map[string]any
		asJSON, err := yaml.YAMLToJSON(data)
		if err == nil && utiljson.Unmarshal(asJSON, &more) == nil {
			values = merged(values, more)
		}
	}
	data, _ := tree.Read(path.Join(app.Source.Path, "values.yaml"))
	add(data)
	for _, v := range app.Render.Helm.Values {
		switch {
		case v.File != "":
			data, _ := tree.Read(v.File)
			add(data)
		case v.Text != "":
			add([]byte(v.Text))
		case v.Inline != nil:
			values = merged(values, v.Inline)
		}
	}
	return values
}

func merged(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		x, y := mapOf(out[k]), mapOf(v)
		if x != nil && y != nil {
			v = merged(x, y)
		}
		out[k] = v
	}
	return out
}

// others gives other values of the same kind, and for what is empty those that templates may expect.
func others(v any) []any {
	switch v := v.(type) {
	case bool:
		return []any{!v}
	case int64:
		return []any{v + 1}
	case float64:
		return []any{v + 1}
	case string:
		if v == "" {
			return []any{"other", map[string]any{"other": "value"}, []any{"other"}}
		}
		return []any{v + "x", "1h", "2"}
	case nil:
		return []any{"other", int64(2), true, map[string]any{"other": "value"}, []any{"other"}, []any{map[string]any{"name": "other"}}}
	case map[string]any:
		more := maps.Clone(v)
		more["other"] = "value"
		return []any{more}
	case []any:
		out := []any{}
		if len(v) > 0 {
			out = append(out, append(slices.Clone(v), v[len(v)-1]))
		}
		return append(out, append(slices.Clone(v), "other"), append(slices.Clone(v), map[string]any{"name": "other"}))
	}
	return nil
}

// put gives a copy of v with another value at path.
func put(v any, at gitops.Path, next any) any {
	if len(at) == 0 {
		return next
	}
	if list, ok := v.([]any); ok {
		list = slices.Clone(list)
		list[at[0].Index] = put(list[at[0].Index], at[1:], next)
		return list
	}
	m := maps.Clone(mapOf(v))
	m[at[0].Field] = put(m[at[0].Field], at[1:], next)
	return m
}
