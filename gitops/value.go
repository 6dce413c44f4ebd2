package gitops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Value is a JSON value that may be absent. The zero Value is absent; a present null has Set true.
type Value struct {
	Set bool
	V   any
}

// Present gives a Value that is there.
func Present(v any) Value { return Value{Set: true, V: v} }

// IsZero says whether the value is absent, so that JSON output leaves its key out (omitzero).
func (v Value) IsZero() bool { return !v.Set }

// MarshalJSON prints the value alone. Whether < and & are escaped is left to the encoder around it.
func (v Value) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v.V)
	return out.Bytes(), err
}

// UnmarshalJSON reads a value that is present.
func (v *Value) UnmarshalJSON(data []byte) error {
	v.Set = true
	return json.Unmarshal(data, &v.V)
}

// FieldChange is one wanted change of a rendered object: at Path, from Before to After. After absent asks
// for removal, Before absent for an addition.
type FieldChange struct {
	Path          Path
	Before, After Value
}

// Lookup finds the value at path in an object's content. Entry steps match by the printed form of their
// keys; the first entry that matches wins.
func Lookup(content any, path Path) Value {
	at := content
	for _, step := range path {
		switch {
		case step.IsField():
			m, ok := at.(map[string]any)
			if !ok {
				return Value{}
			}
			if at, ok = m[step.Field]; !ok {
				return Value{}
			}
		default:
			list, ok := at.([]any)
			if !ok {
				return Value{}
			}
			i := step.Index
			if step.IsEntry() {
				i = FindEntry(list, step.Keys)
			}
			if i < 0 || i >= len(list) {
				return Value{}
			}
			at = list[i]
		}
	}
	return Present(at)
}

// FindEntry gives the index of the first mapping in list whose fields print as keys say, or -1. A list of
// scalars is searched by value with the single key "".
func FindEntry(list []any, keys []Key) int {
	for i, item := range list {
		if matches(item, keys) {
			return i
		}
	}
	return -1
}

func matches(item any, keys []Key) bool {
	m, ok := item.(map[string]any)
	for _, k := range keys {
		if k.Name == "" {
			return !ok && fmt.Sprint(item) == k.Value
		}
		v, there := m[k.Name]
		if !there || fmt.Sprint(v) != k.Value {
			return false
		}
	}
	return ok
}

// Number gives a JSON number as a float64; ok is false for any other value.
func Number(v any) (n float64, ok bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

// RewriteTexts gives v with each text replaced by what rewrite makes of it, and whether any is another one. rewrite is
// told the names of the fields that lead to the text, at and those below v, and must not keep them. v is not changed:
// what stays the same is shared with it.
func RewriteTexts(v any, at []string, rewrite func(text string, at []string) string) (any, bool) {
	return rewriteTexts(v, slices.Clip(at), rewrite)
}

func rewriteTexts(v any, at []string, rewrite func(string, []string) string) (any, bool) {
	switch v := v.(type) {
	case string:
		now := rewrite(v, at)
		return now, now != v
	case map[string]any:
		var out map[string]any
		for k, e := range v {
			now, changed := rewriteTexts(e, append(at, k), rewrite)
			if !changed {
				continue
			}
			if out == nil {
				out = maps.Clone(v)
			}
			out[k] = now
		}
		if out != nil {
			return out, true
		}
	case []any:
		var out []any
		for i, e := range v {
			now, changed := rewriteTexts(e, at, rewrite)
			if !changed {
				continue
			}
			if out == nil {
				out = slices.Clone(v)
			}
			out[i] = now
		}
		if out != nil {
			return out, true
		}
	}
	return v, false
}

// Clone copies a JSON value: mappings and lists are new, down to the leaves.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = Clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Clone(e)
		}
		return out
	}
	return v
}
