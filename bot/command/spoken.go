package command

import (
	"iter"
	"strings"
)

// spoken gives the lines of a Markdown text that its author says, with their numbers from 1: paragraphs at the margin,
// indented by three columns at most. It follows CommonMark 0.31 (spec.commonmark.org) and its dialects on GitHub and
// GitLab as far as needed to leave out, always, what they show as quoted, as code, as struck out, or not at all. Where
// that would take a whole Markdown parser it leaves out more: after raw HTML, and after code in a list that is not
// closed as it was opened, nothing counts.
func spoken(body string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		var r reader
		number := 0
		for line := range strings.Lines(strings.ReplaceAll(body, "\r\n", "\n")) {
			for part := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\r") {
				number++
				if r.next(part) && !yield(number, part) {
					return
				}
			}
			if r.lost {
				return
			}
		}
	}
}

// reader is what is open at the end of a line.
type reader struct {
	fence  fence
	hidden bool // a comment of HTML that began at the margin
	quoted bool // a quotation's paragraph, which goes on until a blank line
	code   int  // a code span of so many backticks
	struck bool
	lost   bool // nothing counts any more
}

// fence is an open block of fenced code; length 0 is none.
type fence struct {
	char   byte
	length int
	// column is where it was opened; inner says that it may belong to a list.
	column int
	inner  bool
}

// next reads a line and says whether its author says it.
func (r *reader) next(line string) bool {
	column, rest := indentation(line, 0)
	switch {
	case r.lost:
		return false
	case r.fence.length > 0:
		r.inFence(column, rest)
		return false
	case r.hidden:
		r.hidden = !strings.Contains(line, "-->")
		return false
	case rest == "":
		r.endParagraph()
		return false
	}
	inner, text := insideList(column, rest)
	if strings.HasPrefix(text, ">") {
		// GitLab's >>> quotes all that follows, up to the next one.
		r.quoted, r.lost = true, strings.HasPrefix(text, ">>>")
		return false
	}
	if char, length := openingFence(text); length > 0 {
		r.endParagraph()
		r.fence = fence{char: char, length: length, column: inner, inner: inner > 0}
		return false
	}
	if strings.HasPrefix(line, "<!--") {
		r.endParagraph()
		r.hidden = !strings.Contains(line, "-->")
		return false
	}
	if strings.HasPrefix(text, "<") && html(text) < 0 {
		r.lost = true // a block of HTML, whatever the paragraph before it left open
		return false
	}
	says := column < 4 && inner == column && !r.quoted && r.code == 0 && !r.struck
	r.inline(text)
	return says
}

func (r *reader) endParagraph() { r.quoted, r.code, r.struck = false, 0, false }

// inFence looks for the end of fenced code. Of code that may be a list's, it is not known where the list ends: it must
// be closed in the column in which it was opened, and nothing may stand before that column until then.
func (r *reader) inFence(column int, rest string) {
	if rest == "" {
		return
	}
	end := strings.TrimLeft(rest, string(r.fence.char))
	closes := len(rest)-len(end) >= r.fence.length && strings.Trim(end, " \t") == ""
	switch {
	case !r.fence.inner:
		if closes && column < 4 {
			r.fence = fence{}
		}
	case closes && column == r.fence.column:
		r.fence = fence{}
	case closes || column < r.fence.column:
		r.lost = true
	}
}

// openingFence gives the character and the length of a fence that opens a block; 0 for none.
func openingFence(text string) (char byte, length int) {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return 0, 0
	}
	info := strings.TrimLeft(text, text[:1])
	length = len(text) - len(info)
	if length < 3 || text[0] == '`' && strings.Contains(info, "`") {
		return 0, 0
	}
	return text[0], length
}

// indentation gives the column at which a line's text begins, and the text. A tab ends at a multiple of four.
func indentation(line string, column int) (int, string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return column, line[i:]
		}
	}
	return column, ""
}

// insideList gives what stands after the marks of list items that a line begins with, and its column.
func insideList(column int, text string) (int, string) {
	for {
		mark := listMark(text)
		if mark == 0 || mark < len(text) && text[mark] != ' ' && text[mark] != '\t' {
			return column, text
		}
		column, text = indentation(text[mark:], column+mark)
	}
}

// listMark gives the length of a list item's mark at the beginning of a text: -, +, *, 1. or 1). 0 is none.
func listMark(text string) int {
	if text != "" && strings.IndexByte("-+*", text[0]) >= 0 {
		return 1
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits == 0 || digits > 9 || digits == len(text) || text[digits] != '.' && text[digits] != ')' {
		return 0
	}
	return digits + 1
}

// inline looks for what a line leaves open: a code span, text that is struck out, HTML.
func (r *reader) inline(text string) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '`':
			length := run(text[i:])
			if r.code == 0 {
				r.code = length
			} else if r.code == length {
				r.code = 0
			}
			i += length
			continue
		case r.code > 0:
		case c == '\\':
			i++ // the next character means itself
		case c == '~':
			length := run(text[i:])
			r.struck = r.struck != (length == 2)
			i += length
			continue
		case c == '<':
			skip := html(text[i:])
			if skip < 0 {
				r.lost = true
				return
			}
			i += skip
		}
		i++
	}
}

// run is how often the first character is repeated.
func run(text string) int { return len(text) - len(strings.TrimLeft(text, text[:1])) }

// html gives how many characters of a text that begins with < can be passed over: those of a comment, or none where it
// is no HTML; -1 for HTML that may go on.
func html(text string) int {
	if strings.HasPrefix(text, "<!--") {
		if end := strings.Index(text[4:], "-->"); end >= 0 {
			return 4 + end + 2
		}
		return -1
	}
	for _, link := range []string{"<http://", "<https://", "<mailto:"} {
		if strings.HasPrefix(text, link) {
			return 0
		}
	}
	if len(text) > 1 && (strings.IndexByte("/!?", text[1]) >= 0 || text[1]|0x20 >= 'a' && text[1]|0x20 <= 'z') {
		return -1
	}
	return 0
}
