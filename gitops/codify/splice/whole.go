package splice

import "strings"

// replaceWhole writes value in place of node n, whatever n was, behind mark, an anchor or "".
func (f *file) replaceWhole(n *node, value any, mark string) ([]change, error) {
	if err := f.guard(n); err != nil {
		return nil, err
	}
	w := f.writerFor(n)
	var lines []string
	if !n.flow || n.kind != scalar && n.parent != nil && !n.parent.flow {
		lines = f.below(w, n, value)
	}
	if lines == nil || f.json || n.parent == nil && n.flow {
		text := strings.TrimLeft(mark+" "+w.inline(value, n.parent != nil && n.parent.flow), " ")
		if n.parent != nil && !n.flow && n.kind != scalar && n.kind != alias {
			return f.collapse(n, text)
		}
		if n.first == n.end {
			text = f.gapBefore(n) + text
		}
		return []change{{n.first, n.end, text}}, nil
	}
	if n.parent == nil {
		return []change{{n.first, n.end, strings.Join(lines, f.eol(n.first))}}, nil
	}
	// The new lines go below the head (the key and its colon, or the dash); what stands behind the old
	// value on its line, a comment, stays behind the head.
	head, end := f.head(n), max(n.end, f.head(n))
	if n.parent.kind == sequence {
		if mark != "" {
			mark = strings.Repeat(" ", w.style.Gap-1) + mark + f.eol(head)
			return []change{{head, end, mark + strings.Join(lines, f.eol(head))}}, nil
		}
		column := f.column(head - 1)
		lines[0] = strings.Repeat(" ", w.style.Gap-1) + strings.TrimLeft(lines[0][min(column, len(lines[0])):], " ")
		return []change{{head, end, strings.Join(lines, f.eol(head))}}, nil
	}
	rest := ""
	if mark != "" {
		mark = " " + mark
	}
	lineEnd := f.lineEnd(end)
	if n.kind == scalar || n.kind == alias || n.flow {
		rest = strings.TrimRight(string(f.data[end:lineEnd]), " \t")
	} else {
		lineEnd = end
	}
	return []change{{head, lineEnd, mark + rest + f.eol(head) + strings.Join(lines, f.eol(head))}}, nil
}

// below gives value as block lines for the place of n, nil when it goes on one line.
func (f *file) below(w writer, n *node, value any) []string {
	if n.parent == nil {
		return w.block(value, 0)
	}
	if n.parent.kind == sequence {
		return w.block(value, f.column(f.head(n)-1)+w.style.Gap)
	}
	indent := f.indentOf(n.parent)
	if _, ok := value.([]any); ok {
		return w.block(value, indent+w.style.ListIndent)
	}
	return w.block(value, indent+w.style.Indent)
}

// head gives the offset behind the colon or dash that introduces n.
func (f *file) head(n *node) int {
	if n.parent.kind == sequence {
		for i, item := range n.parent.items {
			if item == n && i < len(n.parent.dashes) {
				return n.parent.dashes[i] + 1
			}
		}
	}
	for _, p := range n.parent.pairs {
		if p.value == n && p.colon >= 0 {
			return p.colon + 1
		}
	}
	return n.first
}

// gapBefore gives what an empty value needs before new text: a blank, and a colon where none stands yet.
func (f *file) gapBefore(n *node) string {
	if n.parent == nil {
		return ""
	}
	for _, p := range n.parent.pairs {
		if p.value == n && p.colon < 0 {
			return ": "
		}
	}
	return " "
}

// collapse puts text on the head's line in place of the block collection n below it.
func (f *file) collapse(n *node, text string) ([]change, error) {
	head := f.head(n)
	if f.lineOf(head) == f.lineOf(n.first) {
		return []change{{n.first, n.end, text}}, nil
	}
	return []change{{head, head, " " + text}, {f.lineEnd(head), f.lineEnd(n.end), ""}}, nil
}
