package codify

import (
	"maps"
	"reflect"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// differences lists the paths at which two contents differ, each as deep as both have the place.
func differences(a, b any, at gitops.Path) []gitops.Path {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return []gitops.Path{at}
		}
		var out []gitops.Path
		for _, k := range slices.Sorted(maps.Keys(both(x, y))) {
			v, inX := x[k]
			u, inY := y[k]
			if inX != inY {
				out = append(out, at.Child(gitops.Field(k)))
				continue
			}
			out = append(out, differences(v, u, at.Child(gitops.Field(k)))...)
		}
		return out
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return []gitops.Path{at}
		}
		var out []gitops.Path
		for i := range x {
			out = append(out, differences(x[i], y[i], at.Child(gitops.Index(i)))...)
		}
		return out
	}
	if reflect.DeepEqual(splice.Normal(a), splice.Normal(b)) {
		return nil
	}
	return []gitops.Path{at}
}

func both(x, y map[string]any) map[string]any {
	out := maps.Clone(x)
	maps.Copy(out, y)
	return out
}

// transplant gives to with the value at path that from has, a list entry at the same index, or without it
// where from has none. What differs then between the two is what moved beside path.
func transplant(to, from any, path gitops.Path) any {
	if len(path) == 0 {
		return from
	}
	step, rest := path[0], path[1:]
	if step.IsField() {
		source, _ := from.(map[string]any)
		value, there := source[step.Field]
		m, isMap := to.(map[string]any)
		if !isMap && to != nil || source == nil {
			return to
		}
		m = maps.Clone(m)
		if m == nil {
			m = map[string]any{}
		}
		if !there {
			if left := without(m[step.Field], rest); len(rest) > 0 && !hollow(left) {
				m[step.Field] = left
			} else {
				delete(m, step.Field)
			}
			return m
		}
		old, had := m[step.Field]
		if !had && len(rest) > 0 {
			old = empty(value)
		}
		m[step.Field] = transplant(old, value, rest)
		return m
	}
	source, isList := from.([]any)
	list, _ := to.([]any)
	if !isList {
		return to
	}
	i, j := index(source, step), index(list, step)
	list = slices.Clone(list)
	switch {
	case i < 0 && j < 0:
		return to
	case i < 0 && len(rest) == 0:
		return slices.Delete(list, j, j+1)
	case i < 0:
		return to
	case j < 0 && len(rest) == 0:
		return slices.Insert(list, min(i, len(list)), source[i])
	case j < 0:
		return to
	}
	list[j] = transplant(list[j], source[i], rest)
	return list
}

// without gives v with the value at path taken away.
func without(v any, path gitops.Path) any {
	if len(path) == 0 {
		return nil
	}
	if m, ok := v.(map[string]any); ok && path[0].IsField() {
		m = maps.Clone(m)
		if len(path) == 1 {
			delete(m, path[0].Field)
		} else if inner, ok := m[path[0].Field]; ok {
			m[path[0].Field] = without(inner, path[1:])
		}
		return m
	}
	list, _ := v.([]any)
	i := index(list, path[0])
	if path[0].IsField() || i < 0 {
		return v
	}
	list = slices.Clone(list)
	if len(path) == 1 {
		return slices.Delete(list, i, i+1)
	}
	list[i] = without(list[i], path[1:])
	return list
}

// hollow says whether v holds nothing but empty mappings and lists.
func hollow(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, e := range v {
			if !hollow(e) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// empty gives an empty value of v's kind.
func empty(v any) any {
	switch v.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	}
	return nil
}

// index finds the list entry that a step means, -1 without one.
func index(list []any, step gitops.Step) int {
	if step.IsEntry() {
		return splice.Find(list, step.Keys)
	}
	if step.Index < len(list) {
		return step.Index
	}
	return -1
}
