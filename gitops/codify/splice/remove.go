package splice

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast/gitops"
)

func (f *file) remove(doc int, path gitops.Path) ([]change, error) {
	s, err := f.spot(doc, path)
	if err != nil {
		return nil, err
	}
	if s.via != nil {
		if s.into == nil && s.depth < len(path) {
			parent := path[s.depth:]
			without := withoutValue([]any{s.via.content()}, 0, parent)
			return f.replaceWhole(s.via, without[0])
		}
		return nil, fmt.Errorf("%w: it comes from a merge key at line %d", ErrShared, f.lineOf(s.via.first))
	}
	parent := s.node.parent
	if parent == nil {
		return nil, fmt.Errorf("%w: the root of a document", ErrUnsupported)
	}
	last := path[len(path)-1]
	if parent.kind == sequence {
		return f.removeItem(parent, last.Index)
	}
	i, err := f.pairOf(parent, last.Field)
	if err != nil {
		return nil, err
	}
	return f.removePair(parent, i)
}

// removePair takes pair i out of mapping m.
func (f *file) removePair(m *node, i int) ([]change, error) {
	if err := f.guard(m); err != nil {
		return nil, err
	}
	if err := f.holdsSharedAnchor(m.pairs[i].value); err != nil {
		return nil, err
	}
	if m.bare {
		return nil, fmt.Errorf("%w: a pair without braces at line %d", ErrUnsupported, f.lineOf(m.first))
	}
	spans := make([][2]int, len(m.pairs))
	for j, p := range m.pairs {
		if p.explicit {
			return nil, fmt.Errorf("%w: explicit key at line %d", ErrUnsupported, f.lineOf(p.key.first))
		}
		spans[j] = [2]int{p.key.first, f.pairEnd(p)}
	}
	return f.removeSpan(m, spans, i, "{}")
}

// removeItem takes entry i out of list n.
func (f *file) removeItem(n *node, i int) ([]change, error) {
	if err := f.guard(n); err != nil {
		return nil, err
	}
	if err := f.holdsSharedAnchor(n.items[i]); err != nil {
		return nil, err
	}
	spans := make([][2]int, len(n.items))
	for j, item := range n.items {
		spans[j] = [2]int{item.first, f.itemEnd(n, j)}
		if !n.flow {
			spans[j][0] = n.dashes[j]
		}
	}
	return f.removeSpan(n, spans, i, "[]")
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

// removeSpan removes entry i of a collection whose entries take these spans.
func (f *file) removeSpan(n *node, spans [][2]int, i int, empty string) ([]change, error) {
	start, end := spans[i][0], spans[i][1]
	switch {
	case len(spans) == 1 && n.flow:
		return []change{{n.start + 1, n.end - 1, ""}}, nil
	case len(spans) == 1 && n.parent != nil && !n.parent.flow:
		return f.collapse(n, empty)
	case len(spans) == 1:
		return []change{{n.first, n.end, empty}}, nil
	case n.flow && i+1 < len(spans):
		return []change{{start, spans[i+1][0], ""}}, nil
	case n.flow:
		return f.removeLastFlow(spans[i-1][1], start, end), nil
	case strings.Trim(string(f.data[f.lineStart(start):start]), " ") != "": // behind a dash
		b := builder{file: f, at: f.lineEnd(end)}
		for b.at < len(b.data) && strings.ContainsRune(" \t\r\n", rune(b.data[b.at])) {
			b.at++
		}
		return []change{{start, b.at, ""}}, nil
	}
	start, end = f.ownStart(start), f.ownEnd(start, end)
	if n := f.blockScalar(func(n *node) bool { return n.end < start && f.nextLine(n.end) == start }); n != nil && f.block(n).keep {
		for end < len(f.data) && strings.Trim(string(f.data[end:f.lineEnd(end)]), " ") == "" {
			end = f.nextLine(end) // blank lines that would now belong to the block above
		}
	}
	return []change{f.wholeLines(start, end)}, nil
}

// wholeLines gives the removal of whole lines; at the end of a text without a final line break the break
// before them goes instead.
func (f *file) wholeLines(start, end int) change {
	if end == len(f.data) && end > 0 && f.data[end-1] != '\n' && start > 0 && !f.blockEndsAt(start) {
		start--
		if start > 0 && f.data[start-1] == '\r' {
			start--
		}
	}
	return change{start, end, ""}
}

// blockEndsAt says whether the line before offset belongs to a block scalar, whose text the break ends.
func (f *file) blockEndsAt(offset int) bool {
	return f.blockScalar(func(n *node) bool { return n.end < offset && f.nextLine(n.end) == offset }) != nil
}

// blockScalar finds a literal or folded scalar.
func (f *file) blockScalar(match func(*node) bool) *node {
	var walk func(n *node) *node
	walk = func(n *node) *node {
		if n.kind == scalar && n.y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && match(n) {
			return n
		}
		for _, item := range n.items {
			if found := walk(item); found != nil {
				return found
			}
		}
		for _, p := range n.pairs {
			if found := walk(p.value); found != nil {
				return found
			}
		}
		return nil
	}
	for _, d := range f.docs {
		if d == nil {
			continue
		}
		if found := walk(d); found != nil {
			return found
		}
	}
	return nil
}

func (f *file) removeLastFlow(previous, start, end int) []change {
	between := f.data[previous:start]
	if !bytes.ContainsRune(between, '#') {
		return []change{{previous, end, ""}}
	}
	b := builder{file: f, at: previous}
	b.trivia()
	out := []change{}
	if b.peek() == ',' {
		out = append(out, change{b.at, b.at + 1, ""})
	}
	line := f.lineStart(start)
	if f.lineOf(start) == f.lineOf(previous) || line <= b.at {
		return append(out, change{start, end, ""})
	}
	if rest := strings.TrimLeft(string(f.data[end:f.lineEnd(end)]), " \t"); strings.HasPrefix(rest, "#") {
		end = f.lineEnd(end)
	}
	return append(out, change{f.lineEnd(f.lineStart(line - 1)), end, ""})
}

// ownStart gives the start of the entry's first line, or of the comment lines directly above it in the
// same column.
func (f *file) ownStart(offset int) int {
	start := f.lineStart(offset)
	column := offset - start
	for start > 0 {
		above := f.lineStart(start - 1)
		if above == start {
			break
		}
		line := strings.TrimRight(string(f.data[above:f.lineEnd(above)]), " \t")
		text := strings.TrimLeft(line, " ")
		if !strings.HasPrefix(text, "#") || len(line)-len(text) != column {
			break
		}
		start = above
	}
	return start
}

// ownEnd gives the start of the line behind the entry, comment lines that lie deeper than it included.
func (f *file) ownEnd(start, end int) int {
	column := f.column(start)
	at := f.nextLine(end)
	for at < len(f.data) {
		line := strings.TrimRight(string(f.data[at:f.lineEnd(at)]), " \t")
		text := strings.TrimLeft(line, " ")
		if !strings.HasPrefix(text, "#") || len(line)-len(text) <= column {
			break
		}
		at = f.nextLine(at)
	}
	return at
}

// removeDocument takes one of several documents out.
func (f *file) removeDocument(doc int) ([]change, error) {
	starts := f.documentStarts()
	if len(starts) != len(f.docs) {
		return nil, fmt.Errorf("%w: the documents' separators were not understood", ErrUnsupported)
	}
	if len(starts) == 1 {
		return nil, fmt.Errorf("%w: it is the only document", ErrUnsupported)
	}
	if root := f.docs[doc]; root != nil {
		if err := f.holdsSharedAnchor(root); err != nil {
			return nil, err
		}
	}
	start, end := starts[doc], len(f.data)
	if doc+1 < len(starts) {
		end = starts[doc+1]
		if !bytes.HasPrefix(f.data[start:], []byte("---")) && strings.TrimSpace(string(f.data[end:f.lineEnd(end)])) == "---" {
			end = f.nextLine(end) // the next document becomes the first, without a separator
		}
	} else if start > 0 {
		return []change{f.wholeLines(start, end)}, nil
	}
	return []change{{start, end, ""}}, nil
}

// documentStarts gives where each document begins: at its separator, or at the start of the text. A head
// of comments, set off by a blank line, belongs to the file.
func (f *file) documentStarts() []int {
	var starts []int
	open := false // whether a document before the first separator has begun
	for i, at := range f.lines {
		if i == 0 && bytes.HasPrefix(f.data, bom) {
			at = len(bom)
		}
		line := string(f.data[at:f.lineEnd(at)])
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "---") && (len(line) == 3 || line[3] == ' ' || line[3] == '\t'):
			starts = append(starts, at)
			open = true
		case !open && text != "" && text[0] != '#' && text[0] != '%':
			starts = append(starts, f.headEnd(at))
			open = true
		}
	}
	return starts
}

// headEnd goes back from the first content line over the comments directly above it.
func (f *file) headEnd(at int) int {
	for at > 0 {
		above := f.lineStart(at - 1)
		if above == at || !strings.HasPrefix(string(f.data[above:at]), "#") {
			break
		}
		at = above
	}
	return at
}
