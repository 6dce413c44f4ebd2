package folder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/forgetest"
)

func TestForge(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		dir := t.TempDir()
		f := open(t, dir, "holdfast")
		return forgetest.Harness{
			Forge: f, Account: "holdfast", Why: "a folder knows no rights but the file system's",
			Foreign: func(t testing.TB, kind bot.Kind, c forge.Content) int {
				other := open(t, dir, "alice")
				thread, err := other.open(kind, "feature", "main", c)
				if err != nil {
					t.Fatal(err)
				}
				return thread.Number
			},
			Merge: func(t testing.TB, number int) {
				thread, err := f.read(bot.AsPullRequest, number)
				if err != nil {
					t.Fatal(err)
				}
				thread.State = bot.Merged
				if err := f.write(bot.AsPullRequest, thread); err != nil {
					t.Fatal(err)
				}
			},
			Comments: func(t testing.TB, kind bot.Kind, number int) []string {
				thread, err := f.read(kind, number)
				if err != nil {
					t.Fatal(err)
				}
				var out []string
				for _, c := range strings.Split(thread.comments, commentLine)[1:] {
					out = append(out, unescape(strings.TrimSuffix(c, "\n")))
				}
				return out
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
	body := "before" + commentLine + "<!-- holdfast \\comment -->\n" + bot.Marker("aa", "bb") + "\n"
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
