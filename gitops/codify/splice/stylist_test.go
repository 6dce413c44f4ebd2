package splice

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// stylist writes random YAML in the styles that people write it in, comments of all sorts included.
type stylist struct {
	*rand.Rand
	b strings.Builder
	// eol ends lines; indent and dash move mappings and dashes in, gap is between a dash and its entry. mixed changes
	// them from place to place.
	eol               string
	indent, dash, gap int
	mixed             bool
	keys              int
	scalars, mappings []string
	used              map[string]bool
}

func stylish(seed uint64) []byte {
	s := &stylist{Rand: rand.New(rand.NewPCG(seed, 23)), eol: "\n", used: map[string]bool{}}
	if s.IntN(4) == 0 {
		s.eol = "\r\n"
	}
	s.mixed = s.IntN(4) == 0
	s.choose()
	if s.IntN(6) == 0 {
		s.b.WriteString("\ufeff")
	}
	if s.IntN(4) == 0 {
		s.line("# Ünïcode head\twith a tab")
		s.line("")
	}
	for i := range s.IntN(3) + 1 {
		if i > 0 || s.IntN(4) == 0 {
			s.line("---" + []string{"", " # another"}[s.IntN(2)])
		}
		s.scalars, s.mappings = nil, nil
		s.mapping(0, "")
		if s.IntN(4) == 0 {
			s.line("# the end of document " + fmt.Sprint(i))
		}
	}
	text := s.b.String()
	if s.IntN(4) == 0 {
		text = strings.TrimRight(text, "\r\n")
	}
	return []byte(text)
}

func (s *stylist) choose() {
	s.indent = []int{2, 2, 4, 3}[s.IntN(4)]
	s.dash = []int{0, s.indent, 2}[s.IntN(3)]
	s.gap = []int{2, 2, 4}[s.IntN(3)]
}

func (s *stylist) line(text string) { s.b.WriteString(text + s.eol) }

func (s *stylist) pad(n int) string { return strings.Repeat(" ", n) }

func (s *stylist) tail() string {
	return []string{"", "", "", "  # tail", " #\ttab", "   # ☾ " + strings.Repeat("long ", 30)}[s.IntN(6)]
}

// around writes what may stand before an entry: a comment, a blank line, both.
func (s *stylist) around(column int) {
	if s.IntN(8) == 0 {
		s.line("")
	}
	if s.IntN(5) == 0 {
		s.line(s.pad(column) + "# about what follows\t" + fmt.Sprint(s.IntN(1000)))
	}
}

// foot writes a comment that lies deeper than an entry, below it.
func (s *stylist) foot(column int) {
	if s.IntN(12) == 0 {
		s.line(s.pad(column+1) + "# foot " + fmt.Sprint(s.IntN(1000)))
	}
}

func (s *stylist) mapping(column int, lead string) {
	for i := range s.IntN(4) + 1 {
		s.keys++
		if i > 0 || lead == "" {
			s.around(column)
			lead = s.pad(column)
		}
		if i > 0 && len(s.mappings) > 0 && s.IntN(8) == 0 {
			s.line(lead + "<<: *" + s.mappings[s.IntN(len(s.mappings))])
			return
		}
		s.value(lead+fmt.Sprintf("k%d", s.keys)+":", column)
		lead = ""
	}
}

// value writes a value behind head, in a mapping at column.
func (s *stylist) value(head string, column int) {
	if s.mixed {
		s.choose()
	}
	kind := s.IntN(14)
	if column > 12 && kind < 4 {
		kind = 8
	}
	switch kind {
	case 0, 1:
		anchor := ""
		if s.IntN(5) == 0 {
			anchor = fmt.Sprintf("m%d", s.keys)
			head += " &" + anchor
		}
		s.line(head + s.tail())
		s.mapping(column+s.indent, "")
		if anchor != "" {
			s.mappings = append(s.mappings, anchor)
		}
		s.foot(column)
	case 2, 3:
		s.line(head + s.tail())
		s.list(column + s.dash)
		s.foot(column)
	case 4:
		s.block(head, column)
	case 5:
		s.wrapped(head, column)
	case 6:
		s.flow(head, column)
	case 7:
		if len(s.scalars) > 0 {
			s.line(head + " *" + s.scalars[s.IntN(len(s.scalars))] + s.tail())
			return
		}
		anchor := fmt.Sprintf("s%d", s.keys)
		s.line(head + " &" + anchor + " " + s.scalar(false) + s.tail())
		s.scalars = append(s.scalars, anchor)
	default:
		s.line(head + " " + s.scalar(false) + s.tail())
	}
}

func (s *stylist) list(column int) {
	for range s.IntN(3) + 1 {
		s.around(column)
		dash := s.pad(column) + "-"
		switch s.IntN(5) {
		case 0, 1:
			if column < 14 {
				s.mapping(column+s.gap, dash+s.pad(s.gap-1))
				continue
			}
			fallthrough
		case 2:
			s.line(dash + s.pad(s.gap-1) + s.flowMapping() + s.tail())
		case 3:
			s.block(dash, column)
		default:
			s.line(dash + s.pad(s.gap-1) + s.scalar(false) + s.tail())
		}
	}
}

func (s *stylist) scalar(flow bool) string {
	return []string{
		writeString(awkward[s.IntN(len(awkward))], plain, flow), writeString(awkward[s.IntN(len(awkward))], single, flow),
		writeString(awkward[s.IntN(len(awkward))], double, flow), `"\u00e4 \x41 \U0001f600"`, "1", "true", "null", "0400", "1.50", "v1.10",
		"registry.test/a:1", "'it''s'", strings.Repeat("long", 40),
	}[s.IntN(13)]
}

func (s *stylist) block(head string, column int) {
	mark := []string{" |", " |-", " |+", " >", " >-", " >+"}[s.IntN(6)]
	lines := []string{"text here", "# no comment", "- a: b", "ä\tö  ", "a longer line that goes on"}
	text, deeper := "", 2
	if s.IntN(5) == 0 {
		text = "  first\n"
		mark += fmt.Sprint(deeper)
	} else {
		deeper = s.IntN(4) + 1
	}
	for range s.IntN(4) + 1 {
		text += []string{"", "", "", "   "}[s.IntN(4)] + lines[s.IntN(len(lines))] + "\n"
		if s.IntN(4) == 0 {
			text += "\n"
		}
	}
	text = strings.TrimLeft(text, "\n")
	if !strings.ContainsAny(mark, "2") {
		text = strings.TrimLeft(text, " ")
	}
	s.line(head + mark + s.tail())
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			line = s.pad(column+deeper) + line
		}
		s.line(line)
	}
}

// wrapped writes a scalar over several lines.
func (s *stylist) wrapped(head string, column int) {
	in := s.pad(column + 1)
	switch s.IntN(3) {
	case 0:
		s.line(head + " one two")
		s.line(in + "three four")
		s.line("")
		s.line(in + "five" + s.tail())
	case 1:
		s.line(head + ` "one \u00e4 two`)
		s.line(in + `three \"four\"`)
		s.line(in + `five"` + s.tail())
	default:
		s.line(head + " 'one it''s")
		s.line(in + "three")
		s.line(in + "five'" + s.tail())
	}
}

func (s *stylist) flowMapping() string {
	s.keys++
	if s.IntN(2) == 0 {
		return fmt.Sprintf("{a%d: %s, b: %s}", s.keys, s.scalar(true), s.scalar(true))
	}
	return fmt.Sprintf("{ name: n%d, list: [%s, %s] }", s.keys, s.scalar(true), s.scalar(true))
}

func (s *stylist) flow(head string, column int) {
	in, out := s.pad(column+s.indent), s.pad(column+1)
	switch s.IntN(4) {
	case 0:
		s.line(head + " " + s.flowMapping() + s.tail())
	case 1:
		s.line(head + " [" + s.scalar(true) + ", " + s.scalar(true) + "]" + s.tail())
	case 2:
		s.line(head + " [")
		for i := range 3 {
			if s.IntN(3) == 0 {
				s.line(in + "# about entry " + fmt.Sprint(i))
			}
			s.line(in + s.scalar(true) + []string{",", ",", ""}[i] + s.tail())
		}
		s.line(out + "]" + s.tail())
	default:
		s.line(head + " {")
		for i := range 3 {
			if s.IntN(3) == 0 {
				s.line(in + "# about pair " + fmt.Sprint(i))
			}
			s.line(in + fmt.Sprintf("p%d: ", i) + s.scalar(true) + "," + s.tail())
		}
		s.line(out + "}" + s.tail())
	}
}
