package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
)

// short writes commands as a line: verbs, with what belongs to them, and problems.
func short(p Parsed) string {
	var out []string
	for _, c := range p.Commands {
		text := string(c.Verb)
		if c.Verb == Ignore && c.Problem == "" {
			text += fmt.Sprintf(" %s %q", c.For, c.Reason)
		}
		if c.Problem != "" {
			text = strings.TrimSpace(text + " (" + string(c.Problem) + ")")
		}
		out = append(out, text)
	}
	if p.Dropped > 0 {
		out = append(out, fmt.Sprintf("%d dropped", p.Dropped))
	}
	return strings.Join(out, ", ")
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"a command alone", "/drift revert", "revert"},
		{"each verb", "/drift codify\n/drift revert\n/drift unignore\n/drift explain\n/drift rescan", "codify, revert, unignore, explain, rescan"},
		{"the other verbs", "/drift status\n/drift help\n/drift", "status, help, help"},
		{"any case", "/DRIFT Revert", "revert"},
		{"white space around and between", "  /drift \t revert  \t", "revert"},
		{"line ends of Windows and of old", "text\r\n/drift revert\r\n/drift codify\r/drift status", "revert, codify, status"},
		{"between other lines", "I looked at it.\n/drift revert\nThanks!", "revert"},
		{"in order, and more than a few are dropped", strings.Repeat("/drift rescan\n", 7), "rescan, rescan, rescan, rescan, rescan, 2 dropped"},

		{"within a line", "please /drift revert", ""},
		{"another word that begins so", "/drifting revert", ""},
		{"another bot's command", "/lgtm", ""},
		{"with text behind", "/drift revert please", "revert (nothing may follow this command)"},
		{"unknown ones count once", "/drift merge\n/drift close\n/drift revert", "(unknown command), revert"},

		{"ignore", "/drift ignore 12h load test until tonight", `ignore 12h0m0s "load test until tonight"`},
		{"ignore in minutes", "/drift ignore 30m x", `ignore 30m0s "x"`},
		{"ignore in days", "/drift ignore 7D x", `ignore 168h0m0s "x"`},
		{"ignore in weeks", "/drift ignore 2w x", `ignore 336h0m0s "x"`},
		{"ignore without anything", "/drift ignore", "ignore (the duration is missing)"},
		{"ignore without a reason", "/drift ignore 2h", "ignore (the reason is missing)"},
		{"ignore with a reason of nothing visible", "/drift ignore 2h \u200b\u202e", "ignore (the reason is missing)"},
		{"ignore without a duration", "/drift ignore load test", "ignore (the duration is not of the form 30m, 12h, 7d or 2w)"},
		{"ignore for no time", "/drift ignore 0h x", "ignore (the duration is not of the form 30m, 12h, 7d or 2w)"},
		{"ignore for less than no time", "/drift ignore -2h x", "ignore (the duration is not of the form 30m, 12h, 7d or 2w)"},
		{"ignore for two units", "/drift ignore 1d12h x", "ignore (the duration is not of the form 30m, 12h, 7d or 2w)"},
		{"ignore for longer than numbers reach", "/drift ignore 99999999999999999999w x", "ignore (the duration is not of the form 30m, 12h, 7d or 2w)"},
		{"ignore for a unit alone", "/drift ignore h x", "ignore (the duration is not of the form 30m, 12h, 7d or 2w)"},
		{"ignore for foreign digits", "/drift ignore ٣h x", "ignore (the duration is not of the form 30m, 12h, 7d or 2w)"},
	} {
		if got := short(Parse(c.body)); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

func TestSpoken(t *testing.T) {
	const command = "/drift revert"
	for _, c := range []struct {
		name, body string
		counts     bool
	}{
		{"quoted", "> " + command, false},
		{"quoted without a space", ">" + command, false},
		{"quoted twice", "> > " + command, false},
		{"in a quotation's last paragraph", "> text\n" + command, false},
		{"after a quotation and a blank line", "> text\n\n" + command, true},
		{"in GitLab's long quotation", ">>>\n" + command + "\n>>>", false},
		{"fenced", "```\n" + command + "\n```", false},
		{"fenced with a language", "```yaml\n" + command + "\n```", false},
		{"fenced by tildes", "~~~\n" + command + "\n~~~", false},
		{"fenced by tildes around backticks", "~~~\n```\n~~~\n" + command, true},
		{"fenced, with a shorter fence inside", "````\n```\n" + command + "\n````", false},
		{"after a fence", "```\ncode\n```\n" + command, true},
		{"after a fence that never ends", "```\ncode\n\n" + command, false},
		{"after what looks like a fence and may be code", "``` a`b\n" + command, false},
		{"after a fence that is closed by more", "```\ncode\n`````\n" + command, true},
		{"after a fence that is not closed with text", "```\ncode\n``` text\n" + command, false},
		{"in a list's fence", "- ```\n  " + command + "\n  ```", false},
		{"in a numbered list's fence", "1. text\n   ```\n   " + command + "\n   ```", false},
		{"after a list's fence", "1. text\n   ```\n   code\n   ```\n\n" + command, true},
		{"after a list's fence that the list's end closes", "- ```\n```\n" + command + "\n```", false},
		{"indented as code", "text\n\n    " + command, false},
		{"indented by a tab", "text\n\n\t" + command, false},
		{"indented by less", "text\n\n   " + command, true},
		{"in a list item", "- " + command, false},
		{"in a numbered list item", "1) " + command, false},
		{"in a paragraph of a list item", "- text\n\n  " + command, true},
		{"hidden in a comment", "<!--\n" + command + "\n-->", false},
		{"hidden in a comment within a line", "text <!--\n" + command + "\n-->", false},
		{"after a comment", "<!-- holdfast -->\n" + command, true},
		{"after a comment of several lines", "<!--\nx\n-->\n" + command, true},
		{"after a comment within a line", "text <!-- x --> more\n" + command, true},
		{"in a comment that opens a fence when the paragraph ends", "text <!--\n```\n-->\n" + command + "\n```", false},
		{"in preformatted text", "<pre>\n" + command + "\n</pre>", false},
		{"in a quotation of HTML", "<blockquote>\n\n" + command + "\n\n</blockquote>", false},
		{"folded away", "<details><summary>x</summary>\n\n" + command + "\n\n</details>", false},
		{"in code of HTML that a line opens", "text <code>\n" + command + "\n</code>", false},
		{"after a link", "see <https://example.com/x>\n" + command, true},
		{"after a comparison", "replicas < 5 && a <= b\n" + command, true},
		{"after a tag in code", "`<pre>` is wrong\n" + command, true},
		{"in a code span of several lines", "text `a\n" + command + "\nb` text", false},
		{"in a code span of two backticks", "``a ` b\n" + command + "\n``", false},
		{"after a code span", "`a` and ``b ` c``\n" + command, true},
		{"after a backtick that is none", "\\`a\n" + command, true},
		{"in a code span after a backtick that is none", "\\` b `\n" + command + "\n`", false},
		{"in the next paragraph after a backtick", "it`s\n\n" + command, true},
		{"struck out", "~~old\n" + command + "\n~~", false},
		{"after something struck out", "~~old~~\n" + command, true},
		{"after a rough number", "about ~5 minutes\n" + command, true},
	} {
		if got := len(Parse(c.body).Commands) == 1; got != c.counts {
			t.Errorf("%s: counts is %v\n%s", c.name, got, c.body)
		}
	}
}

func TestRead(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	comment := bot.Comment{Author: bot.Actor{Login: "alice"}, Body: "/drift revert", Created: at, Updated: at}
	edited, byBot := comment, comment
	edited.Updated = at.Add(time.Second)
	byBot.Author.Bot = true
	for _, c := range []struct {
		name    string
		comment bot.Comment
		want    string
		skipped Skipped
	}{
		{"a person's comment", comment, "revert", NotSkipped},
		{"an edited one", edited, "", WasEdited},
		{"a bot's", byBot, "", ByBot},
	} {
		if got, skipped := Read(c.comment); short(got) != c.want || skipped != c.skipped {
			t.Errorf("%s: %q, %q", c.name, short(got), skipped)
		}
	}
}

func TestPlain(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"white space is single", " a \t b\u00a0c ", "a b c"},
		{"what steers is taken away", "a\x1b[31mb\x00c\u202ed\u200be", "a[31mbcde"},
		{"other scripts stay", "größer 名前", "größer 名前"},
		{"invalid bytes go", "a\xffb", "ab"},
		{"the longest", strings.Repeat("ü", MaxReason), strings.Repeat("ü", MaxReason)},
		{"longer", strings.Repeat("ü", MaxReason+1), strings.Repeat("ü", MaxReason) + "…"},
	} {
		if got := plain(c.text); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestCommandTellsItsLine(t *testing.T) {
	got := Parse("text\n\n  /drift  IGNORE 2h  <b>because</b> ")
	want := []Command{{Verb: Ignore, For: 2 * time.Hour, Reason: "<b>because</b>", Line: 3, Text: "/drift IGNORE 2h <b>because</b>"}}
	if diff := cmp.Diff(want, got.Commands); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Comments that are made to be slow are not: squared, their length would outlast the test's time limit.
func TestParseIsLinear(t *testing.T) {
	for name, part := range map[string]string{
		"commands": "/drift merge\n", "backticks": "` `` ``` ", "openings": "<!-- --> <!-- --> ", "quotes": "> ", "lists": "- ", "tildes": "~~ ~ ", "tabs": "\t",
		"one line": "/drift ignore 2h x ", "angles": "< ", "escapes": "\\", "fences": "```\n~~~\n", "returns": "\r",
	} {
		body := strings.Repeat(part, 1<<20/len(part))
		if got := Parse(body); len(got.Commands) > MaxCommands {
			t.Errorf("%s: %d commands", name, len(got.Commands))
		}
	}
}
