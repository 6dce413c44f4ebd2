package publish

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The marks that stand in bodies before the marker, each on a line of its own. Texts from outside cannot make one:
// templates open up what looks like an HTML comment.
const (
	// healedMark ends the note of a codify whose live value is gone for now, changedMark that of one in whose place
	// a third value is live.
	healedMark  = "<!-- holdfast healed -->"
	changedMark = "<!-- holdfast changed -->"
	// closedMark begins the mark of a thread that Holdfast itself closed, so that a person's closing is told from it.
	closedMark = "<!-- holdfast closed"
)

func hasMark(body, mark string) bool { return strings.Contains(body, mark) }

func hasNote(body string) bool { return hasMark(body, healedMark) || hasMark(body, changedMark) }

// note is a remark that a body carries until the next content, with its mark.
func note(text, mark string) string { return "\n> " + text + "\n" + mark + "\n" }

// withoutNote takes an earlier remark out of a body, so that the next one takes its place.
func withoutNote(body string) string {
	return regexp.MustCompile(`\n> [^\n]*\n<!-- holdfast (?:healed|changed) -->\n`).ReplaceAllString(body, "")
}

// closingMark marks a closing that begins at a time, which names it.
func closingMark(at time.Time) string {
	return closedMark + " " + strconv.FormatInt(at.Unix(), 10) + " -->\n"
}

// closedAt names the closing that a body is marked with; empty for none.
func closedAt(body string) string {
	all := regexp.MustCompile(closedMark+` ([0-9]+) -->`).FindAllStringSubmatch(body, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

// closingComment marks the comment of a closing.
func closingComment(name string) string { return "<!-- holdfast closing " + name + " -->" }
