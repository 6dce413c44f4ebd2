package forgetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
)

func testLabels(t *testing.T, s suite) {
	opened := s.open(t, "holdfast/x", content(1, "drift", "drift/high"))
	s.open(t, "holdfast/y", content(2, "drift", "drift/high"))
	for range 2 {
		updated, err := s.update(s.Forge, opened.Number, content(1, "drift", "drift/low"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"drift", "drift/low"}, normal(updated).Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	}
	updated, err := s.update(s.Forge, opened.Number, content(1))
	if err != nil || len(updated.Labels) != 0 {
		t.Errorf("labels are %q, %v; want none", updated.Labels, err)
	}
}

func testLongest(t *testing.T, s suite) {
	need(t, "longest body", s.MaxBody > 0)
	marker := bot.Marker("ab", "cd")
	body := strings.Repeat("ü", s.MaxBody-len(marker)) + marker
	opened := s.open(t, "holdfast/x", forge.Content{Title: "long", Body: body})
	if opened.Body != body || s.only(t).Body != body {
		t.Errorf("a body of %d characters came back with %d", s.MaxBody, len([]rune(opened.Body)))
	}
	if _, err := s.update(s.Forge, opened.Number, forge.Content{Title: "longer", Body: "x" + body}); !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("a body that is too long: %v, want ErrInvalid", err)
	}
	if err := s.Forge.Comment(s.ctx, s.kind, opened.Number, strings.Repeat("x", s.MaxBody+1)); !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("a comment that is too long: %v, want ErrInvalid", err)
	}
}

func testArchived(t *testing.T, s suite) {
	need(t, "Archive", s.Archive != nil)
	opened := s.open(t, "holdfast/x", content(1, "drift"))
	if s.kind == bot.AsPullRequest && s.Branch != nil {
		s.Branch(t, "holdfast/y")
	}
	s.Archive(t)
	_, openErr := s.openWith(s.Forge, "holdfast/y", content(2, "drift"))
	_, updateErr := s.update(s.Forge, opened.Number, content(2, "drift"))
	for what, err := range map[string]error{
		"open":    openErr,
		"update":  updateErr,
		"close":   s.setOpen(s.Forge, opened.Number, false),
		"comment": s.Forge.Comment(s.ctx, s.kind, opened.Number, "hello"),
	} {
		if !errors.Is(err, forge.ErrArchived) {
			t.Errorf("%s: %v, want ErrArchived", what, err)
		}
	}
	if diff := cmp.Diff(normal(opened), normal(s.only(t))); diff != "" {
		t.Errorf("the thread (-want +got):\n%s", diff)
	}
	if inspector, ok := s.Forge.(forge.Inspector); ok {
		if info, err := inspector.Repository(s.ctx); err != nil || !info.Archived {
			t.Errorf("the repository is %+v, %v; want it archived", info, err)
		}
	}
}

func testMerged(t *testing.T, s suite) {
	opened := s.open(t, "holdfast/x", content(1, "drift"))
	s.Merge(t, opened.Number)
	if got := s.only(t); got.State != bot.Merged {
		t.Errorf("state is %s, want %s", got.State, bot.Merged)
	}
	for _, open := range []bool{true, false} {
		if err := s.setOpen(s.Forge, opened.Number, open); !errors.Is(err, forge.ErrInvalid) {
			t.Errorf("open=%v of a merged pull request: %v, want ErrInvalid", open, err)
		}
	}
	if got := s.only(t); got.State != bot.Merged {
		t.Errorf("afterwards the state is %s, want %s", got.State, bot.Merged)
	}
}

func testNoBranch(t *testing.T, s suite) {
	if s.Branch == nil {
		t.Skip("this forge does not look at branches")
	}
	if _, err := s.openWith(s.Forge, "holdfast/none", content(1, "drift")); !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("error is %v, want ErrInvalid", err)
	}
	if got := s.threads(t); len(got) != 0 {
		t.Errorf("threads: %+v, want none", got)
	}
}

func testDeletedBranch(t *testing.T, s suite) {
	need(t, "DeleteBranch", s.DeleteBranch != nil)
	opened := s.open(t, "holdfast/x", content(1, "drift"))
	s.DeleteBranch(t, "holdfast/x")
	if got := s.only(t); got.Number != opened.Number || got.Branch != "holdfast/x" || got.State == bot.Merged {
		t.Errorf("found %+v, want %d from holdfast/x, unmerged", got, opened.Number)
	}
	if inspector, ok := s.Forge.(forge.Inspector); ok {
		if got, err := inspector.PullRequest(s.ctx, opened.Number); err != nil || got.Number != opened.Number {
			t.Errorf("inspected as %+v, %v", got, err)
		}
	}
}

// normal makes threads comparable: forges order labels as they like, and none may be nil or empty.
func normal(t bot.Thread) bot.Thread {
	t.Labels = slices.Sorted(slices.Values(t.Labels))
	return t
}
