package splice

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"holdfast/gitops"
)

// spot is where a path led: the node, and the first alias or merge key that was passed on the way.
type spot struct {
	node *node
	// via is that alias (or the value of the merge key); nil when the node stands where the path says.
	via *node
	// into is the mapping that the merge key stands in; nil for an alias.
	into *node
	// depth is how many steps of the path lead to via, or to into.
	depth int
}

// find follows a path of fields and indexes. via tells that the node is reached through an anchor.
func (f *file) find(doc int, path gitops.Path) (n, via *node, err error) {
	s, err := f.spot(doc, path)
	return s.node, s.via, err
}

func (f *file) spot(doc int, path gitops.Path) (spot, error) {
	s := spot{node: f.docs[doc]}
	if s.node == nil {
		return s, fmt.Errorf("%w: document %d is empty", ErrNotFound, doc)
	}
	for i, step := range path {
		if s.node.kind == alias {
			if s.via == nil {
				s.via, s.depth = s.node, i
			}
			if s.node = f.anchors[s.node.y.Alias]; s.node == nil {
				return s, fmt.Errorf("%w: an alias before its anchor", ErrUnsupported)
			}
		}
		next, err := f.child(&s, step, i)
		if err != nil {
			return s, err
		}
		if next == nil {
			return s, fmt.Errorf("%w: %s", ErrNotFound, path[:i+1])
		}
		s.node = next
	}
	return s, nil
}

func (f *file) child(s *spot, step gitops.Step, depth int) (*node, error) {
	at := s.node
	if step.IsIndex() {
		if at.kind != sequence || step.Index >= len(at.items) {
			return nil, nil
		}
		return at.items[step.Index], nil
	}
	if at.kind != mapping {
		return nil, nil
	}
	i, err := f.pairOf(at, step.Field)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		return at.pairs[i].value, nil
	}
	for _, p := range at.pairs {
		if !isMerge(p.key.y) {
			continue
		}
		sources := []*node{p.value}
		if p.value.kind == sequence {
			sources = p.value.items
		}
		for _, source := range sources {
			from := source
			if from.kind == alias {
				from = f.anchors[from.y.Alias]
			}
			if from == nil {
				continue
			}
			inner := spot{node: from}
			found, err := f.child(&inner, step, depth)
			if err != nil || found == nil {
				continue
			}
			if s.via == nil {
				s.via, s.into, s.depth = p.value, at, depth
			}
			return found, nil
		}
	}
	return nil, nil
}

// pairOf gives the index of the pair with this key, -1 without one; a repeated key is refused.
func (f *file) pairOf(m *node, key string) (int, error) {
	found := -1
	for i, p := range m.pairs {
		if p.key.kind != scalar || p.key.y.Value != key || isMerge(p.key.y) {
			continue
		}
		if found >= 0 {
			return -1, fmt.Errorf("%w: key %q stands twice, at lines %d and %d", ErrUnsupported, key,
				f.lineOf(m.pairs[found].key.first), f.lineOf(p.key.first))
		}
		found = i
	}
	return found, nil
}

// towards gives the changes of one step that brings the value at path nearer to value; none when it is
// there.
func (f *file) towards(doc int, path gitops.Path, value any) ([]change, error) {
	s, err := f.spot(doc, path)
	if err != nil {
		if f.docs[doc] == nil || !isNotFound(err) {
			return nil, err
		}
		return f.create(doc, path, value)
	}
	if equal(s.node.content(), value) {
		return nil, nil
	}
	if s.via != nil {
		return f.detach(s, path, value)
	}
	return f.replace(s.node, value)
}

// create adds what path leads to, under the deepest parent that exists.
func (f *file) create(doc int, path gitops.Path, value any) ([]change, error) {
	for i := len(path) - 1; i >= 0; i-- {
		s, err := f.spot(doc, path[:i])
		if err != nil {
			if isNotFound(err) {
				continue
			}
			return nil, err
		}
		if s.via != nil {
			return f.detach(s, path[:i], put(s.node.content(), path[i:], value))
		}
		return f.createUnder(s.node, path[i:], value)
	}
	return nil, fmt.Errorf("%w: %s", ErrNotFound, path)
}

func (f *file) createUnder(parent *node, path gitops.Path, value any) ([]change, error) {
	step := path[0]
	switch {
	case parent.kind == mapping && step.IsField():
		return f.addPair(parent, step.Field, put(nil, path[1:], value))
	case parent.kind == sequence && step.IsIndex():
		return f.insertItem(parent, step.Index, put(nil, path[1:], value))
	case parent.kind == alias || parent.kind == scalar && parent.content() == nil:
		return f.replaceWhole(parent, put(parent.content(), path, value), "")
	}
	return nil, fmt.Errorf("%w: line %d holds another kind of value than the path needs", ErrUnsupported, f.lineOf(parent.first))
}

// detach writes the value out at the place where the path leaves the document's own nodes: in place of an
// alias, or as a key that overrides a merged one. What the anchor is for others stays.
func (f *file) detach(s spot, path gitops.Path, value any) ([]change, error) {
	if s.into != nil {
		key := path[s.depth]
		whole := gitops.Lookup(s.into.content(), gitops.Path{key}).V
		return f.addPair(s.into, key.Field, put(whole, path[s.depth+1:], value))
	}
	return f.replaceWhole(s.via, put(s.via.content(), path[s.depth:], value), "")
}

// replace brings node n one step nearer to value.
func (f *file) replace(n *node, value any) ([]change, error) {
	switch v := value.(type) {
	case map[string]any:
		if n.kind == mapping && len(n.pairs) > 0 && len(v) > 0 {
			return f.replaceMapping(n, v)
		}
	case []any:
		if n.kind == sequence && len(n.items) > 0 && len(v) > 0 {
			return f.replaceSequence(n, v)
		}
	}
	if _, isMap := value.(map[string]any); !isMap && n.kind == scalar {
		if _, isList := value.([]any); !isList {
			return f.replaceScalar(n, value)
		}
	}
	return f.replaceWhole(n, value, "")
}

func (f *file) replaceMapping(n *node, value map[string]any) ([]change, error) {
	have, _ := n.content().(map[string]any)
	for i, p := range n.pairs {
		if isMerge(p.key.y) {
			continue
		}
		key := p.key.y.Value
		if _, err := f.pairOf(n, key); err != nil {
			return nil, err
		}
		want, wanted := value[key]
		if !wanted {
			return f.removePair(n, i)
		}
		if !equal(have[key], want) {
			if p.value.kind == alias {
				return f.replaceWhole(p.value, want, "")
			}
			return f.replace(p.value, want)
		}
	}
	for key := range have {
		if _, wanted := value[key]; !wanted {
			return nil, fmt.Errorf("%w: key %q comes from a merge key at line %d", ErrShared, key, f.lineOf(n.first))
		}
	}
	for _, key := range sortedKeys(value) {
		if had, there := have[key]; !there || !equal(had, value[key]) {
			return f.addPair(n, key, value[key])
		}
	}
	return nil, nil
}

// replaceSequence aligns the entries: equal ones at both ends stay, of the rest those with the same name
// (or, in equal number, the same place) are brought nearer, others are added or removed.
func (f *file) replaceSequence(n *node, value []any) ([]change, error) {
	have, _ := n.content().([]any)
	from := 0
	for from < len(have) && from < len(value) && equal(have[from], value[from]) {
		from++
	}
	toHave, toWant := len(have), len(value)
	for toHave > from && toWant > from && equal(have[toHave-1], value[toWant-1]) {
		toHave--
		toWant--
	}
	switch {
	case from == toHave && from == toWant:
		return nil, nil
	case from == toHave:
		return f.insertItem(n, from, value[from])
	case from == toWant:
		return f.removeItem(n, from)
	}
	if haveName, wantName := name(have[from]), name(value[from]); haveName != wantName || haveName == "" {
		among := func(list []any, v any) bool {
			return slices.ContainsFunc(list, func(e any) bool { return name(v) != "" && name(e) == name(v) || equal(e, v) })
		}
		named := haveName != "" && wantName != ""
		switch {
		case len(have) > 1 && !among(value[from:toWant], have[from]) && (named || toHave-from > toWant-from):
			return f.removeItem(n, from)
		case !among(have[from:toHave], value[from]) && (named || toWant-from > toHave-from):
			return f.insertItem(n, from, value[from])
		}
	}
	if n.items[from].kind == alias {
		return f.replaceWhole(n.items[from], value[from], "")
	}
	return f.replace(n.items[from], value[from])
}

func name(v any) string {
	m, _ := v.(map[string]any)
	s, _ := m["name"].(string)
	return s
}

// writerFor gives a writer that follows the surroundings of n.
func (f *file) writerFor(n *node) writer {
	w := writer{style: f.style(n), json: f.json, noBlocks: f.endsWithout(n)}
	for p := n; p != nil; p = p.parent {
		if p.kind == mapping && p.flow && !p.bare && len(p.pairs) > 0 {
			w.spaced = f.data[p.start+1] == ' '
			return w
		}
	}
	w.spaced = bytes.Contains(f.data, []byte(": { ")) || bytes.Contains(f.data, []byte("- { "))
	return w
}

// endsWithout says whether n reaches the end of a text that lacks the final line break.
func (f *file) endsWithout(n *node) bool {
	return n.end == len(f.data) && !bytes.HasSuffix(f.data, []byte("\n"))
}

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }
