package templates

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxTitle is the longest title that all forges take, in characters: GitLab's limit of 255, below GitHub's.
const MaxTitle = 255

// Printable gives text on one line and without anything that a terminal or a browser obeys: line breaks
// become ⏎, other control characters, those that turn the direction of writing and those that take no room
// become an escape that can be read, such as \x1b.
func Printable(text string) string { return visible(text, "⏎") }

// Lines is Printable for a text of several lines: line breaks and tabs stay.
func Lines(text string) string { return visible(text, "\n") }

func visible(text, lineBreak string) string {
	if !strings.ContainsFunc(text, Obeyed) && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case r == '\n':
			out.WriteString(lineBreak)
		case r == '\r' && strings.HasPrefix(text[i:], "\r\n"):
		case r == '\t' && lineBreak == "\n":
			out.WriteByte('\t')
		case Obeyed(r) && r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		case Obeyed(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
		i += size
	}
	return out.String()
}

// Obeyed says whether a character steers what shows it: C0 and C1 controls, line and paragraph separators,
// marks and overrides of direction (Unicode Annex 9), zero-width characters and the byte order mark.
func Obeyed(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0xad, r == 0x61c, r == 0xfeff:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x2069:
		return true
	}
	return false
}

// Title gives text as the title of a thread: one line, no longer than forges take.
func Title(text string) string {
	text = Printable(text)
	if runes := []rune(text); len(runes) > MaxTitle {
		return string(runes[:MaxTitle-1]) + "…"
	}
	return text
}

// Prose gives text that holds names from outside as one line of Markdown: it opens no HTML, code, table
// cell or link with a hidden target, and mentions no person, team or issue (forges look for those in the
// text that Markdown gives, so an escape does not help there and a character that takes no room is put in
// between).
func Prose(text string) string {
	text = strings.NewReplacer(`\`, `\\`, "<", `\<`, "`", "\\`", "|", `\|`, "](", `]\(`, "*", `\*`, "~", `\~`).Replace(Printable(text))
	text = mention.ReplaceAllString(text, "$1@\u200b$2")
	return reference.ReplaceAllString(text, "$1\u200b$2")
}

// What forges take for a person or team, which is not inside a word, as an address has it, and for an issue
// or merge request.
var (
	mention   = regexp.MustCompile(`(^|[^0-9A-Za-z])@([0-9A-Za-z_])`)
	reference = regexp.MustCompile(`([#!&])([0-9])`)
)
