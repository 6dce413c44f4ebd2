package chart

import (
	"regexp"
	"strconv"
	"strings"
)

// The engine runs a template to its end, however long that takes and however much it writes. So the text of each
// template is given to it with calls of three functions put in, which can stop it: a step at the start of each
// turn of a loop and of each named template, which counts the text that stands there, a look at what each action writes,
// and the same treatment for the text that tpl evaluates. What a template says is not changed by them, and line
// numbers stay as they are.
const (
	stepName = "holdfastStep"
	outName  = "holdfastOut"
	textName = "holdfastText"
)

var (
	assignment = regexp.MustCompile(`^\$\w*\s*:?=`)
	// emptyDefine is what follows the start of a named template without content, which must stay without: the
	// engine lets such a one not replace another of the same name.
	emptyDefine = regexp.MustCompile(`^(?s:\s|\{\{-?\s*/\*.*?\*/\s*-?\}\})*\{\{-?\s*end\b`)
	keyword     = regexp.MustCompile(`^[a-z]+`)
	// ownCalls are the calls that this file adds, as error messages repeat them.
	ownCalls = regexp.MustCompile(` \| ` + outName + `|` + textName + ` `)
)

// guarded gives a template's text with the calls. A text that is no template is left for the engine to refuse.
func guarded(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	var g guarding
	for at := 0; ; {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			g.text(text[at:])
			break
		}
		open += at
		g.text(text[at:open])
		end, comment := actionEnd(text, open)
		if end < 0 {
			return text
		}
		if comment {
			g.pieces = append(g.pieces, text[open:end])
		} else {
			g.action(text[open:end], text[end:])
		}
		at = end
	}
	for _, f := range g.steps {
		g.pieces[f.piece] = f.head + stepName + " " + strconv.Itoa(f.bytes) + f.tail
	}
	return strings.Join(g.pieces, "")
}

// guarding is a text in the making.
type guarding struct {
	pieces []string
	// open are the blocks around the place, each with the step that counts for it, or nil.
	open []*frame
	// steps are all steps put in.
	steps []*frame
}

// frame is a step, and the text that stands in the turn that it begins.
type frame struct {
	piece      int
	head, tail string
	bytes      int
}

func (g *guarding) text(text string) {
	g.pieces = append(g.pieces, text)
	if n := len(g.open); n > 0 && g.open[n-1] != nil {
		g.open[n-1].bytes += len(text)
	}
}

// actionEnd gives the offset behind the action that starts at open, or -1.
func actionEnd(text string, open int) (end int, comment bool) {
	i := open + 2
	rest := text[i:]
	if strings.HasPrefix(rest, "-") && len(rest) > 1 && isSpace(rest[1]) {
		rest = strings.TrimLeft(rest[1:], " \t\r\n")
	}
	if strings.HasPrefix(rest, "/*") {
		i = len(text) - len(rest)
		stop := strings.Index(text[i:], "*/")
		if stop < 0 {
			return -1, true
		}
		i += stop
		close := strings.Index(text[i:], "}}")
		if close < 0 {
			return -1, true
		}
		return i + close + 2, true
	}
	for i < len(text) {
		if next := skipQuoted(text, i); next != i {
			if next < 0 {
				return -1, false
			}
			i = next
			continue
		}
		if strings.HasPrefix(text[i:], "}}") {
			return i + 2, false
		}
		i++
	}
	return -1, false
}

// skipQuoted gives the offset behind the string or character constant that starts at i; i where none does, -1
// where it has no end.
func skipQuoted(text string, i int) int {
	quote := text[i]
	if quote != '"' && quote != '\'' && quote != '`' {
		return i
	}
	for j := i + 1; j < len(text); j++ {
		switch {
		case text[j] == '\\' && quote != '`':
			j++
		case text[j] == quote:
			return j + 1
		}
	}
	return -1
}

// action adds an action with what it needs. after is the text behind it.
func (g *guarding) action(action, after string) {
	inner := action[2 : len(action)-2]
	head, tail := "{{", "}}"
	if len(inner) > 1 && inner[0] == '-' && isSpace(inner[1]) {
		head, inner = "{{-", inner[1:]
	}
	if n := len(inner); n > 1 && inner[n-1] == '-' && isSpace(inner[n-2]) {
		tail, inner = "-}}", inner[:n-1]
	}
	inner = guardedTexts(inner)
	words := strings.TrimSpace(inner)
	word := keyword.FindString(words)
	if len(words) > len(word) && isWord(words[len(word)]) {
		word = "" // a function whose name begins so
	}
	var around *frame
	if n := len(g.open); n > 0 {
		around = g.open[n-1]
	}
	switch word {
	case "define", "block", "range":
		g.pieces = append(g.pieces, head+inner+tail)
		if word != "range" && emptyDefine.MatchString(after) {
			g.open = append(g.open, nil)
			return
		}
		f := &frame{piece: len(g.pieces), head: "{{", tail: "}}"}
		if tail == "-}}" {
			f.head, f.tail = "{{- ", " -}}" // what follows is trimmed as before
		}
		g.pieces = append(g.pieces, "")
		g.steps, g.open = append(g.steps, f), append(g.open, f)
		return
	case "if", "with":
		g.open = append(g.open, around)
	case "end":
		g.open = g.open[:max(0, len(g.open)-1)]
	case "else", "template", "break", "continue":
	default:
		if words != "" && !assignment.MatchString(words) {
			// What follows the last word, line breaks included, stays where it is.
			trimmed := strings.TrimRight(inner, " \t\r\n")
			inner = trimmed + " | " + outName + inner[len(trimmed):]
		}
	}
	g.pieces = append(g.pieces, head+inner+tail)
}

// guardedTexts wraps the first operand of each call of tpl.
func guardedTexts(inner string) string {
	if !strings.Contains(inner, "tpl") {
		return inner
	}
	var b strings.Builder
	for i := 0; i < len(inner); {
		if next := skipQuoted(inner, i); next > i {
			b.WriteString(inner[i:next])
			i = next
			continue
		}
		if !strings.HasPrefix(inner[i:], "tpl") || i > 0 && (isWord(inner[i-1]) || strings.ContainsRune(".$", rune(inner[i-1]))) ||
			i+3 >= len(inner) || !isSpace(inner[i+3]) {
			b.WriteByte(inner[i])
			i++
			continue
		}
		start := i + 3
		for start < len(inner) && isSpace(inner[start]) {
			start++
		}
		end := operandEnd(inner, start)
		b.WriteString(inner[i:start])
		if end > start {
			b.WriteString("(" + textName + " " + guardedTexts(inner[start:end]) + ")")
		}
		i = end
	}
	return b.String()
}

// operandEnd gives the offset behind one operand: a text, a field, or something in parentheses.
func operandEnd(text string, start int) int {
	depth := 0
	for i := start; i < len(text); {
		if next := skipQuoted(text, i); next != i {
			if next < 0 {
				return len(text)
			}
			i = next
			continue
		}
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')' && depth == 0, depth == 0 && (isSpace(c) || c == '|'):
			return i
		case c == ')':
			depth--
		}
		i++
	}
	return len(text)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
