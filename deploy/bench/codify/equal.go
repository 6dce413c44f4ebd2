package main

import (
	"maps"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// difference is a place at which two contents do not mean the same.
type difference struct {
	path gitops.Path
	// order says that a list has the same entries in another order.
	order bool
}

// differences compares two contents of an object. An empty mapping or list equals none only where the API server
// says so of the field, and a default equals absence.
func differences(schemas *typed.Schemas, a, b map[string]any) []difference {
	t, ok := schemas.Lookup(textOf(a["apiVersion"]), textOf(a["kind"]))
	if !ok {
		t = schemas.Untyped()
	}
	var out []difference
	pair{t, nil, nil}.differ(a, b, nil, &out)
	return out
}

// pair is a place in two contents: its type, and the mappings around it in each, which defaults depend on.
type pair struct {
	of               *typed.Type
	aroundA, aroundB []map[string]any
}

func (p pair) at(t *typed.Type) pair {
	if t == nil {
		t = typed.Anything()
	}
	p.of = t
	return p
}

func (p pair) differ(a, b any, at gitops.Path, out *[]difference) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			p.aroundA, p.aroundB = append(slices.Clip(p.aroundA), x), append(slices.Clip(p.aroundB), y)
			p.differMaps(x, y, at, out)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			p.differLists(x, y, at, out)
			return
		}
	}
	if !typed.Equal(p.of, a, b) {
		*out = append(*out, difference{path: at})
	}
}

func (p pair) differMaps(a, b map[string]any, at gitops.Path, out *[]difference) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		x, inA := a[key]
		y, inB := b[key]
		path, field := at.Child(gitops.Field(key)), p.of.Field(key)
		switch {
		case inA && inB:
			p.at(p.of.Child(key)).differ(x, y, path, out)
		case inA && !absent(field, p.aroundA, x), inB && !absent(field, p.aroundB, y):
			*out = append(*out, difference{path: path})
		}
	}
}

// absent says whether the API server stores the same for a value as for none.
func absent(f *typed.Field, around []map[string]any, v any) bool {
	if typed.Absent(f, v) {
		return true
	}
	if f == nil {
		return false
	}
	standard, ok := f.Default(around)
	return ok && typed.Equal(f.Type, standard, v)
}

func (p pair) differLists(a, b []any, at gitops.Path, out *[]difference) {
	if len(a) != len(b) {
		*out = append(*out, difference{path: at})
		return
	}
	var inside []difference
	for i := range a {
		p.at(p.of.Elem).differ(a[i], b[i], at.Child(gitops.Index(i)), &inside)
	}
	if slices.ContainsFunc(inside, func(d difference) bool { return !d.order }) && !p.of.Ordered && p.permuted(a, b) {
		inside = []difference{{path: at, order: true}}
	}
	*out = append(*out, inside...)
}

// permuted says whether two lists whose order may not matter have the same entries.
func (p pair) permuted(a, b []any) bool {
	if p.of.List == typed.AtomicList && !p.of.Unordered {
		return false
	}
	left := slices.Clone(b)
	for _, x := range a {
		i := slices.IndexFunc(left, func(y any) bool {
			var found []difference
			p.at(p.of.Elem).differ(x, y, nil, &found)
			return len(found) == 0
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}
