package main

import (
	"maps"
	"slices"
)

// leaf is a scalar, or a small mapping of scalars, and the mapping that holds it.
type leaf struct {
	in  map[string]any
	key string
	// depth counts the keys and entries that lead to it.
	depth int
}

// leaves lists what may go from a mapping or change there: no names by which others know an entry.
func leaves(v any, depth int, out *[]leaf) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch e := v[key].(type) {
			case map[string]any:
				leaves(e, depth+1, out)
			case []any:
				leaves(e, depth+1, out)
			default:
				if !slices.Contains([]string{"name", "key", "kind", "apiVersion", "containerPort", "port", "mountPath", "type"}, key) {
					*out = append(*out, leaf{v, key, depth + 1})
				}
			}
		}
	case []any:
		for _, e := range v {
			leaves(e, depth+1, out)
		}
	}
}

func (m *mutation) customField() bool {
	if !m.custom {
		return false
	}
	var all []leaf
	leaves(m.content["spec"], 1, &all)
	at, ok := picked(m, all, func(l leaf) bool { return l.depth >= 3 && l.in[l.key] != nil })
	if !ok {
		return false
	}
	switch v := at.in[at.key].(type) {
	case bool:
		at.in[at.key] = !v
	case int64:
		at.in[at.key] = v + 1 + m.Int64N(9)
	case string:
		at.in[at.key] = m.another(v)
	default:
		return false
	}
	return true
}

func (m *mutation) removedKey() bool {
	var all []leaf
	for _, top := range slices.Sorted(maps.Keys(m.content)) {
		switch {
		case top == "metadata":
			for _, key := range []string{"labels", "annotations"} {
				leaves(mapOf(m.content[top])[key], 2, &all)
			}
		case top != "apiVersion" && top != "kind" && top != "status":
			leaves(m.content[top], 1, &all)
		}
	}
	at, ok := pick(m, all)
	if !ok {
		return false
	}
	delete(at.in, at.key)
	return true
}
