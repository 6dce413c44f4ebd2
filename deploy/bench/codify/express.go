package main

import (
	"context"
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
// values moves it, and nothing else that is no entry of its kind. It renders in this process, since it only says what a
// refusal is worth and judges nothing.
type express struct {
	schemas *typed.Schemas

	mutex sync.Mutex
	moves map[string][]moved
}

// moved is what another value at one place of the values moves.
type moved struct {
	value string
	// fields are what it moves.
	fields []movedField
}

type movedField struct {
	object gitops.ObjectID
	path   gitops.Path
	added  bool
}

// can gives the value that moves the changed field of an object alone; empty where there is none. Along is one that
// moves it along with others.
func (x *express) can(ctx context.Context, tree gitops.Tree, app gitops.Application, id gitops.ObjectID, changes []gitops.FieldChange) (alone, along string) {
	for _, m := range x.of(ctx, tree, app) {
		hit := slices.ContainsFunc(m.fields, func(f movedField) bool {
			return f.object == id && slices.ContainsFunc(changes, func(c gitops.FieldChange) bool { return meets(f, c) })
		})
		switch {
		case !hit:
		case len(m.fields) == 1:
			return m.value, m.value
		default:
			along = m.value
		}
	}
	return "", along
}

// meets says whether a value that moves f may bring about c: it moves that very place, one that holds it, or one in it;
// for something added, also another entry beside it.
func meets(f movedField, c gitops.FieldChange) bool {
	if f.path.HasPrefix(c.Path) || c.Path.HasPrefix(f.path) {
		return true
	}
	return !c.Before.Set && f.added && len(f.path) == len(c.Path) && f.path[:len(f.path)-1].Equal(c.Path[:len(c.Path)-1])
}

// of gives what each value of an Application's chart moves, found once.
func (x *express) of(ctx context.Context, tree gitops.Tree, app gitops.Application) []moved {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	key := app.ID() + " " + app.Source.Path + " " + app.Render.File
	if known, ok := x.moves[key]; ok {
		return known
	}
	before, err := render.Application(ctx, tree, app, render.Env{})
	if err != nil {
		return nil
	}
	values := valuesOf(tree, app)
	var out []moved
	for _, at := range places(values, nil) {
		for _, next := range others(gitops.Lookup(values, at).V) {
			if ctx.Err() != nil {
				return out
			}
			helm := *app.Render.Helm
			over, _ := put(values, at, next).(map[string]any)
			helm.Values = append(slices.Clone(helm.Values), gitops.Values{Inline: map[string]any{at[0].Field: over[at[0].Field]}})
			changed := app
			changed.Render.Helm = &helm
			after, err := render.Application(ctx, tree, changed, render.Env{})
			if err != nil {
				continue
			}
			if fields := x.fields(before, after); len(fields) > 0 {
				out = append(out, moved{at.String(), fields})
				break
			}
		}
	}
	if x.moves == nil {
		x.moves = map[string][]moved{}
	}
	x.moves[key] = out
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

// places lists where values have another value to be tried: scalars, empty mappings and lists, and lists to which an
// entry may come.
func places(v any, at gitops.Path) []gitops.Path {
	var out []gitops.Path
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, places(v[key], at.Child(gitops.Field(key)))...)
		}
	case []any:
		for i := range v {
			out = append(out, places(v[i], at.Child(gitops.Index(i)))...)
		}
	}
	if len(at) > 0 {
		out = append(out, at)
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
