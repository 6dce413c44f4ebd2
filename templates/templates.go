package templates

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"
)

//go:embed *.tmpl
var files embed.FS

// MaxBody is the longest body that all forges take, in characters (GitHub's limit).
const MaxBody = 65536

// PullRequestBody gives the Markdown of a pull request.
func PullRequestBody(v PullRequest) (string, error) { return render("pull-request.tmpl", v) }

// IssueBody gives the Markdown of an issue.
func IssueBody(v Issue) (string, error) { return render("issue.tmpl", v) }

// RevertRecord gives the Markdown file that a revert commits.
func RevertRecord(v Record) (string, error) { return render("revert-record.tmpl", v) }

// CommitMessage gives a commit message with trailers.
func CommitMessage(v Commit) (string, error) { return render("commit.tmpl", v) }

func render(name string, view any) (string, error) {
	t, err := template.New(name).Funcs(template.FuncMap{
		"code": Code, "cell": Cell, "fence": fence, "line": Printable, "prose": Prose, "short": short, "title": title, "row": row, "rule": rule,
	}).ParseFS(files, name, "parts.tmpl")
	if err != nil {
		return "", fmt.Errorf("template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, view); err != nil {
		return "", fmt.Errorf("template %s: %w", name, err)
	}
	return tidy(withoutComments(out.String())), nil
}

// withoutComments opens up HTML comments: only Holdfast's own marks, which are put behind the text, may look
// like them.
func withoutComments(text string) string { return strings.ReplaceAll(text, "<!--", "<! --") }

// tidy leaves one blank line at most between blocks, and one line break at the end.
func tidy(text string) string {
	var out []string
	fence, blank := "", true
	for _, line := range strings.Split(text, "\n") {
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = line[:len(line)-len(strings.TrimLeft(line, "`"))]
		case line == fence:
			fence = ""
		}
		fenced := fence != ""
		if !fenced {
			line = strings.TrimRight(line, " ")
		}
		if line == "" && blank && !fenced {
			continue
		}
		blank = line == ""
		out = append(out, line)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}

// Code gives text as a Markdown code span that it cannot break out of, on one line, and in which nothing
// is a mention or a link.
func Code(text string) string {
	if text == "" {
		return ""
	}
	text = Printable(text)
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// Cell is Code for a table: long values are cut, absent ones are a dash, borders are escaped.
func Cell(text string) string {
	if text == "" {
		return "–"
	}
	if runes := []rune(text); len(runes) > 120 {
		text = string(runes[:119]) + "…"
	}
	return strings.ReplaceAll(Code(text), "|", `\|`)
}

// fence gives text in a fenced block that it cannot close.
func fence(language, text string) string {
	ticks := strings.Repeat("`", max(3, longestRun(text)+1))
	return ticks + language + "\n" + strings.TrimRight(Lines(text), "\n") + "\n" + ticks
}

func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

func title(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return strings.ToUpper(string(r)) + text[n:]
}

func short(hash string) string {
	if len(hash) > 12 {
		return hash[:12]
	}
	return hash
}

// spare is the room that Cut leaves for what publishing adds to a body later, such as that the engine undid
// the drift.
const spare = 512

// Cut shortens a body to what forges take, at a line, with a pointer to the whole; tail is kept.
func Cut(body, hint, tail string) string {
	room := MaxBody - utf8.RuneCountInString(tail) - utf8.RuneCountInString(hint) - spare
	if utf8.RuneCountInString(body) <= room {
		return body + tail
	}
	cut := string([]rune(body)[:room])
	if i := strings.LastIndexByte(cut, '\n'); i > 0 {
		cut = cut[:i+1]
	}
	return cut + closing(cut) + "\n_Cut here: " + hint + "_\n" + tail
}

// closing gives the lines that close the fence or the folded part in which text ends.
func closing(text string) string {
	fence, folded := "", 0
	for _, line := range strings.Split(text, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && line == fence:
			fence = ""
		case fence == "":
			folded += strings.Count(line, "<details>") - strings.Count(line, "</details>")
		}
	}
	if fence != "" {
		fence += "\n"
	}
	return fence + strings.Repeat("\n</details>\n", max(folded, 0))
}
