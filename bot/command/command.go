// Package command reads what people ask of Holdfast in comments, and says who may ask for what. It does no I/O.
//
// A command stands alone on its line, as "/drift revert" does, in any case. What is quoted, fenced, indented as code,
// struck out or hidden in HTML is not said by the author and does not count; where it cannot be told, it does not
// count either. Edited comments and those of bots ask for nothing. Asking never acts by itself: a command is a fact,
// and what follows from it is decided where all facts are.
package command

import (
	"strings"
	"time"
	"unicode"

	"holdfast/bot"
)

// Verb is what a command asks for.
type Verb string

// The verbs.
const (
	Codify   Verb = "codify"   // make the live state the declared one
	Revert   Verb = "revert"   // make the declared state the live one again
	Ignore   Verb = "ignore"   // let the drift be for a time
	Unignore Verb = "unignore" // end that time now
	Explain  Verb = "explain"  // say why the drift is judged as it is
	Rescan   Verb = "rescan"   // look again now
	Status   Verb = "status"   // say where things stand
	Help     Verb = "help"     // say what can be asked
)

// Verbs lists all verbs, in the order in which a help shows them.
func Verbs() []Verb {
	return []Verb{Codify, Revert, Ignore, Unignore, Explain, Rescan, Status, Help}
}

// Usage is how a verb is written.
func (v Verb) Usage() string {
	if v == Ignore {
		return "/drift ignore <duration> <reason>"
	}
	return "/drift " + string(v)
}

// Problem says why a command cannot be obeyed as it is written.
type Problem string

// The problems. A command without one can be asked for.
const (
	UnknownVerb Problem = "unknown command"
	ExtraText   Problem = "nothing may follow this command"
	NoDuration  Problem = "the duration is missing"
	BadDuration Problem = "the duration is not of the form 30m, 12h, 7d or 2w"
	NoReason    Problem = "the reason is missing"
)

// Command is one line of a comment.
type Command struct {
	// Verb is empty with the problem UnknownVerb.
	Verb Verb
	// For and Reason belong to Ignore. Reason is plain text on one line of at most MaxReason characters.
	For    time.Duration
	Reason string
	// Problem is empty for a command that is written as it should be.
	Problem Problem
	// Line counts from 1; Text is the line as plain text, cut after MaxReason characters.
	Line int
	Text string
}

// Limits of what is taken from a comment.
const (
	MaxCommands = 5   // of one comment
	MaxReason   = 500 // characters of a reason
)

// Parsed is what a comment asks for.
type Parsed struct {
	// Commands are in the order of the comment. Of commands with the problem UnknownVerb there is at most one.
	Commands []Command
	// Dropped is how many commands follow beyond MaxCommands; they are not obeyed.
	Dropped int
}

// Skipped says why a comment asks for nothing, whatever it says.
type Skipped string

// Why comments are skipped.
const (
	NotSkipped Skipped = ""
	ByBot      Skipped = "a bot wrote it"
	WasEdited  Skipped = "it was edited"
)

// Read gives the commands of a comment, and why it is skipped as a whole.
func Read(c bot.Comment) (Parsed, Skipped) {
	switch {
	case c.Author.Bot:
		return Parsed{}, ByBot
	case c.Edited():
		return Parsed{}, WasEdited
	}
	return Parse(c.Body), NotSkipped
}

// Parse gives the commands of a text in time linear in its length.
func Parse(body string) Parsed {
	var out Parsed
	unknown := false
	for number, line := range spoken(body) {
		c, ok := parseLine(line)
		if !ok || c.Problem == UnknownVerb && unknown {
			continue
		}
		unknown = unknown || c.Problem == UnknownVerb
		if len(out.Commands) == MaxCommands {
			out.Dropped++
			continue
		}
		c.Line, c.Text = number, plain(line)
		out.Commands = append(out.Commands, c)
	}
	return out
}

// parseLine reads one line; ok is false for one that is no command.
func parseLine(line string) (c Command, ok bool) {
	word, rest := cutWord(line)
	if !strings.EqualFold(word, "/drift") {
		return Command{}, false
	}
	word, rest = cutWord(rest)
	if word == "" {
		return Command{Verb: Help}, true
	}
	for _, v := range Verbs() {
		if strings.EqualFold(word, string(v)) {
			c.Verb = v
		}
	}
	switch {
	case c.Verb == "":
		c.Problem = UnknownVerb
	case c.Verb == Ignore:
		c.For, c.Reason, c.Problem = parseIgnore(rest)
	case rest != "":
		c.Problem = ExtraText
	}
	return c, true
}

func parseIgnore(rest string) (time.Duration, string, Problem) {
	word, rest := cutWord(rest)
	if word == "" {
		return 0, "", NoDuration
	}
	length, ok := parseDuration(word)
	reason := plain(rest)
	switch {
	case !ok:
		return 0, "", BadDuration
	case reason == "":
		return 0, "", NoReason
	}
	return length, reason, ""
}

// parseDuration reads a whole number of minutes, hours, days or weeks. Four digits are more than any floor allows.
func parseDuration(word string) (time.Duration, bool) {
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	word = strings.ToLower(word)
	last := len(word) - 1
	unit, known := units[word[last]]
	if !known || last == 0 || last > 4 {
		return 0, false
	}
	n := 0
	for _, digit := range word[:last] {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = n*10 + int(digit-'0')
	}
	return time.Duration(n) * unit, n > 0
}

func cutWord(text string) (word, rest string) {
	text = strings.Trim(text, " \t")
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], strings.Trim(text[i:], " \t")
	}
	return text, ""
}

// plain makes one line of printable characters: what steers a terminal or the direction of text goes, white space is
// single. It is cut after MaxReason characters.
func plain(text string) string {
	var out strings.Builder
	n := 0
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = n > 0
			continue
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			continue
		}
		if space {
			out.WriteByte(' ')
			n++
		}
		if n >= MaxReason {
			return strings.TrimRight(out.String(), " ") + "…"
		}
		space = false
		out.WriteRune(r)
		n++
	}
	return out.String()
}
