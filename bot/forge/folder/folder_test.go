package folder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/forgetest"
)

func TestForge(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		dir := t.TempDir()
		f := open(t, dir, "holdfast")
		change := func(t testing.TB, kind bot.Kind, number int, do func(*file)) {
			thread, err := f.read(kind, number)
			if err != nil {
				t.Fatal(err)
			}
			do(&thread)
			if err := f.write(kind, thread); err != nil {
				t.Fatal(err)
			}
		}
		return forgetest.Harness{
			Forge: f, Account: "holdfast", Why: "a folder knows no rights but the file system's", Tick: time.Millisecond,
			People: forgetest.People{
				Members: map[bot.Role]string{bot.Writer: "alice"},
				Foreign: func(t testing.TB, kind bot.Kind, c forge.Content) int {
					thread, err := open(t, dir, "alice").open(kind, "feature", "main", c)
					if err != nil {
						t.Fatal(err)
					}
					return thread.Number
				},
				Merge: func(t testing.TB, number int) {
					change(t, bot.AsPullRequest, number, func(f *file) { f.State = bot.Merged })
				},
				Comments: func(t testing.TB, kind bot.Kind, number int) (out []string) {
					change(t, kind, number, func(f *file) {
						for _, c := range f.comments {
							out = append(out, c.body)
						}
					})
					return out
				},
				Say: func(t testing.TB, kind bot.Kind, number int, login, body string) {
					if err := open(t, dir, login).Comment(t.Context(), kind, number, body); err != nil {
						t.Fatal(err)
					}
				},
				Edit: func(t testing.TB, c bot.Comment, body string) {
					if err := f.Rewrite(t.Context(), c, body); err != nil {
						t.Fatal(err)
					}
				},
				Reactions: func(t testing.TB, c bot.Comment) (out []bot.Reaction) {
					change(t, c.Kind, c.Number, func(f *file) { out = f.comments[c.ID-1].Reactions })
					return out
				},
			},
		}
	})
}

func open(t testing.TB, dir, account string) *Forge {
	t.Helper()
	f, err := New(dir, account)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAFileWithoutHeaderIsToldByName(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, "holdfast")
	name := filepath.Join(dir, "issues", "1.md")
	if err := os.WriteFile(name, []byte("no header\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := f.Threads(t.Context(), bot.AsIssue)
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v, want an error that names %s", err, name)
	}
}

func TestABodyThatLooksLikeACommentStaysWhole(t *testing.T) {
	f := open(t, t.TempDir(), "holdfast")
	body := "before\n<!-- holdfast comment -->\n<!-- holdfast comment {\"id\":7} -->\n<!-- holdfast \\comment -->\n" + bot.Marker("aa", "bb") + "\n"
	thread, err := f.OpenIssue(t.Context(), forge.Content{Title: "x", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Comment(t.Context(), bot.AsIssue, thread.Number, "hello"); err != nil {
		t.Fatal(err)
	}
	threads, err := f.Threads(t.Context(), bot.AsIssue)
	if err != nil || len(threads) != 1 || threads[0].Body != body {
		t.Errorf("got %+v, %v, want the body %q", threads, err, body)
	}
}

func TestAnEmptyTitleIsRefused(t *testing.T) {
	f := open(t, t.TempDir(), "holdfast")
	if _, err := f.OpenIssue(t.Context(), forge.Content{Title: " "}); !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func TestACommentWrittenByHandIsFound(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, "holdfast")
	thread, err := f.OpenIssue(t.Context(), forge.Content{Title: "x", Body: "text"})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "issues", "1.md")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(data, "\n<!-- holdfast comment -->\n/drift status\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := f.Comments(t.Context(), bot.AsIssue, thread.Number, time.Time{})
	if err != nil || len(got) != 1 || got[0].Body != "/drift status" || got[0].ID != 1 || got[0].Author != (bot.Actor{}) {
		t.Errorf("comments are %+v, %v; want the one, of nobody known", got, err)
	}
}
