package splice

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"holdfast/gitops"
)

// contents gives the value of every document.
func (f *file) contents() []any {
	out := make([]any, len(f.docs))
	for i, d := range f.docs {
		if d != nil {
			out[i] = d.content()
		}
	}
	return out
}

// content gives the node's value with aliases and merge keys resolved.
func (n *node) content() any { return contentOf(n.y, 0) }

func contentOf(y *yaml.Node, depth int) any {
	if depth > maxDepth {
		return nil
	}
	switch y.Kind {
	case yaml.AliasNode:
		return contentOf(y.Alias, depth+1)
	case yaml.MappingNode:
		m := make(map[string]any, len(y.Content)/2)
		for i := 0; i+1 < len(y.Content); i += 2 {
			if isMerge(y.Content[i]) {
				mergeInto(m, y.Content[i+1], depth+1)
			}
		}
		for i := 0; i+1 < len(y.Content); i += 2 {
			if !isMerge(y.Content[i]) {
				m[y.Content[i].Value] = contentOf(y.Content[i+1], depth+1)
			}
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(y.Content))
		for i, c := range y.Content {
			list[i] = contentOf(c, depth+1)
		}
		return list
	default:
		return scalarOf(y)
	}
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag == "!!merge" }

// mergeInto adds what a merge key brings; of several sources the first wins.
func mergeInto(m map[string]any, source *yaml.Node, depth int) {
	if source.Kind == yaml.AliasNode {
		source = source.Alias
	}
	sources := []*yaml.Node{source}
	if source.Kind == yaml.SequenceNode {
		sources = source.Content
	}
	for _, s := range sources {
		if from, ok := contentOf(s, depth+1).(map[string]any); ok {
			for k, v := range from {
				if _, there := m[k]; !there {
					m[k] = v
				}
			}
		}
	}
}

// scalarOf gives the JSON value of a scalar node. What YAML knows and JSON does not (timestamps, binary,
// infinities) is kept as text with its tag, so that it still compares.
func scalarOf(y *yaml.Node) any {
	switch y.ShortTag() {
	case "!!str":
		return y.Value
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if y.Decode(&b) == nil {
			return b
		}
	case "!!int":
		var i int64
		if y.Decode(&i) == nil {
			return i
		}
		var u uint64
		if y.Decode(&u) == nil {
			return float64(u)
		}
	case "!!float":
		var v float64
		if y.Decode(&v) == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
			return number(v)
		}
	}
	return other{y.ShortTag(), y.Value}
}

// other is a scalar that JSON has no value for.
type other struct{ tag, text string }

// normal brings the number types that decoders give to int64 and float64, and whole floats to int64.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = normal(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normal(e)
		}
		return out
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case float32:
		return number(float64(v))
	case float64:
		return number(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		fl, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return number(fl)
	default:
		return v
	}
}

func number(v float64) any {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return int64(v)
	}
	return v
}

// equal compares normalised values.
func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// withValue gives the documents with value at path of one of them; parents are created.
func withValue(docs []any, doc int, path gitops.Path, value any) []any {
	out := slices.Clone(docs)
	out[doc] = put(docs[doc], path, value)
	return out
}

func put(at any, path gitops.Path, value any) any {
	if len(path) == 0 {
		return value
	}
	step := path[0]
	if step.IsField() {
		m, _ := at.(map[string]any)
		m = maps.Clone(m)
		if m == nil {
			m = map[string]any{}
		}
		m[step.Field] = put(m[step.Field], path[1:], value)
		return m
	}
	list, _ := at.([]any)
	list = slices.Clone(list)
	if step.Index >= len(list) {
		return append(list, put(nil, path[1:], value))
	}
	list[step.Index] = put(list[step.Index], path[1:], value)
	return list
}

// withoutValue gives the documents with the value at path of one of them taken away.
func withoutValue(docs []any, doc int, path gitops.Path) []any {
	parent, last := path[:len(path)-1], path[len(path)-1]
	at := gitops.Lookup(docs[doc], parent).V
	if last.IsField() {
		m, _ := at.(map[string]any)
		m = maps.Clone(m)
		delete(m, last.Field)
		return withValue(docs, doc, parent, m)
	}
	list, _ := at.([]any)
	if last.Index < len(list) {
		list = slices.Delete(slices.Clone(list), last.Index, last.Index+1)
	}
	return withValue(docs, doc, parent, list)
}

// plainPath turns entry steps into indexes. A step that leads to nothing yet stays a field, or becomes the
// index after the last.
func (f *file) plainPath(doc int, path gitops.Path) (gitops.Path, error) {
	if doc < 0 || doc >= len(f.docs) {
		return nil, fmt.Errorf("document %d: %w: the file has %d", doc, ErrNotFound, len(f.docs))
	}
	var at any
	if f.docs[doc] != nil {
		at = f.docs[doc].content()
	}
	plain := make(gitops.Path, 0, len(path))
	for _, step := range path {
		if step.IsField() {
			m, _ := at.(map[string]any)
			at = m[step.Field]
			plain = append(plain, step)
			continue
		}
		list, _ := at.([]any)
		i := step.Index
		if step.IsEntry() {
			found, err := findEntry(list, step.Keys)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if i = found; i < 0 {
				i = len(list)
			}
		}
		if i > len(list) {
			return nil, fmt.Errorf("%s: %w: index %d of %d entries", path, ErrNotFound, i, len(list))
		}
		at = nil
		if i < len(list) {
			at = list[i]
		}
		plain = append(plain, gitops.Index(i))
	}
	return plain, nil
}

// Lookup finds the value at path in a document's content, picking list entries by the keys that they
// carry there: a key that an entry leaves out (a default, such as a port's protocol) matches when the choice
// is unique.
func Lookup(content any, path gitops.Path) gitops.Value {
	at := content
	for _, step := range path {
		if step.IsField() {
			m, ok := at.(map[string]any)
			if !ok {
				return gitops.Value{}
			}
			if at, ok = m[step.Field]; !ok {
				return gitops.Value{}
			}
			continue
		}
		list, _ := at.([]any)
		i := step.Index
		if step.IsEntry() {
			var err error
			if i, err = findEntry(list, step.Keys); err != nil {
				return gitops.Value{}
			}
		}
		if i < 0 || i >= len(list) {
			return gitops.Value{}
		}
		at = list[i]
	}
	return gitops.Present(at)
}

// Find gives the index of the list entry that carries keys, -1 when there is none or the choice is not
// unique.
func Find(list []any, keys []gitops.Key) int {
	i, err := findEntry(list, keys)
	if err != nil {
		return -1
	}
	return i
}

// Normal brings the number types that decoders give to int64 and float64, and whole floats to int64, so
// that values from different decoders compare.
func Normal(v any) any { return normal(v) }

// findEntry picks the entry that carries keys, or else the only one that carries some of them and
// contradicts none; -1 when there is none.
func findEntry(list []any, keys []gitops.Key) (int, error) {
	if i := gitops.FindEntry(list, keys); i >= 0 {
		return i, nil
	}
	found := -1
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		agree := 0
		for _, k := range keys {
			v, there := m[k.Name]
			if there && text(v) != k.Value {
				agree = -len(keys)
			}
			if there {
				agree++
			}
		}
		if agree <= 0 {
			continue
		}
		if found >= 0 {
			return -1, fmt.Errorf("%w: more than one entry could be meant", ErrUnsupported)
		}
		found = i
	}
	return found, nil
}

func text(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
