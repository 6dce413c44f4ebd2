package steer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/command"
	"holdfast/bot/forge"
	"holdfast/detect"
)

var errForbidden = fmt.Errorf("roles are shown to administrators: %w", forge.ErrForbidden)

func TestWhatIsNotSaidByAPersonAsksForNothing(t *testing.T) {
	for name, say := range map[string]func(w *world){
		"an edited comment": func(w *world) {
			c := w.say(bot.AsIssue, 1, "alice", "/drift revert")
			w.fakeForge.comments[c.ID-1].Updated = c.Created.Add(time.Second)
		},
		"a quotation":     func(w *world) { w.say(bot.AsIssue, 1, "alice", "> /drift revert\n\nno") },
		"a fence":         func(w *world) { w.say(bot.AsIssue, 1, "alice", "```\n/drift revert\n```") },
		"another bot":     func(w *world) { w.say(bot.AsIssue, 1, "renovate[bot]", "/drift revert") },
		"Holdfast itself": func(w *world) { w.say(bot.AsIssue, 1, bots, "/drift revert") },
		"a comment of 64 KB without one": func(w *world) {
			w.say(bot.AsIssue, 1, "alice", strings.Repeat("`` /drift revert > ", 64<<10/19))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			say(w)
			if w.answer(t, bot.AsIssue, 1) || w.writes > 0 || len(w.commands(t)) > 0 {
				t.Errorf("%d writes, the ledger has %q", w.writes, w.commands(t))
			}
		})
	}
}

func TestALongCommentIsBounded(t *testing.T) {
	w := newWorld(t)
	w.ask(t, "alice", strings.Repeat("/drift ignore 2h "+strings.Repeat("x", 1000)+"\n", 64))
	text := w.answers(t, bot.AsIssue, 1)
	if !strings.Contains(text, "A comment may hold 5 commands") || len(w.commands(t)) != command.MaxCommands || len(text) > 20_000 {
		t.Errorf("%d bytes of answer, %d commands in the ledger", len(text), len(w.commands(t)))
	}
}

func TestAnswersStayWithinTheForgesLimit(t *testing.T) {
	w := newWorld(t)
	f := w.facts.Findings[0]
	f.Trace = nil
	for i := range 200 {
		f.Trace = append(f.Trace, fmt.Sprintf("spec.replicas: rule %d: %s", i, strings.Repeat("y", 4000)))
	}
	w.facts.Findings[0] = f
	for i := range 30 {
		w.ask(t, fmt.Sprintf("user%d", i), "/drift explain\n/drift ignore 2h "+strings.Repeat("ü", 600))
		w.roles[fmt.Sprintf("user%d", i+1)] = bot.Writer
	}
	text := w.answers(t, bot.AsIssue, 1)
	if n := len([]rune(text)); n > 65536 {
		t.Errorf("%d characters", n)
	}
	writes := w.writes
	if w.answer(t, bot.AsIssue, 1); w.writes != writes {
		t.Error("a cut answer forgot what was answered")
	}
}

func TestMarkdownAndHTMLStayText(t *testing.T) {
	w := newWorld(t)
	const evil = "<script>alert(1)</script> | **x** `y` @everyone [a](http://evil.test) --> <!-- holdfast answers eyJ1cFRvIjo5OX0 -->"
	f := &w.facts.Findings[0]
	f.Object.Name, f.Fields[0].Rule, f.Trace = evil, evil, []string{evil}
	f.Fields[0].Reason = evil
	w.roles["carol"] = bot.Writer
	w.ask(t, "carol", "/drift explain\n/drift status\n/drift ignore 2h "+evil)
	w.ask(t, "carol", "/drift "+evil)
	text := w.answers(t, bot.AsIssue, 1)
	if strings.Count(text, "<!--") != 1 || !strings.Contains(text, "## How it is judged") {
		t.Errorf("the answer is:\n%s", text)
	}
	outside := withoutCode(text)
	for _, bad := range []string{"<script", "@everyone", "](http"} {
		if strings.Contains(outside, bad) {
			t.Errorf("%q stands outside of code:\n%s", bad, text)
		}
	}
	if got := command.Parse(text).Commands; len(got) > 0 {
		t.Errorf("the answer asks for %+v", got)
	}
	w.ask(t, "carol", "/drift status")
	if got := w.answers(t, bot.AsIssue, 1); strings.Count(got, "**accepted**") < 2 {
		t.Errorf("a further command is not answered:\n%s", got)
	}
}

// withoutCode takes code spans out of Markdown, of whatever many backticks.
func withoutCode(text string) string {
	text = strings.NewReplacer("\\`", "", "\\<", "").Replace(text) // what is escaped is text
	var out strings.Builder
	for len(text) > 0 {
		if text[0] != '`' {
			out.WriteByte(text[0])
			text = text[1:]
			continue
		}
		rest := strings.TrimLeft(text, "`")
		ticks := text[:len(text)-len(rest)]
		for {
			i := strings.Index(rest, ticks)
			if i < 0 {
				text = rest
				break
			}
			after := rest[i+len(ticks):]
			run := len(after) - len(strings.TrimLeft(after, "`"))
			if run == 0 {
				text = after
				break
			}
			rest = after[run:]
		}
	}
	return out.String()
}

func TestFloods(t *testing.T) {
	w := newWorld(t)
	w.rules.PerThread = 3
	var last bot.Comment
	for range 6 {
		last = w.ask(t, "alice", "/drift status")
	}
	text := w.answers(t, bot.AsIssue, 1)
	if strings.Count(text, "**accepted**") != 3 || strings.Count(text, "Too many commands within an hour") != 1 || len(w.reacted[last.ID]) > 0 {
		t.Errorf("of six comments where three are allowed, the last got %v and the answer is:\n%s", w.reacted[last.ID], text)
	}
	if got := w.commands(t); len(got) != 4 {
		t.Errorf("the ledger has %q", got)
	}
	w.ask(t, "bob", "/drift status")
	if text := w.answers(t, bot.AsIssue, 1); strings.Count(text, "**accepted**") != 4 {
		t.Errorf("somebody else is limited too:\n%s", text)
	}
	w.now = w.now.Add(2 * time.Hour)
	w.ask(t, "alice", "/drift status")
	if text := w.answers(t, bot.AsIssue, 1); strings.Count(text, "**accepted**") != 5 {
		t.Errorf("two hours later:\n%s", text)
	}
}

func TestFloodsOverManyThreads(t *testing.T) {
	w := newWorld(t)
	w.rules.PerAuthor = 3
	for n := range 6 {
		w.issues = append(w.issues, bot.Thread{Kind: bot.AsIssue, Number: 10 + n, Author: bots, Body: w.issues[0].Body})
		w.say(bot.AsIssue, 10+n, "alice", "/drift status")
		w.answer(t, bot.AsIssue, 10+n)
	}
	if got := w.commands(t); len(got) != 4 || !strings.HasSuffix(got[3], "refused") {
		t.Errorf("the ledger has %q, want three that are accepted and one that is refused", got)
	}
}

// TestARenamedBotStaysSilentAboutItself is a bot whose account has another name now: its own old answers are a
// stranger's, and ask for nothing.
func TestARenamedBotStaysSilentAboutItself(t *testing.T) {
	w := newWorld(t)
	w.ask(t, "alice", "/drift help")
	w.account = "holdfast-bot"
	w.fakeForge.comments[1].Author.Bot = false
	if w.answer(t, bot.AsIssue, 1); len(w.commands(t)) != 1 {
		t.Errorf("the ledger has %q", w.commands(t))
	}
	if got := w.answers(t, bot.AsIssue, 1); !strings.Contains(got, "What can be asked") {
		t.Errorf("the new account answers:\n%s", got)
	}
}

// TestSomebodyWhoTookOverALoginHasItsRoleNow shows that roles are asked for when a command is answered.
func TestSomebodyWhoTookOverALoginHasItsRoleNow(t *testing.T) {
	w := newWorld(t)
	w.say(bot.AsIssue, 1, "alice", "/drift codify")
	delete(w.roles, "alice") // renamed before it is answered
	w.answer(t, bot.AsIssue, 1)
	if text := w.answers(t, bot.AsIssue, 1); !strings.Contains(text, "alice has none") || len(w.standing(t).Orders) > 0 {
		t.Errorf("the answer is:\n%s", text)
	}
}

// TestChangedAnswersChangeNothing lets somebody edit Holdfast's comment.
func TestChangedAnswersChangeNothing(t *testing.T) {
	w := newWorld(t)
	w.ask(t, "alice", "/drift revert")
	for _, forged := range []string{"<!-- holdfast answers !! -->", "<!-- holdfast answers eyJkb25lIjo -->", "<!-- holdfast answers  -->"} {
		w.fakeForge.comments[1].Body = forged
		w.ask(t, "alice", "/drift status")
		if got := w.standing(t).Orders; len(got) != 1 || got[w.facts.Findings[0].ID].Disposition != detect.Revert {
			t.Errorf("%s: %+v stands", forged, got)
		}
		if text := w.answers(t, bot.AsIssue, 1); !strings.Contains(text, "`/drift revert`") {
			t.Errorf("%s: the answer is:\n%s", forged, text)
		}
	}
	count := 0
	for _, line := range w.commands(t) {
		if strings.Contains(line, "revert") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("the ledger has %q", w.commands(t))
	}
}
