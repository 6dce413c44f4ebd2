package codify

import (
	"fmt"
	"reflect"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
	"holdfast/gitops/typed"
)

// meaning tells by type which values are the same and which the API server adds. Without schemas it
// compares literally.
type meaning struct{ schemas *typed.Schemas }

// of gives the type of an object; known is false for a kind without a schema.
func (m meaning) of(o gitops.Object) (t *typed.Type, known bool) {
	if m.schemas == nil {
		return typed.Anything(), false
	}
	if t, ok := m.schemas.Lookup(o.APIVersion, o.ID.Kind); ok {
		return t, true
	}
	return m.schemas.Untyped(), false
}

// mergeKeys gives the keys by which the entries of the list at path are known, nil where nothing is known.
func (m meaning) mergeKeys(o gitops.Object, path gitops.Path) []string {
	t, _ := m.of(o)
	if at, ok := t.At(path); ok {
		return at.Keys
	}
	return nil
}

// same says whether a and b mean the same at path of an object like o.
func (m meaning) same(o gitops.Object, path gitops.Path, a, b any) bool {
	a, b = splice.Normal(a), splice.Normal(b)
	if reflect.DeepEqual(a, b) {
		return true
	}
	if m.schemas == nil {
		return false
	}
	t, _ := m.of(o)
	at, ok := t.At(path)
	if !ok {
		return false
	}
	return typed.Equal(at, a, b)
}

// clean takes out of value, live at path, what the API server put there by itself: nobody writes that to a
// manifest.
func (m meaning) clean(o gitops.Object, path gitops.Path, value any, live gitops.Object) any {
	if m.schemas == nil {
		return value
	}
	t, _ := m.of(o)
	at, ok := t.At(path)
	if !ok {
		return value
	}
	around := []map[string]any{}
	root := live.Content
	if root == nil {
		root = o.Content
	}
	for i := range len(path) {
		if mapping, ok := splice.Lookup(root, path[:i]).V.(map[string]any); ok {
			around = append(around, mapping)
		}
	}
	return withoutDefaults(at, around, value)
}

// withoutDefaults gives value without the fields that read the same when they are absent.
func withoutDefaults(t *typed.Type, around []map[string]any, value any) any {
	switch v := value.(type) {
	case []any:
		if t.Elem == nil {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutDefaults(t.Elem, around, e)
		}
		return out
	case map[string]any:
		inner := append(slices.Clip(around), v)
		out := map[string]any{}
		for name, e := range v {
			f := t.Field(name)
			if f != nil && (f.ServerSet(inner) || byDefault(f, inner, e) || typed.Absent(f, e)) {
				continue
			}
			child := t.Child(name)
			if child == nil {
				child = typed.Anything()
			}
			kept := withoutDefaults(child, inner, e)
			if m, ok := kept.(map[string]any); ok && len(m) == 0 && f != nil && typed.Absent(f, kept) {
				continue
			}
			out[name] = kept
		}
		return out
	}
	return value
}

// byDefault says whether the field would have this value if nobody wrote it.
func byDefault(f *typed.Field, around []map[string]any, value any) bool {
	if value == nil {
		return true
	}
	standard, ok := f.Default(around)
	if !ok {
		return false
	}
	value, standard = splice.Normal(value), splice.Normal(standard)
	return typed.Equal(f.Type, withoutDefaults(f.Type, around, value), withoutDefaults(f.Type, around, standard))
}

func text(v any) string { return fmt.Sprint(v) }
