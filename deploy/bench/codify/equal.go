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
// says so of the field.
func differences(schemas *typed.Schemas, a, b map[string]any) []difference {
	t, ok := schemas.Lookup(textOf(a["apiVersion"]), textOf(a["kind"]))
	if !ok {
		t = schemas.Untyped()
	}
	var out []difference
	differ(t, a, b, nil, &out)
	return out
}

func differ(t *typed.Type, a, b any, at gitops.Path, out *[]difference) {
	if t == nil {
		t = typed.Anything()
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			differMaps(t, x, y, at, out)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			differLists(t, x, y, at, out)
			return
		}
	}
	if !typed.Equal(t, a, b) {
		*out = append(*out, difference{path: at})
	}
}

func differMaps(t *typed.Type, a, b map[string]any, at gitops.Path, out *[]difference) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		x, inA := a[key]
		y, inB := b[key]
		path := at.Child(gitops.Field(key))
		switch {
		case inA && inB:
			differ(t.Child(key), x, y, path, out)
		case inA && !typed.Absent(t.Field(key), x), inB && !typed.Absent(t.Field(key), y):
			*out = append(*out, difference{path: path})
		}
	}
}

func differLists(t *typed.Type, a, b []any, at gitops.Path, out *[]difference) {
	if len(a) != len(b) {
		*out = append(*out, difference{path: at})
		return
	}
	var inside []difference
	for i := range a {
		differ(t.Elem, a[i], b[i], at.Child(gitops.Index(i)), &inside)
	}
	if slices.ContainsFunc(inside, func(d difference) bool { return !d.order }) && typed.Equal(t, a, b) {
		inside = []difference{{path: at, order: true}}
	}
	*out = append(*out, inside...)
}
