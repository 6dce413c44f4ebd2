package render

import (
	"cmp"
	"maps"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// variedIn finds what differs between two renders of a chart whose inputs are all known, by the types of the kinds.
func variedIn(schemas *typed.Schemas) finder {
	return func(a, b map[string]any, report func(gitops.Path)) {
		apiVersion, _ := a["apiVersion"].(string)
		kind, _ := a["kind"].(string)
		t, ok := schemas.Lookup(apiVersion, kind)
		if !ok {
			t = schemas.Untyped()
		}
		varied(t, a, b, nil, report)
	}
}

// varied reports the innermost paths at which two values differ: a key or an entry that only one of them has is one
// alone, and what stands beside it is not. It is the mapping or list as a whole where its keys or entries may
// themselves be made anew, so that live may hold others than these two.
func varied(t *typed.Type, a, b any, at gitops.Path, report func(gitops.Path)) {
	one, isMap := a.(map[string]any)
	other, alsoMap := b.(map[string]any)
	if (isMap || a == nil) && (alsoMap || b == nil) && (isMap || alsoMap) {
		variedMapping(t, one, other, at, report)
		return
	}
	first, isList := a.([]any)
	second, alsoList := b.([]any)
	if (isList || a == nil) && (alsoList || b == nil) && (isList || alsoList) {
		variedList(t, first, second, at, report)
		return
	}
	if isMap || isList || !sameScalar(a, b) {
		report(at)
	}
}

func variedMapping(t *typed.Type, a, b map[string]any, at gitops.Path, report func(gitops.Path)) {
	lacks := func(of, in map[string]any) bool {
		for key := range of {
			if _, there := in[key]; !there {
				return true
			}
		}
		return false
	}
	less, more := lacks(a, b), lacks(b, a)
	// The fields of a structure have the names that its type gives. Keys of any other mapping may be random where each
	// side has its own, and come from somewhere else where one side has none.
	fixed := t.Kind == typed.Struct && !t.Open
	switch {
	case len(a) == 0 && len(b) == 0 && (a == nil) != (b == nil):
		report(at)
		return
	case !fixed && (less && more || (less || more) && (len(a) == 0 || len(b) == 0)):
		report(at)
		return
	}
	keys := maps.Clone(b)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, a)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		one, inOne := a[key]
		other, inOther := b[key]
		below := at.Child(gitops.Field(key))
		child := cmp.Or(t.Child(key), typed.Anything())
		if inOne != inOther && !inParts(child, one, other) {
			report(below)
			continue
		}
		varied(child, one, other, below, report)
	}
}

// inParts says whether a value that one side alone has is looked at part by part: a comparison does so with what live
// alone has, so a part that no render has is told from the others.
func inParts(t *typed.Type, a, b any) bool {
	for _, v := range []any{a, b} {
		switch v := v.(type) {
		case map[string]any:
			return len(v) > 0 && t.Kind == typed.Struct && !t.Open && !t.Atomic
		case []any:
			return len(v) > 0 && t.List == typed.KeyedList
		}
	}
	return false
}

func variedList(t *typed.Type, a, b []any, at gitops.Path, report func(gitops.Path)) {
	elem := cmp.Or(t.Elem, typed.Anything())
	keys := t.EntryKeys(a, b)
	inA, okA := t.Places(keys, a)
	inB, okB := t.Places(keys, b)
	if len(keys) == 0 || !okA || !okB {
		if len(a) != len(b) || (a == nil) != (b == nil) {
			report(at)
			return
		}
		for i := range a {
			varied(elem, a[i], b[i], at.Child(gitops.Index(i)), report)
		}
		return
	}
	inBoth := func(of, in []string) []string {
		return slices.DeleteFunc(slices.Clone(of), func(place string) bool { return !slices.Contains(in, place) })
	}
	common := inBoth(inA, inB)
	// With entries of its own on each side their keys may be random, and an order may hang on chance.
	if len(common) < len(a) && len(common) < len(b) || !t.Unordered && !slices.Equal(common, inBoth(inB, inA)) {
		report(at)
		return
	}
	type part struct {
		path gitops.Path
		i, j int
	}
	var found []part
	for i, entry := range a {
		step := typed.EntryStep(keys, entry)
		if gitops.FindEntry(a, step.Keys) != i {
			step = gitops.Index(i) // fewer keys than it takes to tell it from another
		}
		found = append(found, part{at.Child(step), i, slices.Index(inB, inA[i])})
	}
	for j, entry := range b {
		if slices.Contains(inA, inB[j]) {
			continue
		}
		step := typed.EntryStep(keys, entry)
		if gitops.FindEntry(a, step.Keys) >= 0 {
			report(at)
			return
		}
		found = append(found, part{at.Child(step), -1, j})
	}
	for _, p := range found {
		if p.i < 0 || p.j < 0 {
			report(p.path)
			continue
		}
		varied(elem, a[p.i], b[p.j], p.path, report)
	}
}
