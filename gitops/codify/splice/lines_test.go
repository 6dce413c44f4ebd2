package splice

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"holdfast/gitops"
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

// TestOnlyTheEditedLinesChange makes random edits of texts in random styles. What is edited reads as wanted (Set,
// Insert and Remove see to that themselves); every line that is no part of it is there afterwards, byte for byte.
func TestOnlyTheEditedLinesChange(t *testing.T) {
	refusals, edits := map[string]int{}, 0
	for seed := range uint64(1000) {
		data := stylish(seed)
		f, err := parse(data)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, data)
		}
		docs := f.contents()
		r := rand.New(rand.NewPCG(seed, 29))
		for range 6 {
			doc := r.IntN(len(docs))
			if docs[doc] == nil {
				continue
			}
			all := paths(docs[doc], nil)
			e := lineEdit{file: f, doc: doc, path: all[r.IntN(len(all))], kind: r.IntN(4)}
			after, err := e.make(r)
			if errors.Is(err, errSkip) {
				continue
			}
			if err != nil {
				reason := err.Error()
				for _, known := range []string{"another kind of value", "merge key", "used elsewhere"} {
					if strings.Contains(reason, known) {
						reason = known
					}
				}
				refusals[reason]++
				if errors.Is(err, ErrMismatch) || errors.Is(err, ErrSyntax) {
					t.Errorf("seed %d: %s %s: %v\n%s", seed, e.what(), e.path, err, data)
				}
				continue
			}
			edits++
			if problem := e.strayed(after); problem != "" {
				t.Errorf("seed %d: %s %s: %s\n%s\n--- after\n%s", seed, e.what(), e.path, problem, data, after)
			}
		}
		if t.Failed() {
			return
		}
	}
	total := 0
	for reason, n := range refusals {
		t.Logf("refused %d times: %s", n, reason)
		total += n
	}
	if edits < 2000 || total*20 > edits {
		t.Errorf("%d edits, %d refused", edits, total)
	}
}

var errSkip = errors.New("nothing to do here")

// lineEdit is one edit of the test: a scalar set, a key added, an entry inserted, something removed.
type lineEdit struct {
	file *file
	doc  int
	path gitops.Path
	kind int
	// from and to are the lines, from 0 and to excluded, that the edit may change.
	from, to int
	// whole says that only whole lines may come or go there.
	whole bool
}

func (e *lineEdit) what() string {
	return []string{"set", "add below", "insert into", "remove"}[e.kind]
}

func (e *lineEdit) make(r *rand.Rand) ([]byte, error) {
	s, err := e.file.spot(e.doc, e.path)
	if err != nil || s.via != nil || e.file.guard(s.node) != nil || s.node.kind == alias {
		return nil, errSkip // anchors have tests of their own
	}
	n, f := s.node, e.file
	v := any(awkward[r.IntN(len(awkward))])
	if r.IntN(4) == 0 {
		v = []any{int64(8080), true, nil, 1.5, map[string]any{"name": "x", "value": v}, []any{v, "z"}}[r.IntN(6)]
	}
	e.from, e.to = f.lineOf(n.first)-1, f.lineOf(n.end)
	if n.parent != nil && n.first == n.end {
		e.from = f.lineOf(f.head(n)) - 1
	}
	switch e.kind {
	case 0:
		if n.kind != scalar || n.parent == nil {
			return nil, errSkip
		}
		return Set(f.data, e.doc, e.path, v)
	case 1:
		if n.kind != mapping {
			return nil, errSkip
		}
		e.from, e.to = f.lineOf(f.ownStart(n.first))-1, max(e.to, f.lineOf(f.behindDeeper(n.end, f.indentOf(n))-1))
		e.whole = !n.flow && len(n.pairs) > 0 && len(f.data) > 0 && f.data[len(f.data)-1] == '\n'
		return Set(f.data, e.doc, e.path.Child(gitops.Field("added")), v)
	case 2:
		if n.kind != sequence {
			return nil, errSkip
		}
		e.from, e.to = f.lineOf(f.ownStart(n.first))-1, max(e.to, f.lineOf(f.behindDeeper(n.end, f.indentOf(n))-1))
		e.whole = !n.flow && len(n.items) > 0 && f.data[len(f.data)-1] == '\n'
		return Insert(f.data, e.doc, e.path, r.IntN(len(n.items)+1), v)
	}
	if n.parent == nil || f.holdsSharedAnchor(n) != nil {
		return nil, errSkip
	}
	e.removal(n)
	return Remove(f.data, e.doc, e.path)
}

// removal says which lines may go with node n.
func (e *lineEdit) removal(n *node) {
	f, p := e.file, n.parent
	spans := f.pairSpans(p)
	i := slices.IndexFunc(p.pairs, func(o pair) bool { return o.value == n })
	if p.kind == sequence {
		spans, i = f.itemSpans(p), slices.Index(p.items, n)
	}
	start, end := spans[i][0], spans[i][1]
	e.from, e.to = f.lineOf(f.ownStart(start))-1, f.lineOf(end)
	if p.flow || len(spans) == 1 {
		e.from, e.to = min(e.from, f.lineOf(p.first)-1), max(e.to, f.lineOf(p.end))
		if len(spans) == 1 && p.parent != nil && !p.flow {
			e.from = f.lineOf(f.head(p)) - 1
		}
		return
	}
	e.to = f.lineOf(max(f.behindDeeper(end, f.column(start))-1, end))
	for e.to < len(f.lines) && strings.TrimSpace(string(f.data[f.lines[e.to]:f.lineEnd(f.lines[e.to])])) == "" {
		e.to++ // blank lines may go with it where they would come to belong to a block above
	}
	if !f.startsLine(start) {
		e.to++ // what follows takes the place behind the dash
	}
}

// strayed says what an edit changed that was none of its business.
func (e *lineEdit) strayed(after []byte) string {
	if bytes.HasPrefix(e.file.data, bom) != bytes.HasPrefix(after, bom) {
		return "the byte order mark is lost"
	}
	ended := bytes.HasSuffix(e.file.data, []byte("\n"))
	had, has := lines(e.file.data, ended), lines(after, ended)
	head, tail := e.from, len(had)-min(e.to, len(had))
	if len(has) < head+tail {
		return fmt.Sprintf("only %d lines are left", len(has))
	}
	for i := range head {
		if had[i] != has[i] {
			return fmt.Sprintf("line %d changed to %q", i+1, has[i])
		}
	}
	for i := range tail {
		if have, now := had[len(had)-1-i], has[len(has)-1-i]; have != now {
			return fmt.Sprintf("line %d changed to %q", len(had)-i, now)
		}
	}
	if e.whole {
		i := 0
		for _, line := range has {
			if i < len(had) && had[i] == line {
				i++
			}
		}
		if i < len(had) {
			return fmt.Sprintf("line %d is lost", i+1)
		}
	}
	return ""
}

// lines are those of a text that ends in a line break, or does not.
func lines(data []byte, ended bool) []string {
	eol := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		eol = "\r\n"
	}
	text := string(bytes.TrimPrefix(data, bom))
	if ended {
		text = strings.TrimSuffix(text, eol)
	}
	return strings.Split(text, eol)
}
