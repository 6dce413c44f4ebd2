package forgetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
)

func testOpen(t *testing.T, s suite) {
	c := content(1, "drift", "drift/high", "drift/codify")
	opened := s.open(t, "holdfast/shop-web", c)
	found := s.only(t)
	want := bot.Thread{Kind: s.kind, State: bot.Open, Title: c.Title, Body: c.Body, Labels: c.Labels, Author: s.Account}
	if s.kind == bot.AsPullRequest {
		want.Branch = "holdfast/shop-web"
	}
	for name, got := range map[string]bot.Thread{"as opened": opened, "as found": found} {
		if got.Number <= 0 || got.URL == "" {
			t.Errorf("%s: number %d, URL %q", name, got.Number, got.URL)
		}
		got.Number, got.URL, got.Head = 0, "", ""
		if diff := cmp.Diff(normal(want), normal(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if opened.Number != found.Number || opened.URL != found.URL || opened.Head != found.Head {
		t.Errorf("opened as %+v, found as %+v", opened, found)
	}
	if s.kind == bot.AsPullRequest && s.Branch != nil && found.Head == "" {
		t.Error("the pull request has no head commit")
	}
}

func testNoLabels(t *testing.T, s suite) {
	s.open(t, "holdfast/x", content(1))
	if got := s.only(t); len(got.Labels) != 0 {
		t.Errorf("labels are %q, want none", got.Labels)
	}
}

func testBodies(t *testing.T, s suite) {
	marker := bot.Marker("ab", "cd")
	bodies := []string{
		"größer, 名前, \U0001F6A8 & <b>\n" + marker,
		"| a | b |\n|---|---|\n| `x` | ~~y~~ |\n\n> quoted\n\n<details><summary>more</summary>\n\n* [ ] task\n\n</details>\n" + marker,
		"---\ntitle: not a header\n---\n\n<!-- comment -->\n\n" + marker,
		"```diff\n-replicas: 3\n+replicas: 5\n\\ No newline at end of file\n```\n\n  indented, and two spaces at the end  \n" + marker,
		marker + "\n",
		"a marker in the middle, " + bot.Marker("00", "11") + ", and the real one last\n\n" + marker,
		strings.Repeat("x", 60_000) + "\n" + marker,
	}
	for i, body := range bodies {
		s.open(t, fmt.Sprint("holdfast/", i), forge.Content{Title: strange(i), Body: body, Labels: []string{"drift"}})
	}
	got := s.threads(t)
	if len(got) != len(bodies) {
		t.Fatalf("%d threads, want %d", len(got), len(bodies))
	}
	slices.Reverse(got)
	for i, thread := range got {
		if thread.Body != bodies[i] {
			t.Errorf("body %d changed (-want +got):\n%s", i, cmp.Diff(bodies[i], thread.Body))
		}
		if want := strange(i); thread.Title != want {
			t.Errorf("title is %q, want %q", thread.Title, want)
		}
	}
}

// strange is a title that a forge could take apart.
func strange(i int) string {
	return fmt.Sprintf("%d: \"quoted\" # and 'more' \\ *größer* `名前` <b>\U0001F6A8</b> [x](y) &amp; %%s /close", i)
}

func testUpdate(t *testing.T, s suite) {
	opened := s.open(t, "holdfast/x", content(1, "drift", "drift/high"))
	other := s.open(t, "holdfast/y", content(2, "drift"))
	c := forge.Content{Title: "New title", Body: "new\n\n" + bot.Marker("00000001", "bb"), Labels: []string{"drift", "drift/critical"}}
	for range 2 { // the second changes nothing
		updated, err := s.update(s.Forge, opened.Number, c)
		if err != nil {
			t.Fatal(err)
		}
		threads := s.threads(t)
		if len(threads) != 2 || threads[0].Number != other.Number {
			t.Fatalf("threads are %+v, want the updated one and %d, newest first", threads, other.Number)
		}
		for name, got := range map[string]bot.Thread{"as updated": updated, "as found": threads[1]} {
			want := opened
			want.Title, want.Body, want.Labels = c.Title, c.Body, c.Labels
			if diff := cmp.Diff(normal(want), normal(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		if diff := cmp.Diff(normal(other), normal(threads[0])); diff != "" {
			t.Errorf("the other thread (-want +got):\n%s", diff)
		}
	}
}

func testCloseReopen(t *testing.T, s suite) {
	opened := s.open(t, "holdfast/x", content(1, "drift"))
	for _, step := range []struct {
		open bool
		want bot.State
	}{{false, bot.Closed}, {false, bot.Closed}, {true, bot.Open}, {true, bot.Open}} {
		if err := s.setOpen(s.Forge, opened.Number, step.open); err != nil {
			t.Fatal(err)
		}
		want := opened
		want.State = step.want
		if diff := cmp.Diff(normal(want), normal(s.only(t))); diff != "" {
			t.Errorf("after open=%v (-want +got):\n%s", step.open, diff)
		}
	}
	// A closed thread takes new content and stays closed.
	if err := s.setOpen(s.Forge, opened.Number, false); err != nil {
		t.Fatal(err)
	}
	updated, err := s.update(s.Forge, opened.Number, content(2, "drift"))
	if err != nil || updated.State != bot.Closed {
		t.Errorf("updated to %+v, %v; want it closed", updated, err)
	}
}

func testComment(t *testing.T, s suite) {
	opened := s.open(t, "holdfast/x", content(1, "drift"))
	said := []string{"Live equals Git since 10:00.\n\n<!-- comment -->\n- item", "second: " + bot.Marker("ff", "ee")}
	for _, body := range said {
		if err := s.Forge.Comment(s.ctx, s.kind, opened.Number, body); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Comments(t, s.kind, opened.Number)
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if diff := cmp.Diff(said, got); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(normal(opened), normal(s.only(t))); diff != "" {
		t.Errorf("the thread (-want +got):\n%s", diff)
	}
}

func testSearch(t *testing.T, s suite) {
	foreign := s.Foreign(t, s.kind, content(1, "drift")) // the same marker as the bot's
	own := s.open(t, "holdfast/x", content(1, "drift"))
	unmarked := s.open(t, "holdfast/y", forge.Content{Title: "No marker", Body: "<!-- holdfast key=XYZ -->", Labels: []string{"drift"}})
	if got := s.only(t); got.Number != own.Number {
		t.Errorf("found %d, want %d and neither the foreign %d nor the unmarked %d", got.Number, own.Number, foreign, unmarked.Number)
	}
}

func testKinds(t *testing.T, s suite) {
	opened := s.open(t, "holdfast/x", content(1, "drift"))
	other := s
	other.kind = bot.AsIssue
	if s.kind == bot.AsIssue {
		other.kind = bot.AsPullRequest
	}
	if got := other.threads(t); len(got) != 0 {
		t.Errorf("among the %ss: %+v", other.kind, got)
	}
	for what, err := range map[string]error{
		"update": func() error { _, err := other.update(s.Forge, opened.Number, content(2)); return err }(),
		"close":  other.setOpen(s.Forge, opened.Number, false),
	} {
		if !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s of a %s as a %s: %v, want ErrNotFound", what, s.kind, other.kind, err)
		}
	}
	if diff := cmp.Diff(normal(opened), normal(s.only(t))); diff != "" {
		t.Errorf("the thread (-want +got):\n%s", diff)
	}
}

func testMany(t *testing.T, s suite) {
	many := s.many()
	var want []int
	for n := range many {
		want = append(want, s.open(t, fmt.Sprint("holdfast/", n), content(n, "drift")).Number)
	}
	if err := s.setOpen(s.Forge, want[0], false); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(want)
	var got []int
	for _, thread := range s.threads(t) {
		got = append(got, thread.Number)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers, newest first (-want +got):\n%s", diff)
	}
}

func testNotFound(t *testing.T, s suite) {
	_, err := s.update(s.Forge, 4711, content(1, "drift"))
	for what, err := range map[string]error{
		"update":  err,
		"close":   s.setOpen(s.Forge, 4711, false),
		"comment": s.Forge.Comment(s.ctx, s.kind, 4711, "hello"),
	} {
		if !errors.Is(err, forge.ErrNotFound) || !strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v, want ErrNotFound that names 4711", what, err)
		}
	}
	if got := s.threads(t); len(got) != 0 {
		t.Errorf("threads: %+v, want none", got)
	}
}

func testForbidden(t *testing.T, s suite) {
	opened := s.open(t, "holdfast/x", content(1, "drift"))
	if s.ReadOnly == nil {
		t.Skip(s.Why)
	}
	if s.kind == bot.AsPullRequest && s.Branch != nil {
		s.Branch(t, "holdfast/y")
	}
	_, openErr := s.openWith(s.ReadOnly, "holdfast/y", content(2, "drift"))
	_, updateErr := s.update(s.ReadOnly, opened.Number, content(2, "drift"))
	for what, err := range map[string]error{
		"open":    openErr,
		"update":  updateErr,
		"close":   s.setOpen(s.ReadOnly, opened.Number, false),
		"comment": s.ReadOnly.Comment(s.ctx, s.kind, opened.Number, "hello"),
	} {
		if !errors.Is(err, forge.ErrForbidden) || !strings.Contains(err.Error(), s.Missing) {
			t.Errorf("%s: %v, want ErrForbidden that names %q", what, err, s.Missing)
		}
	}
	if diff := cmp.Diff(normal(opened), normal(s.only(t))); diff != "" {
		t.Errorf("the thread (-want +got):\n%s", diff)
	}
}

func testDone(t *testing.T, s suite) {
	s.open(t, "holdfast/x", content(1, "drift"))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.Forge.Threads(ctx, s.kind); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
}
