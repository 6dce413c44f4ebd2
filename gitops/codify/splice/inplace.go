package splice

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// inPlace changes only the part of a scalar over several lines in which its text differs from s, so that its other
// lines stay. It gives nil where the scalar stands on one line, or where that does not lead to s.
func (f *file) inPlace(n *node, s string) []change {
	if f.lineOf(n.start) == f.lineOf(n.end) {
		return nil
	}
	value := n.y.Value
	places, end := f.places(n)
	if places == nil {
		return nil
	}
	from, toHave, toWant := differing(value, s)
	if from > len(places) || toHave > len(places) || strings.ContainsAny(s[from:toWant], "\n\r") {
		return nil
	}
	at := func(i int) int {
		if i < len(places) {
			return places[i]
		}
		return end
	}
	middle := s[from:toWant]
	switch quotesOf(n) {
	case single:
		middle = strings.ReplaceAll(middle, "'", "''")
	case double:
		middle = strings.TrimSuffix(strings.TrimPrefix(doubleQuoted(middle), `"`), `"`)
	}
	changes := []change{{at(from), at(toHave), middle}}
	if !f.reads(changes, n, s) {
		return nil
	}
	return changes
}

// differing gives the part in which two texts differ, cut between characters: have[from:toHave] against
// want[from:toWant].
func differing(have, want string) (from, toHave, toWant int) {
	for from < len(have) && from < len(want) && have[from] == want[from] {
		from++
	}
	for from > 0 && (from < len(have) && !utf8.RuneStart(have[from]) || from < len(want) && !utf8.RuneStart(want[from])) {
		from--
	}
	toHave, toWant = len(have), len(want)
	for toHave > from && toWant > from && have[toHave-1] == want[toWant-1] {
		toHave--
		toWant--
	}
	for toHave < len(have) && !utf8.RuneStart(have[toHave]) {
		toHave++
		toWant++
	}
	return from, toHave, toWant
}

// reads says whether, after the changes, scalar n reads as s and everything else as before.
func (f *file) reads(changes []change, n *node, s string) bool {
	after, err := parse(apply(f.data, changes))
	if err != nil {
		return false
	}
	before := n.y.Value
	n.y.Value = s
	want := f.contents()
	n.y.Value = before
	return equal(any(after.contents()), any(want))
}

// places gives for each byte of a scalar's value where it stands in the text, and where the last one ends. A break
// that folds away stands where its line ends. Line breaks at the end of a block are left out. Nil: it cannot be told.
func (f *file) places(n *node) (places []int, end int) {
	switch n.y.Style &^ yaml.TaggedStyle {
	case yaml.FoldedStyle:
		return f.foldedPlaces(n)
	case yaml.LiteralStyle:
		return nil, 0 // its lines are compared one by one
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		return f.flowPlaces(n, n.start+1, n.end-1)
	}
	return f.flowPlaces(n, n.start, n.end)
}

// flowPlaces reads a plain or quoted scalar between two offsets beside its value.
func (f *file) flowPlaces(n *node, at, end int) ([]int, int) {
	value, quotes := n.y.Value, quotesOf(n)
	var out []int
	for i := 0; i < len(value); {
		if at >= end {
			return nil, 0
		}
		if behind, breaks := fold(f.data[:end], at); breaks > 0 {
			for range max(breaks-1, 1) {
				if i >= len(value) || value[i] != ' ' && value[i] != '\n' {
					return nil, 0
				}
				out = append(out, at)
				i++
			}
			at = behind
			continue
		}
		width, size := 1, 1
		switch {
		case quotes == double && f.data[at] == '\\':
			if width, size = escape(f.data[at:end]); width == 0 {
				return nil, 0
			}
		case quotes == single && f.data[at] == '\'':
			width = 2
		case f.data[at] != value[i]:
			return nil, 0
		}
		for range size {
			out = append(out, at)
		}
		at, i = at+width, i+size
	}
	return out, at
}

// escape gives how many bytes an escape sequence takes in the text and in the value; 0 for one that is not known.
func escape(text []byte) (width, size int) {
	if len(text) < 2 {
		return 0, 0
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[1]]
	switch {
	case digits == 0 && strings.IndexByte(`0abtnvfre "/\`, text[1]) >= 0:
		return 2, 1
	case digits == 0 || len(text) < 2+digits:
		return 0, 0
	}
	r := rune(0)
	for _, c := range text[2 : 2+digits] {
		r = r<<4 | rune(strings.IndexByte("0123456789abcdef", c|0x20)&0xf)
	}
	return 2 + digits, utf8.RuneLen(r)
}

// foldedPlaces reads a folded block: one break between two lines is a blank, more are one fewer; around lines that
// begin with white space all breaks count.
func (f *file) foldedPlaces(n *node) ([]int, int) {
	b := f.block(n)
	var built strings.Builder
	var out []int
	put := func(c byte, at int) {
		built.WriteByte(c)
		out = append(out, at)
	}
	breaks, last, deep := 0, -1, true
	for _, at := range b.lines {
		lineEnd := f.lineEnd(at)
		from := min(at+b.indent, lineEnd)
		if from == lineEnd {
			breaks++
			continue
		}
		deeper := f.data[from] == ' ' || f.data[from] == '\t'
		switch {
		case last < 0 || deep || deeper:
			for range breaks {
				put('\n', max(last, b.header))
			}
		case breaks == 1:
			put(' ', last)
		default:
			for range breaks - 1 {
				put('\n', last)
			}
		}
		for j := from; j < lineEnd; j++ {
			put(f.data[j], j)
		}
		breaks, last, deep = 1, lineEnd, deeper
	}
	text := built.String()
	if last < 0 || !strings.HasPrefix(n.y.Value, text) || strings.Trim(n.y.Value[len(text):], "\n") != "" {
		return nil, 0
	}
	return out, last
}

// escapes says whether a double-quoted scalar spells its other characters than ASCII as escapes.
func (f *file) escapes(n *node) bool {
	if quotesOf(n) != double {
		return false
	}
	ascii := true
	for _, c := range f.data[n.start:n.end] {
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii && strings.ContainsFunc(n.y.Value, func(r rune) bool { return r >= utf8.RuneSelf && printable(r) })
}
