package splice

import (
	"go.yaml.in/yaml/v3"
)

// Style is how a text is laid out: what inserted lines follow.
type Style struct {
	// Indent is the number of columns that a nested mapping is moved in.
	Indent int
	// ListIndent is the number of columns that the dash of a list is moved in from its key: 0, or Indent.
	ListIndent int
	// Gap is the number of columns from a dash to its entry, usually 2.
	Gap int
	// Single prefers single quotes to double quotes where quotes are needed.
	Single bool
	// CRLF ends lines with carriage return and line feed.
	CRLF bool
	// Quoted writes texts of several lines in quotes instead of as blocks.
	Quoted bool
}

// DefaultStyle is the layout of most manifests.
func DefaultStyle() Style { return Style{Indent: 2, ListIndent: 2, Gap: 2} }

// StyleOf reads the prevailing layout from text; what it does not show stays as in DefaultStyle.
func StyleOf(data []byte) Style {
	f, err := parse(data)
	if err != nil {
		return DefaultStyle()
	}
	return f.style(nil)
}

// style counts what the file uses. near, when given, is a node whose own surroundings decide first.
func (f *file) style(near *node) Style {
	c := counts{indent: map[int]int{}, list: map[int]int{}, gap: map[int]int{}}
	for _, d := range f.docs {
		if d != nil {
			f.count(d, &c, 1)
		}
	}
	for p := near; p != nil; p = p.parent {
		f.count(p, &c, 1000)
		if len(c.indent) > 0 && len(c.list) > 0 {
			break
		}
	}
	s := DefaultStyle()
	s.Indent = most(c.indent, s.Indent)
	s.ListIndent = most(c.list, s.Indent)
	s.Gap = most(c.gap, s.Gap)
	s.Single = c.single > c.double
	s.CRLF = len(f.lines) > 1 && f.eol(0) == "\r\n"
	return s
}

type counts struct {
	indent, list, gap map[int]int
	single, double    int
}

func (f *file) count(n *node, c *counts, weight int) {
	switch {
	case n.kind == scalar && n.y.Style&yaml.SingleQuotedStyle != 0:
		c.single += weight
	case n.kind == scalar && n.y.Style&yaml.DoubleQuotedStyle != 0:
		c.double += weight
	case n.kind == sequence:
		for i, item := range n.items {
			if !n.flow && item.end > item.first && f.lineOf(item.first) == f.lineOf(n.dashes[i]) {
				c.gap[item.first-n.dashes[i]] += weight
			}
			f.count(item, c, weight)
		}
	case n.kind == mapping:
		for _, p := range n.pairs {
			f.countPair(n, p, c, weight)
			f.count(p.value, c, weight)
		}
	}
}

func (f *file) countPair(n *node, p pair, c *counts, weight int) {
	if n.flow || p.value.flow {
		return
	}
	deeper := 0
	switch {
	case p.value.kind == mapping && len(p.value.pairs) > 0:
		deeper = f.indentOf(p.value) - f.indentOf(n)
		if deeper > 0 {
			c.indent[deeper] += weight
		}
	case p.value.kind == sequence && len(p.value.dashes) > 0:
		deeper = f.indentOf(p.value) - f.indentOf(n)
		if deeper >= 0 {
			c.list[deeper] += weight
		}
	}
}

func most(counts map[int]int, none int) int {
	best, at := 0, none
	for value, n := range counts {
		if n > best || n == best && value < at {
			best, at = n, value
		}
	}
	return at
}

// wish is the quote style for new strings of this style.
func (s Style) wish() quotes {
	if s.Single {
		return single
	}
	return double
}

func (s Style) eol() string {
	if s.CRLF {
		return "\r\n"
	}
	return "\n"
}
