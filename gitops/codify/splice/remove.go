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
			return f.replaceWhole(s.via, without[0], "")
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
	for _, p := range m.pairs {
		if p.explicit {
			return nil, fmt.Errorf("%w: explicit key at line %d", ErrUnsupported, f.lineOf(p.key.first))
		}
	}
	return f.removeSpan(m, f.pairSpans(m), i, "{}")
}

// pairSpans gives where each pair of a mapping begins and ends.
func (f *file) pairSpans(m *node) [][2]int {
	spans := make([][2]int, len(m.pairs))
	for j, p := range m.pairs {
		spans[j] = [2]int{p.key.first, f.pairEnd(p)}
	}
	return spans
}

// removeItem takes entry i out of list n.
func (f *file) removeItem(n *node, i int) ([]change, error) {
	if err := f.guard(n); err != nil {
		return nil, err
	}
	if err := f.holdsSharedAnchor(n.items[i]); err != nil {
		return nil, err
	}
	return f.removeSpan(n, f.itemSpans(n), i, "[]")
}

// itemSpans gives where each entry of a list begins, its dash included, and ends.
func (f *file) itemSpans(n *node) [][2]int {
	spans := make([][2]int, len(n.items))
	for j, item := range n.items {
		spans[j] = [2]int{item.first, f.itemEnd(n, j)}
		if !n.flow {
			spans[j][0] = n.dashes[j]
		}
	}
	return spans
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
	case n.flow:
		return f.removeFlow(n, spans, i), nil
	case strings.Trim(string(f.data[f.lineStart(start):start]), " ") != "": // behind a dash
		b := builder{file: f, at: f.lineEnd(end)}
		for b.at < len(b.data) && strings.ContainsRune(" \t\r\n", rune(b.data[b.at])) {
			b.at++
		}
		return []change{{start, b.at, ""}}, nil
	}
	start, end = f.ownStart(start), f.behindDeeper(end, f.column(start))
	if n := f.blockScalar(func(n *node) bool { return n.end < start && f.nextLine(n.end) == start }); n != nil && f.block(n).keep {
		for end < len(f.data) && strings.Trim(string(f.data[end:f.lineEnd(end)]), " ") == "" {
			end = f.nextLine(end) // blank lines that would now belong to the block above
		}
	}
	if f.blankBefore(start) && end < len(f.data) && f.blankAt(end) {
		end = f.nextLine(end) // of the blank lines around the entry one is enough
	}
	return []change{f.wholeLines(start, end)}, nil
}

// blankAt says whether the line that begins at offset is blank; blankBefore whether the one before it is.
func (f *file) blankAt(offset int) bool {
	return strings.Trim(string(f.data[offset:f.lineEnd(offset)]), " \t") == ""
}

func (f *file) blankBefore(offset int) bool {
	return offset > 0 && f.lineStart(offset-1) < offset && f.blankAt(f.lineStart(offset-1))
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

// removeFlow takes entry i of several out of brackets. An entry with lines of its own goes with them and the
// comments above and behind it; those of the others stay.
func (f *file) removeFlow(n *node, spans [][2]int, i int) []change {
	start, end, last := spans[i][0], spans[i][1], i == len(spans)-1
	next := n.end - 1
	if !last {
		next = spans[i+1][0]
	}
	comma := f.commaBehind(end)
	first := f.startsLine(start)
	alone := f.lineOf(max(end, comma)) != f.lineOf(next)
	switch {
	case first && alone && last && comma < 0 && f.commaBehind(spans[i-1][1]) >= 0:
		before := f.commaBehind(spans[i-1][1])
		return []change{{before, before + 1, ""}, {f.ownStart(start), f.nextLine(end), ""}}
	case first && alone:
		return []change{{f.ownStart(start), f.nextLine(max(end, comma)), ""}}
	case !last && (first || i == 0 && !alone):
		return []change{{start, next, ""}}
	case i == 0:
		return []change{{n.start + 1, f.lineEnd(max(end, comma)), ""}}
	}
	previous := spans[i-1][1]
	if !bytes.ContainsRune(f.data[previous:start], '#') {
		return []change{{previous, end, ""}}
	}
	if before := f.commaBehind(previous); before >= 0 && f.lineOf(before) != f.lineOf(start) {
		return []change{{before, before + 1, ""}, {start, end, ""}}
	}
	return []change{{f.commaBehind(previous), end, ""}}
}

// commaBehind gives the offset of the comma behind an entry inside brackets, -1 without one.
func (f *file) commaBehind(end int) int {
	b := builder{file: f, at: end}
	b.trivia()
	if b.peek() != ',' {
		return -1
	}
	return b.at
}

// startsLine says whether nothing but blanks stands before offset on its line.
func (f *file) startsLine(offset int) bool {
	return strings.Trim(string(f.data[f.lineStart(offset):offset]), " \t") == ""
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

// behindDeeper gives the start of the line behind an entry that ends at end, and behind the comment lines below it
// that lie deeper than column: they belong to the entry.
func (f *file) behindDeeper(end, column int) int {
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
