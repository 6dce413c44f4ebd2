package splice

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast/gitops"
)

// own takes the anchors that others use off the mappings and lists on the way to a path, and with leaf off its end
// too: the first alias gets the anchor and a copy of the value. Nothing reads otherwise then, and the place can be
// edited for itself. Where that cannot be written, the anchors stay, and the edit is refused.
func (f *file) own(doc int, path gitops.Path, leaf bool) *file {
	for n := f.sharedOn(doc, path, leaf); n != nil; n = f.sharedOn(doc, path, leaf) {
		changes := f.handOn(n)
		after, err := parse(apply(f.data, changes))
		if changes == nil || err != nil || !equal(any(after.contents()), any(f.contents())) {
			return f
		}
		f = after
	}
	return f
}

// sharedOn finds the outermost node on the way to a path whose anchor is used elsewhere.
func (f *file) sharedOn(doc int, path gitops.Path, leaf bool) *node {
	for i := range len(path) + 1 {
		s, err := f.spot(doc, path[:i])
		if err != nil || s.via != nil {
			return nil
		}
		if n := s.node; n.y.Anchor != "" && f.shared[n.y] > 0 && (n.kind != scalar || leaf && i == len(path)) {
			return n
		}
	}
	return nil
}

// handOn gives the anchor of n to its first alias, which gets a copy of the value; without another alias the copy
// needs no anchor.
func (f *file) handOn(n *node) []change {
	first := f.firstAlias(n.y)
	if first == nil || f.data[n.first] != '&' {
		return nil
	}
	mark := "&" + n.y.Anchor
	end := n.first + len(mark)
	for end < n.start && (f.data[end] == ' ' || f.data[end] == '\t') {
		end++
	}
	off := change{n.first, end, ""}
	if f.lineEnd(end) == end { // the value stands below
		off.start = len(strings.TrimRight(string(f.data[:n.first]), " "))
	}
	if f.shared[n.y] == 1 {
		mark = ""
	}
	if (n.flow || n.kind == scalar) && f.lineOf(n.start) == f.lineOf(n.end) && n.start < n.end {
		if n.kind == scalar && first.flow && quotesOf(n) == plain && n.y.Tag == "!!str" && needsQuotes(n.y.Value, true) {
			return nil
		}
		return []change{off, {first.first, first.end, strings.TrimLeft(mark+" "+string(f.data[n.start:n.end]), " ")}}
	}
	copied, err := f.replaceWhole(first, n.content(), mark)
	if err != nil {
		return nil
	}
	return append(copied, off)
}

// guard refuses edits below an anchor that an alias reads too.
func (f *file) guard(n *node) error {
	for p := n; p != nil; p = p.parent {
		if p.y.Anchor != "" && f.shared[p.y] > 0 {
			return fmt.Errorf("%w: anchor &%s at line %d is used elsewhere", ErrShared, p.y.Anchor, f.lineOf(p.first))
		}
	}
	return nil
}

// holdsSharedAnchor refuses to remove an anchor that is read elsewhere.
func (f *file) holdsSharedAnchor(n *node) error {
	if n.y.Anchor != "" && f.shared[n.y] > 0 {
		return fmt.Errorf("%w: anchor &%s at line %d is used elsewhere", ErrShared, n.y.Anchor, f.lineOf(n.first))
	}
	for _, item := range n.items {
		if err := f.holdsSharedAnchor(item); err != nil {
			return err
		}
	}
	for _, p := range n.pairs {
		if err := f.holdsSharedAnchor(p.value); err != nil {
			return err
		}
	}
	return nil
}

// moveAnchor gives n a value of its own: its anchor and old text move to the first alias, so that the
// other places read what they read before.
func (f *file) moveAnchor(n *node, value any) ([]change, error) {
	if n.y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || f.lineOf(n.start) != f.lineOf(n.end) || n.parent == nil {
		return nil, f.guard(n)
	}
	if err := f.guard(n.parent); err != nil {
		return nil, err
	}
	first := f.firstAlias(n.y)
	if first == nil {
		return nil, f.guard(n)
	}
	moved := string(f.data[n.first:n.end])
	if f.shared[n.y] == 1 {
		moved = string(f.data[n.start:n.end])
	}
	if first.flow && !n.flow && quotesOf(n) == plain && n.y.Tag == "!!str" && needsQuotes(n.y.Value, true) {
		return nil, f.guard(n)
	}
	return []change{{n.first, n.end, f.scalarText(n, value)}, {first.first, first.end, moved}}, nil
}

// firstAlias finds the first alias of an anchor in the order of the text.
func (f *file) firstAlias(anchor *yaml.Node) *node {
	for _, d := range f.docs {
		if d == nil {
			continue
		}
		if found := d.firstAlias(anchor); found != nil {
			return found
		}
	}
	return nil
}

func (n *node) firstAlias(anchor *yaml.Node) *node {
	if n.kind == alias && n.y.Alias == anchor {
		return n
	}
	for _, item := range n.items {
		if found := item.firstAlias(anchor); found != nil {
			return found
		}
	}
	for _, p := range n.pairs {
		if found := p.value.firstAlias(anchor); found != nil {
			return found
		}
	}
	return nil
}
