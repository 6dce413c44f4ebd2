package splice

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// addPair adds a key that mapping m does not have.
func (f *file) addPair(m *node, key string, value any) ([]change, error) {
	if err := f.guard(m); err != nil {
		return nil, err
	}
	w := f.writerFor(m)
	if f.quotesValues(m) {
		w.quoteAll = true
	}
	if m.flow || len(m.pairs) == 0 {
		if len(m.pairs) == 0 && !f.json && m.parent != nil && !m.parent.flow {
			return f.replaceWhole(m, map[string]any{key: value}, "")
		}
		return f.addFlow(m, w, key, value)
	}
	keys := make([]string, len(m.pairs))
	for i, p := range m.pairs {
		if p.explicit {
			return nil, fmt.Errorf("%w: explicit key at line %d", ErrUnsupported, f.lineOf(p.key.first))
		}
		keys[i] = p.key.y.Value
	}
	column := f.indentOf(m)
	lines := w.under(key).entry(strings.Repeat(" ", column)+w.key(key, false)+":", value, column)
	spans := f.pairSpans(m)
	at := place(keys, key)
	if at == 0 && key != "name" && !f.startsLine(spans[0][0]) {
		at = 1 // the line with the dash stays as it is
	}
	if at == 0 {
		return f.before(m.pairs[0].key.first, column, f.parted(spans, at, lines)), nil
	}
	return f.behind(spans[at-1][1], column, f.parted(spans, at, lines)), nil
}

// insertItem adds an entry to list n before the one at index.
func (f *file) insertItem(n *node, index int, value any) ([]change, error) {
	if err := f.guard(n); err != nil {
		return nil, err
	}
	w := f.writerFor(n)
	index = min(index, len(n.items))
	if n.flow || len(n.items) == 0 {
		if len(n.items) == 0 && !f.json && n.parent != nil && !n.parent.flow {
			return f.replaceWhole(n, []any{value}, "")
		}
		return f.insertFlow(n, w, index, value)
	}
	neighbour := n.items[max(index-1, 0)]
	if gap := neighbour.first - n.dashes[max(index-1, 0)]; gap > 0 && f.lineOf(neighbour.first) == f.lineOf(n.dashes[max(index-1, 0)]) && neighbour.end > neighbour.first {
		w.style.Gap = gap
	}
	column := f.column(n.dashes[0])
	lines := w.item(value, column)
	dash := strings.Repeat(" ", column) + "-" + strings.Repeat(" ", w.style.Gap-1)
	switch v := value.(type) {
	case map[string]any:
		if neighbour.kind == mapping && neighbour.flow && len(neighbour.pairs) > 0 {
			w.spaced = f.data[neighbour.start+1] == ' '
			w.quoteAll = f.quotesValues(neighbour)
			lines = []string{dash + w.inline(v, false)}
		} else if neighbour.kind == mapping && f.quotesValues(neighbour) {
			w.quoteAll = true
			lines = w.item(value, column)
		}
	case string:
		if wish := quotesOf(neighbour); wish != plain && !literal(v) {
			lines = []string{dash + writeString(v, wish, false)}
		}
	}
	spans := f.itemSpans(n)
	if index == 0 {
		return f.before(n.dashes[0], column, f.parted(spans, index, lines)), nil
	}
	return f.behind(spans[index-1][1], column, f.parted(spans, index, lines)), nil
}

// parted adds a blank line to lines that come before the entry at index, where a blank line parts the entries there.
func (f *file) parted(spans [][2]int, index int, lines []string) []string {
	near := min(max(index, 1), len(spans)-1)
	if near < 1 || !f.blankBefore(f.ownStart(spans[near][0])) || f.blockScalar(func(n *node) bool { return index > 0 && n.end == spans[index-1][1] && f.block(n).keep }) != nil {
		return lines
	}
	if index == 0 {
		return append(slices.Clip(lines), "")
	}
	return append([]string{""}, lines...)
}

// quotesOf gives the quotes that a scalar stands in.
func quotesOf(n *node) quotes {
	switch {
	case n.kind == scalar && n.y.Style&yaml.SingleQuotedStyle != 0:
		return single
	case n.kind == scalar && n.y.Style&yaml.DoubleQuotedStyle != 0:
		return double
	}
	return plain
}

// quotesValues says whether m writes a value of its own in quotes that did not need them, apart from
// none that could do without: new string values then follow.
func (f *file) quotesValues(m *node) bool {
	quoted := false
	for _, p := range m.pairs {
		if p.value.kind != scalar || p.key.y.Value == "name" || p.value.y.Tag != "!!str" {
			continue
		}
		if quotesOf(p.value) == plain {
			return false
		}
		quoted = quoted || !needsQuotes(p.value.y.Value, p.value.flow)
	}
	return quoted
}

// behind puts lines, which stand in column, below the entry that ends at offset and the comments that lie deeper.
func (f *file) behind(offset, column int, lines []string) []change {
	eol := f.eol(offset)
	at := f.lineEnd(offset)
	if next := f.behindDeeper(offset, column); next > f.nextLine(offset) {
		at = f.lineEnd(f.lineStart(next - 1))
	}
	changes := []change{{at, at, eol + strings.Join(lines, eol)}}
	if at == len(f.data) {
		// A block scalar that ends without a line break has none in its text either: say so now.
		if n := f.blockScalar(func(n *node) bool { return n.end == at }); n != nil {
			header := f.block(n).header
			changes = append(changes, change{n.start, header, rechomp(string(f.data[n.start:header]), 0)})
		}
	}
	return changes
}

// before puts lines in front of the entry that starts at offset, in column.
func (f *file) before(offset, column int, lines []string) []change {
	eol := f.eol(offset)
	pad := strings.Repeat(" ", column)
	if strings.Trim(string(f.data[f.lineStart(offset):offset]), " ") == "" {
		at := f.ownStart(offset)
		return []change{{at, at, strings.Join(lines, eol) + eol}}
	}
	lines = slices.Clone(lines)
	lines[0] = strings.TrimLeft(lines[0], " ")
	return []change{{offset, offset, strings.Join(lines, eol) + eol + pad}}
}

// pairEnd gives the offset behind a pair's last byte.
func (f *file) pairEnd(p pair) int { return max(p.value.end, p.colon+1, p.key.end) }

// itemEnd gives the offset behind a list entry's last byte.
func (f *file) itemEnd(n *node, i int) int {
	if i < len(n.dashes) {
		return max(n.items[i].end, n.dashes[i]+1)
	}
	return n.items[i].end
}

// addFlow adds a key inside braces.
func (f *file) addFlow(m *node, w writer, key string, value any) ([]change, error) {
	if m.bare {
		return nil, fmt.Errorf("%w: a pair without braces at line %d", ErrUnsupported, f.lineOf(m.first))
	}
	write := func(prefix string) string {
		if prefix != "" && f.json {
			return w.key(key, true) + ": " + indented(value, prefix, f.jsonUnit())
		}
		if f.json && !f.jsonBlanks() {
			return w.key(key, true) + ":" + w.inline(value, true)
		}
		if f.json {
			return w.key(key, true) + ": " + f.jsonLine(value)
		}
		return w.key(key, true) + ": " + w.inline(value, true)
	}
	if len(m.pairs) == 0 {
		return f.fillBrackets(m, write), nil
	}
	keys := make([]string, len(m.pairs))
	for i, p := range m.pairs {
		keys[i] = p.key.y.Value
	}
	at := max(place(keys, key), 1)
	return f.addBetween(m.pairs[at-1].key.first, f.pairEnd(m.pairs[at-1]), at == len(m.pairs), m, write), nil
}

// insertFlow adds an entry inside brackets.
func (f *file) insertFlow(n *node, w writer, index int, value any) ([]change, error) {
	oneLine := len(n.items) > 0 && f.lineOf(n.items[0].first) == f.lineOf(n.items[0].end)
	write := func(prefix string) string {
		switch {
		case f.json && oneLine:
			return f.jsonLine(value)
		case prefix != "" && f.json:
			return indented(value, prefix, f.jsonUnit())
		}
		return w.inline(value, true)
	}
	if len(n.items) == 0 {
		return f.fillBrackets(n, write), nil
	}
	if index == 0 {
		first := n.items[0]
		if f.lineOf(first.first) != f.lineOf(n.start) {
			prefix := strings.Repeat(" ", f.column(first.first))
			return []change{{first.first, first.first, write(prefix) + "," + f.eol(first.first) + prefix}}, nil
		}
		return []change{{first.first, first.first, write("") + ", "}}, nil
	}
	previous := n.items[index-1]
	if s, ok := value.(string); ok && !f.json && quotesOf(previous) != plain {
		write = func(string) string { return writeString(s, quotesOf(previous), true) }
	}
	return f.addBetween(previous.first, previous.end, index == len(n.items), n, write), nil
}

// fillBrackets puts the first entry between empty brackets.
func (f *file) fillBrackets(n *node, write func(string) string) []change {
	open := string(f.data[n.start])
	end := string(f.data[n.end-1])
	if unit := f.jsonUnit(); f.json && unit != "" {
		outer := f.lineIndent(n.start)
		inner := outer + unit
		return []change{{n.start, n.end, open + f.eol(n.start) + inner + write(inner) + f.eol(n.start) + outer + end}}
	}
	return []change{{n.start, n.end, open + write("") + end}}
}

// addBetween puts an entry behind the one that spans first to end, on a line of its own where entries
// have lines of their own.
func (f *file) addBetween(first, end int, last bool, n *node, write func(string) string) []change {
	ownLine := strings.Trim(string(f.data[f.lineStart(first):first]), " \t") == "" && f.lineOf(first) != f.lineOf(n.start)
	if !ownLine {
		comma := ", "
		if f.json && !f.jsonBlanks() {
			comma = ","
		}
		return []change{{end, end, comma + write("")}}
	}
	prefix := string(f.data[f.lineStart(first):first])
	text := write(prefix)
	b := builder{file: f, at: end}
	b.trivia()
	comma := b.peek() == ','
	lineEnd := f.lineEnd(end)
	switch {
	case comma && last: // a trailing comma stays the custom
		return []change{{f.lineEnd(b.at), f.lineEnd(b.at), f.eol(end) + prefix + text + ","}}
	case comma:
		return []change{{f.lineEnd(b.at), f.lineEnd(b.at), f.eol(end) + prefix + text + ","}}
	case f.lineOf(n.end-1) == f.lineOf(end): // the closing bracket follows on the same line
		return []change{{end, end, "," + f.eol(end) + prefix + text}}
	}
	return []change{{end, end, ","}, {lineEnd, lineEnd, f.eol(end) + prefix + text}}
}

// lineIndent gives the white space at the start of the line that holds offset.
func (f *file) lineIndent(offset int) string {
	line := string(f.data[f.lineStart(offset):offset])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// jsonUnit gives the indentation of a JSON text, "" when it stands on one line.
func (f *file) jsonUnit() string {
	for _, d := range f.docs {
		if d == nil {
			continue
		}
		for _, p := range d.pairs {
			if f.lineOf(p.key.first) != f.lineOf(d.start) {
				return f.lineIndent(p.key.first)
			}
		}
		for _, item := range d.items {
			if f.lineOf(item.first) != f.lineOf(d.start) {
				return f.lineIndent(item.first)
			}
		}
	}
	return ""
}

// jsonBlanks says whether a JSON text puts a blank behind its colons.
func (f *file) jsonBlanks() bool {
	for _, d := range f.docs {
		if d == nil {
			continue
		}
		if c := d.firstColon(); c >= 0 {
			return c+1 < len(f.data) && f.data[c+1] == ' '
		}
	}
	return true
}

// firstColon gives the offset of the first colon in n, -1 without one.
func (n *node) firstColon() int {
	for _, p := range n.pairs {
		return p.colon
	}
	for _, item := range n.items {
		if c := item.firstColon(); c >= 0 {
			return c
		}
	}
	return -1
}

// jsonLine gives value as JSON on one line, with blanks where the text has them.
func (f *file) jsonLine(value any) string {
	if !f.jsonBlanks() {
		return jsonText(value)
	}
	switch v := value.(type) {
	case map[string]any:
		var parts []string
		for _, k := range sortedKeys(v) {
			parts = append(parts, jsonText(k)+": "+f.jsonLine(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, f.jsonLine(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return jsonText(value)
}
