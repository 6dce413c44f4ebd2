package splice

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// replaceScalar writes another scalar in place of n, in n's own style where that can hold it.
func (f *file) replaceScalar(n *node, value any) ([]change, error) {
	if n.y.Anchor != "" && f.shared[n.y] > 0 {
		return f.moveAnchor(n, value)
	}
	if err := f.guard(n); err != nil {
		return nil, err
	}
	start := n.start
	s, isString := value.(string)
	if n.y.Style&yaml.TaggedStyle != 0 && !(isString && n.y.Tag == "!!str") {
		if n.y.Anchor != "" {
			return nil, fmt.Errorf("%w: a tag and an anchor at line %d", ErrUnsupported, f.lineOf(n.first))
		}
		start = n.first
	}
	if isString {
		if changes := f.inPlace(n, s); changes != nil {
			return changes, nil
		}
		if !f.json && n.y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			return f.replaceBlock(n, s)
		}
	}
	if lines := f.asLiteral(n, value); lines != nil {
		head := f.head(n)
		end := f.lineEnd(max(n.end, head))
		lines[0] += strings.TrimRight(string(f.data[max(n.end, head):end]), " \t") // a comment goes on behind the header
		return []change{{head, end, strings.Join(lines, f.eol(head))}}, nil
	}
	text := f.scalarText(n, value)
	if n.first == n.end {
		text = f.gapBefore(n) + text
	}
	return []change{{start, n.end, text}}, nil
}

// asLiteral gives a literal block for a new text of several lines in place of a plain scalar.
func (f *file) asLiteral(n *node, value any) []string {
	s, ok := value.(string)
	if !ok || f.json || n.flow || n.parent == nil || quotesOf(n) != plain || !literal(s) || f.endsWithout(n) || n.y.Style&yaml.TaggedStyle != 0 || n.y.Anchor != "" {
		return nil
	}
	w := f.writerFor(n)
	return w.literal("", s, f.indentOf(n.parent), w.style.Indent)
}

// scalarText gives the text of a scalar on one line.
func (f *file) scalarText(n *node, value any) string {
	s, ok := value.(string)
	if ok && f.escapes(n) {
		return inASCII(doubleQuoted(s), f.json)
	}
	if f.json {
		return jsonText(value)
	}
	if !ok {
		if value != nil && n.y.Tag == "!!int" {
			return writeNumberOrWord(value, n.y.Value)
		}
		return writer{}.inline(value, false)
	}
	if n.y.Style&yaml.TaggedStyle != 0 && n.y.Tag == "!!str" && quotesOf(n) == plain && s != "" && !needsQuotes("x"+s, n.flow) {
		return s
	}
	wish := quotesOf(n)
	if wish == plain && needsQuotes(s, n.flow) {
		wish = f.style(nil).wish()
	}
	return writeString(s, wish, n.flow)
}

func writeNumberOrWord(value any, old string) string {
	if b, ok := value.(bool); ok {
		return fmt.Sprint(b)
	}
	return writeNumber(value, old)
}

// replaceBlock writes s into the literal or folded scalar n. Lines that stay the same keep their bytes.
func (f *file) replaceBlock(n *node, s string) ([]change, error) {
	b := f.block(n)
	body := strings.TrimRight(s, "\n")
	breaks := len(s) - len(body)
	quote := []change{{n.start, n.end, doubleQuoted(s)}}
	if body == "" || breaks > 0 && f.endsWithout(n) || strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && !printable(r) }) {
		return quote, nil
	}
	lines := strings.Split(body, "\n")
	old := strings.TrimRight(n.y.Value, "\n")
	header := string(f.data[n.start:b.header])
	if strings.ContainsAny(strings.TrimLeft(body, "\n")[:1], " \t") && !b.explicit {
		// Text that begins with a blank hides how far the block is moved in: the header has to say it.
		deeper := b.indent - max(f.blockIndent(n), 0)
		if deeper < 1 || deeper > 9 {
			return quote, nil
		}
		header = header[:1] + strconv.Itoa(deeper) + header[1:]
	}
	if was := len(n.y.Value) - len(old); breaks != was || b.keep {
		switch {
		case b.keep && breaks >= 1:
			lines = append(lines, make([]string, breaks-1)...)
		case breaks > 1:
			return quote, nil
		default:
			header = rechomp(header, breaks)
		}
	}
	if b.indent == 0 {
		b.indent = max(f.blockIndent(n), 0) + f.style(n).Indent
	}
	texts := lines
	if n.y.Style&yaml.FoldedStyle != 0 {
		if texts = unfolded(lines); texts == nil {
			header = "|" + header[1:]
			texts = lines
		}
		return []change{{n.start, n.end, header + f.eol(n.start) + f.indentLines(texts, b.indent, n)}}, nil
	}
	return f.replaceLines(n, b, header, texts), nil
}

// replaceLines rewrites the lines of a literal block between the first and last that differ.
func (f *file) replaceLines(n *node, b block, header string, lines []string) []change {
	have := make([]string, len(b.lines))
	for i, at := range b.lines {
		line := string(f.data[at:f.lineEnd(at)])
		have[i] = line[min(b.indent, len(line)):]
	}
	from := 0
	for from < len(have) && from < len(lines) && have[from] == lines[from] {
		from++
	}
	toHave, toWant := len(have), len(lines)
	for toHave > from && toWant > from && have[toHave-1] == lines[toWant-1] {
		toHave--
		toWant--
	}
	var changes []change
	if header != string(f.data[n.start:b.header]) {
		changes = append(changes, change{n.start, b.header, header})
	}
	text := f.indentLines(lines[from:toWant], b.indent, n)
	eol := f.eol(n.start)
	switch {
	case from < toHave && from < toWant:
		changes = append(changes, change{b.lines[from], f.lineEnd(b.lines[toHave-1]), text})
	case from < toHave && from > 0:
		changes = append(changes, change{f.lineEnd(b.lines[from-1]), f.lineEnd(b.lines[toHave-1]), ""})
	case from < toHave:
		changes = append(changes, change{b.lines[0], b.lines[toHave], ""})
	case from < toWant && from > 0:
		at := f.lineEnd(b.lines[from-1])
		changes = append(changes, change{at, at, eol + text})
	case from < toWant:
		changes = append(changes, change{b.header, b.header, eol + text})
	}
	return changes
}

func (f *file) indentLines(lines []string, indent int, n *node) string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if line != "" {
			out[i] = strings.Repeat(" ", indent) + line
		}
	}
	return strings.Join(out, f.eol(n.start))
}

// rechomp gives the header of a block scalar the chomping for a text that ends in breaks line feeds.
func rechomp(header string, breaks int) string {
	end := 1
	for end < len(header) && strings.ContainsRune("+-123456789", rune(header[end])) {
		end++
	}
	marks := strings.Trim(header[1:end], "+-")
	if breaks == 0 {
		marks += "-"
	}
	return header[:1] + marks + header[end:]
}

// unfolded gives lines that a folded block reads as these, nil when it cannot (lines that start with
// white space stand as they are in a folded block, and change how their neighbours fold).
func unfolded(lines []string) []string {
	var out []string
	begun := false
	for _, line := range lines {
		if line != "" && strings.ContainsAny(line[:1], " \t") {
			return nil
		}
		if begun && line != "" {
			out = append(out, "")
		}
		begun = begun || line != ""
		out = append(out, line)
	}
	return out
}
