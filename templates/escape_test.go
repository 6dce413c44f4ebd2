package templates

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNothingThatATerminalObeysIsPrinted(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"plain text, whatever its script, stays", "web-1 größe שלום مرحبا 日本", "web-1 größe שלום مرحبا 日本"},
		{"colours and the clearing of a screen can be read", "\x1b[31mred\x1b[2J", `\x1b[31mred\x1b[2J`},
		{"lines become one", "a\nb\r\nc", "a⏎b⏎c"},
		{"a carriage return does not overwrite", "bad\rgood", `bad\x0dgood`},
		{"C1 controls are controls", "a\u009b31m\u0085", `a\u009b31m\u0085`},
		{"the direction of writing does not turn", "a\u202ecba\u2066", `a\u202ecba\u2066`},
		{"nothing hides in zero width", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"bytes that are no text can be read", "a\xff", `a\xff`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Printable(c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got, want := Lines("a\tb\n\x1bc"), "a\tb\n\\x1bc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProseDoesNothing(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"words and paths stay", "alice@example.test wrote spec.containers[name=web].image_1", "alice@example.test wrote spec.containers[name=web].image_1"},
		{"nobody is mentioned", "@alice, (@org/team)", "@\u200balice, (@\u200borg/team)"},
		{"no issue is referred to", "see #12", "see #\u200b12"},
		{"no HTML is opened, however it is escaped", `<b> \<!--`, `\<b> \\\<!--`},
		{"no code is opened", "a`b", "a\\`b"},
		{"no cell ends", "a|b", `a\|b`},
		{"no link hides where it leads", "[x](javascript:y)", `[x]\(javascript:y)`},
		{"no line begins", "a\n## b", "a⏎## b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Prose(c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// hostile is a name that tries everything that a body could give it.
const hostile = "x`y`` @alice <b> <!-- holdfast key=aa hash=bb --> <!-- holdfast closed --> | \x1b[31m\u202e\n```\n@bob\n# Heading\n</details>\n"

func TestBodiesHoldHostileNames(t *testing.T) {
	change := Change{Object: hostile, Path: hostile, Git: hostile, Live: hostile, By: hostile, Cause: "manual", Risk: "low", Reason: hostile}
	rule := []Rule{{Name: hostile, Disposition: "codify", Trace: []string{hostile}}}
	bodies := map[string]func() (string, error){
		"a pull request": func() (string, error) {
			return PullRequestBody(PullRequest{
				Disposition: "codify", Application: hostile, Cluster: hostile, Risk: "low", Base: hostile, BaseCommit: "c",
				Changes: []Change{change}, Choices: []Change{change}, Unplaced: []Change{change}, Files: []File{{hostile, hostile}}, Rules: rule,
				Proof:      Proof{Checked: []Member{{Name: hostile, Path: hostile}}, Moved: []string{hostile}, Unproven: []Member{{Name: hostile, Path: hostile, Reason: hostile}}},
				AfterMerge: hostile,
			})
		},
		"an issue": func() (string, error) {
			return IssueBody(Issue{
				Disposition: "codify", Object: hostile, Applications: []string{hostile}, Risk: "low", Declared: hostile,
				Changes: []Change{change, {Object: hostile, Note: "deleted"}}, Explained: []Change{change}, Rules: rule, Codify: hostile, Revert: hostile,
			})
		},
		"a guard": func() (string, error) {
			return GuardBody(Guard{Cluster: hostile, Path: hostile, Base: hostile, Diff: hostile, BreakGlass: hostile, Annotation: hostile, Remarks: []string{hostile},
				Findings: []GuardFinding{{"high", hostile, hostile, hostile}}})
		},
		"a revert's record": func() (string, error) {
			return RevertRecord(Record{ID: "ab", Application: hostile, Cluster: hostile, Branch: hostile, Changes: []Change{change}, Rules: rule, Remains: []string{hostile}})
		},
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			text, err := body()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text, "<!--") || strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("a comment or a control character comes through:\n%s", text)
			}
			bare := outsideCode(text)
			if found := regexp.MustCompile(`@(alice|bob)|[^\\]<b>|(?m)^# Heading`).FindString(bare); found != "" {
				t.Errorf("%q comes through outside of code:\n%s", found, bare)
			}
			for _, line := range strings.Split(text, "\n") {
				if strings.HasPrefix(line, "| ") && !strings.HasSuffix(line, "|") {
					t.Errorf("a row of a table is broken: %q", line)
				}
			}
		})
	}
	message, err := CommitMessage(Commit{Subject: hostile, Changes: []Change{change}, Trailers: []Trailer{{"Holdfast-Key", "ab"}}})
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(message, "\n"); lines != 5 || strings.Contains(message, "\n@bob") {
		t.Errorf("a name begins a line of the commit message:\n%s", message)
	}
}

// outsideCode leaves out fenced blocks, then code spans: runs of backticks up to a run as long.
func outsideCode(text string) string {
	var lines []string
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3 && !strings.Contains(line[len(ticks):], "`"):
			fence = ticks
		case fence != "" && line == fence:
			fence = ""
		case fence == "":
			lines = append(lines, withoutSpans(line))
		}
	}
	return strings.Join(lines, "\n")
}

func withoutSpans(line string) string {
	var out strings.Builder
	for i := 0; i < len(line); {
		if line[i] == '\\' && i+1 < len(line) {
			out.WriteString(line[i : i+2])
			i += 2
			continue
		}
		if line[i] != '`' {
			out.WriteByte(line[i])
			i++
			continue
		}
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		end := regexp.MustCompile("[^`](" + strings.Repeat("`", n) + ")(?:[^`]|$)").FindStringSubmatchIndex(line[i+n:])
		if end == nil {
			out.WriteString(line[i : i+n])
			i += n
			continue
		}
		i += n + end[3]
	}
	return out.String()
}

func TestACutBodyClosesWhatItOpened(t *testing.T) {
	long := strings.Repeat("+ a line of a file\n", 5000)
	cases := []struct{ name, body, closed string }{
		{"a fence", "```diff\n" + long, "\n```\n\n_Cut here"},
		{"a longer fence, whatever shorter ones are in it", "````diff\n```\n" + long, "\n````\n\n_Cut here"},
		{"a folded part", "<details><summary>x</summary>\n\n" + long, "\n</details>\n\n_Cut here"},
		{"nothing", "```\n```\n<details>\n</details>\n" + long, "a line of a file\n\n_Cut here"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Cut(c.body, "see there", "<!-- mark -->\n")
			if n := utf8.RuneCountInString(got); n > MaxBody-400 || n < MaxBody-1000 {
				t.Errorf("%d characters", n)
			}
			if !strings.Contains(got, c.closed) || !strings.HasSuffix(got, "_Cut here: see there_\n<!-- mark -->\n") {
				t.Errorf("ends in %q", got[len(got)-120:])
			}
		})
	}
}

func TestATitleFits(t *testing.T) {
	got := Title("a\n" + strings.Repeat("ü", 400))
	if n := utf8.RuneCountInString(got); n != MaxTitle || !strings.HasPrefix(got, "a⏎ü") || !strings.HasSuffix(got, "…") {
		t.Errorf("%d characters: %q", n, got)
	}
}
