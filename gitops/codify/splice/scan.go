package splice

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// scalarEnd finds where the scalar that starts at n.start ends. The parsed value is the guide for plain
// scalars, so that no second grammar has to agree with the parser's.
func (b *builder) scalarEnd(n *node) (int, error) {
	style := n.y.Style &^ yaml.TaggedStyle
	at := n.start
	want := map[yaml.Style]byte{yaml.SingleQuotedStyle: '\'', yaml.DoubleQuotedStyle: '"', yaml.LiteralStyle: '|', yaml.FoldedStyle: '>'}[style]
	if want != 0 && (at >= len(b.data) || b.data[at] != want) {
		return 0, b.misplaced(n.y, "no "+string(want)+" here")
	}
	var end int
	switch style {
	case yaml.SingleQuotedStyle:
		end = singleEnd(b.data, at)
	case yaml.DoubleQuotedStyle:
		end = doubleEnd(b.data, at)
	case yaml.LiteralStyle, yaml.FoldedStyle:
		end = b.block(n).end
	default:
		end = plainEnd(b.data, at, n.y.Value)
	}
	if end < 0 {
		return 0, b.misplaced(n.y, "the end of this value was not found")
	}
	return end, nil
}

func singleEnd(data []byte, at int) int {
	for at++; at < len(data); at++ {
		if data[at] != '\'' {
			continue
		}
		if at+1 < len(data) && data[at+1] == '\'' {
			at++
			continue
		}
		return at + 1
	}
	return -1
}

func doubleEnd(data []byte, at int) int {
	for at++; at < len(data); at++ {
		switch data[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return -1
}

// plainEnd walks text and value together; white space around a line break folds to one space, or to one
// line feed fewer than there are breaks.
func plainEnd(data []byte, at int, value string) int {
	for i := 0; i < len(value); {
		if at >= len(data) {
			return -1
		}
		if value[i] == ' ' || value[i] == '\n' {
			if behind, breaks := fold(data, at); breaks > 0 {
				at = behind
				if breaks == 1 && value[i] == ' ' {
					i++
					continue
				}
				for range breaks - 1 {
					if i >= len(value) || value[i] != '\n' {
						return -1
					}
					i++
				}
				continue
			}
		}
		if data[at] != value[i] {
			return -1
		}
		at++
		i++
	}
	return at
}

// fold skips white space from at on and counts the line breaks in it.
func fold(data []byte, at int) (behind, breaks int) {
	for at < len(data) {
		switch data[at] {
		case '\n':
			breaks++
		case ' ', '\t', '\r':
		default:
			return at, breaks
		}
		at++
	}
	return at, breaks
}

// block describes a literal or folded scalar.
type block struct {
	header   int // offset behind the header line's last byte
	indent   int // columns before the text of each line
	explicit bool
	keep     bool  // |+ or >+
	lines    []int // starts of the lines that are text, trailing blank ones only with keep
	end      int
}

// block reads the header and lines of the block scalar at n.start.
func (f *file) block(n *node) block {
	var out block
	out.header = f.lineEnd(n.start)
	digits := 0
	for _, c := range string(f.data[n.start+1 : out.header]) {
		if c >= '1' && c <= '9' {
			digits = int(c - '0')
		} else if c == '+' {
			out.keep = true
		} else if c != '-' {
			break
		}
	}
	outer := f.blockIndent(n)
	out.explicit = digits > 0
	out.indent = max(outer, 0) + digits
	if !out.explicit {
		out.indent = f.detectIndent(n.start, outer)
	}
	out.end = out.header
	blank := []int(nil)
	for at := f.nextLine(n.start); at < len(f.data); at = f.nextLine(at) {
		end := f.lineEnd(at)
		line := string(f.data[at:end])
		text := strings.TrimLeft(line, " ")
		if text == "" && (out.indent == 0 || len(line) <= out.indent) {
			blank = append(blank, at)
			if out.keep {
				out.lines, blank = append(out.lines, blank...), nil
				out.end = end
			}
			continue
		}
		if len(line)-len(text) < out.indent || out.indent == 0 {
			break
		}
		out.lines, blank = append(out.lines, append(blank, at)...), nil
		out.end = end
		if end == len(f.data) {
			break
		}
	}
	return out
}

// detectIndent gives the indentation of the first line with text, 0 when no line lies deeper than outer.
func (f *file) detectIndent(header, outer int) int {
	deepest := 0
	for at := f.nextLine(header); at < len(f.data); at = f.nextLine(at) {
		line := string(f.data[at:f.lineEnd(at)])
		text := strings.TrimLeft(line, " ")
		if text == "" {
			deepest = max(deepest, len(line))
			if f.lineEnd(at) == len(f.data) {
				break
			}
			continue
		}
		if indent := len(line) - len(text); indent > outer {
			return max(indent, deepest, 1)
		}
		return 0
	}
	return 0
}

// blockIndent gives the column of the innermost block collection around n, -1 at the root.
func (f *file) blockIndent(n *node) int {
	for p := n.parent; p != nil; p = p.parent {
		if !p.flow {
			return f.indentOf(p)
		}
	}
	return -1
}

// indentOf gives the column at which the entries of a block collection stand.
func (f *file) indentOf(n *node) int {
	switch {
	case len(n.dashes) > 0:
		return f.column(n.dashes[0])
	case len(n.pairs) > 0:
		return f.column(n.pairs[0].key.first)
	}
	return f.column(n.start)
}

// printable says whether r may stand unescaped in YAML on one line.
func printable(r rune) bool {
	switch {
	case r == utf8.RuneError, r == 0x85, r == 0x2028, r == 0x2029, r == 0xfeff:
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return false
	}
	return r < 0xd800 || r >= 0xe000 && r != 0xfffe && r != 0xffff
}
