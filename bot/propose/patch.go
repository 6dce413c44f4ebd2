package propose

import (
	"fmt"
	"strings"
)

// patchLine is a line of a unified diff: its operation (space, - or +), its text with the line end and what
// diff says of a missing one, and its numbers, from 1, in the files before and after.
type patchLine struct {
	op            byte
	text          string
	before, after int
}

// plain is the line as the file has it.
func (l patchLine) plain() string {
	text, _, unended := strings.Cut(l.text, "\\ No newline")
	if unended {
		return strings.TrimSuffix(text, "\n")
	}
	return text
}

// hunks reads the lines of a unified diff, whose header is passed over.
func hunks(patch string) []patchLine {
	var out []patchLine
	var before, after int
	inside := false
	for line := range strings.Lines(patch) {
		if strings.HasPrefix(line, "@@ ") {
			var n int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,", &before, &n, &after); err != nil {
				return out
			}
			inside = true
			continue
		}
		if !inside {
			continue
		}
		l := patchLine{op: line[0], text: line[1:], before: before, after: after}
		switch l.op {
		case ' ':
			before, after = before+1, after+1
		case '-':
			before++
		case '+':
			after++
		case '\\':
			out[len(out)-1].text += line
			continue
		}
		out = append(out, l)
	}
	return out
}

// withoutContext prints a unified diff again, without the context lines that unsafe names by their number
// before. The header is kept.
func withoutContext(patch string, unsafe map[int]bool) string {
	header, _, ok := strings.Cut(patch, "@@ ")
	if !ok {
		return patch
	}
	var out strings.Builder
	out.WriteString(header)
	var run []patchLine
	flush := func() {
		writeHunk(&out, run)
		run = nil
	}
	for _, l := range hunks(patch) {
		if l.op == ' ' && unsafe[l.before] {
			flush()
			continue
		}
		if len(run) > 0 && !follows(run[len(run)-1], l) {
			flush()
		}
		run = append(run, l)
	}
	flush()
	return out.String()
}

func follows(a, b patchLine) bool {
	before, after := a.before, a.after
	if a.op != '+' {
		before++
	}
	if a.op != '-' {
		after++
	}
	return b.before == before && b.after == after
}

// writeHunk prints lines that follow each other as one hunk; context alone is none.
func writeHunk(out *strings.Builder, lines []patchLine) {
	var before, after int
	for _, l := range lines {
		if l.op != '+' {
			before++
		}
		if l.op != '-' {
			after++
		}
	}
	contextOnly := true
	for _, l := range lines {
		contextOnly = contextOnly && l.op == ' '
	}
	if contextOnly {
		return
	}
	first := lines[0]
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", start(first.before, before), before, start(first.after, after), after)
	for _, l := range lines {
		out.WriteString(string(l.op) + l.text)
	}
}

// start is the number that a hunk's header gives: the line before, where the side has none.
func start(line, count int) int {
	if count == 0 {
		return line - 1
	}
	return line
}
