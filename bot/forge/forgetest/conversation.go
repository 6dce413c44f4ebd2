package forgetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
)

var conversationTests = []test{
	{"comments are listed oldest first with their authors", testCommentsListed},
	{"more than a hundred comments are listed", testManyComments},
	{"only comments since a time are listed", testCommentsSince},
	{"an edited comment says so and counts as new", testCommentEdited},
	{"a comment is kept to the byte", testCommentBodies},
	{"a sticky comment is rewritten in place", testRewrite},
	{"a reaction given twice stands once and edits nothing", testReactions},
	{"comments of what is not there are told", testCommentsNotFound},
	{"a right to answer that is missing is told", testAnswerForbidden},
}

// answer writes a comment as the bot.
func (s suite) answer(t *testing.T, number int, body string) bot.Comment {
	t.Helper()
	c, err := role[forge.Conversation](t, s.Forge).Answer(s.ctx, s.kind, number, body)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s suite) comments(t *testing.T, number int, since time.Time) []bot.Comment {
	t.Helper()
	all, err := role[forge.Conversation](t, s.Forge).Comments(s.ctx, s.kind, number, since)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func bodies(comments []bot.Comment) []string {
	var out []string
	for _, c := range comments {
		out = append(out, c.Body)
	}
	return out
}

// writer is the login of somebody who may write.
func (s suite) writer(t *testing.T) string {
	t.Helper()
	need(t, "member with the role Writer", s.Members[bot.Writer] != "")
	return s.Members[bot.Writer]
}

func testCommentsListed(t *testing.T, s suite) {
	role[forge.Conversation](t, s.Forge)
	need(t, "Say", s.Say != nil)
	thread := s.open(t, "holdfast/x", content(1))
	// What the forge itself notes of these is no comment.
	if _, err := s.update(s.Forge, thread.Number, content(2, "drift")); err != nil {
		t.Fatal(err)
	}
	for _, open := range []bool{false, true} {
		if err := s.setOpen(s.Forge, thread.Number, open); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.comments(t, thread.Number, time.Time{}); len(got) != 0 {
		t.Errorf("a thread that nobody commented on has the comments %+v", got)
	}
	login := s.writer(t)
	answered := s.answer(t, thread.Number, "first, by the bot")
	time.Sleep(s.Tick)
	s.Say(t, s.kind, thread.Number, login, "/drift explain")
	got := s.comments(t, thread.Number, time.Time{})
	want := []bot.Comment{
		{Kind: s.kind, Number: thread.Number, Author: bot.Actor{Login: s.Account, Bot: true}, Body: "first, by the bot"},
		{Kind: s.kind, Number: thread.Number, Author: bot.Actor{Login: login}, Body: "/drift explain"},
	}
	bare := slices.Clone(got)
	for i, c := range got {
		if c.ID <= 0 || c.URL == "" || c.Created.IsZero() || c.Updated.IsZero() || c.Edited() {
			t.Errorf("comment %d: ID %d, URL %q, created %v, updated %v", i, c.ID, c.URL, c.Created, c.Updated)
		}
		bare[i].ID, bare[i].URL, bare[i].Created, bare[i].Updated = 0, "", time.Time{}, time.Time{}
	}
	if diff := cmp.Diff(want, bare); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
	if len(got) > 0 {
		if diff := cmp.Diff(answered, got[0]); diff != "" {
			t.Errorf("answered (-) and listed (+):\n%s", diff)
		}
	}
}

func testManyComments(t *testing.T, s suite) {
	thread := s.open(t, "holdfast/x", content(1))
	var want []string
	for n := range 105 {
		want = append(want, fmt.Sprint("comment ", n))
		s.answer(t, thread.Number, want[n])
	}
	if diff := cmp.Diff(want, bodies(s.comments(t, thread.Number, time.Time{}))); diff != "" {
		t.Errorf("comments, oldest first (-want +got):\n%s", diff)
	}
}

func testCommentsSince(t *testing.T, s suite) {
	thread := s.open(t, "holdfast/x", content(1))
	var said []bot.Comment
	for _, body := range []string{"one", "two", "three"} {
		said = append(said, s.answer(t, thread.Number, body))
		time.Sleep(s.Tick)
	}
	for since, want := range map[time.Time][]string{
		said[0].Created:                 {"one", "two", "three"},
		said[1].Created:                 {"two", "three"},
		said[2].Created:                 {"three"},
		said[2].Created.Add(time.Hour):  nil,
		said[0].Created.Add(-time.Hour): {"one", "two", "three"},
	} {
		if diff := cmp.Diff(want, bodies(s.comments(t, thread.Number, since))); diff != "" {
			t.Errorf("since %v (-want +got):\n%s", since, diff)
		}
	}
}

func testCommentEdited(t *testing.T, s suite) {
	role[forge.Conversation](t, s.Forge)
	need(t, "Say and Edit", s.Say != nil && s.Edit != nil)
	thread := s.open(t, "holdfast/x", content(1))
	login := s.writer(t)
	for _, body := range []string{"/drift status", "second"} {
		s.Say(t, s.kind, thread.Number, login, body)
		time.Sleep(s.Tick)
	}
	before := s.comments(t, thread.Number, time.Time{})
	if len(before) != 2 {
		t.Fatalf("comments are %+v, want 2", before)
	}
	s.Edit(t, before[0], "/drift revert")
	after := s.comments(t, thread.Number, time.Time{})
	if len(after) != 2 || !after[0].Edited() || after[1].Edited() || after[0].Body != "/drift revert" || after[0].ID != before[0].ID {
		t.Fatalf("comments are %+v, want the first edited", after)
	}
	if got := s.comments(t, thread.Number, after[0].Updated); !slices.Equal(bodies(got), []string{"/drift revert"}) {
		t.Errorf("since the edit: %q, want the edited one alone", bodies(got))
	}
}

func testCommentBodies(t *testing.T, s suite) {
	thread := s.open(t, "holdfast/x", content(1))
	want := []string{
		"größer, 名前, \U0001F6A8 & <b>\n\n```yaml\nreplicas: 5\n```\n<!-- hidden -->",
		"> quoted\n\n| a |\n|---|\n| b |",
	}
	if s.MaxBody > 0 {
		want = append(want, strings.Repeat("ü", s.MaxBody))
	}
	for _, body := range want {
		if got := s.answer(t, thread.Number, body); got.Body != body {
			t.Errorf("answered with %d characters, got %d", len([]rune(body)), len([]rune(got.Body)))
		}
	}
	if got := bodies(s.comments(t, thread.Number, time.Time{})); !slices.Equal(got, want) {
		t.Errorf("comments (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func testRewrite(t *testing.T, s suite) {
	conversation := role[forge.Conversation](t, s.Forge)
	thread := s.open(t, "holdfast/x", content(1))
	first := s.answer(t, thread.Number, "status: open")
	s.answer(t, thread.Number, "other")
	time.Sleep(s.Tick)
	for range 2 { // the second changes nothing
		if err := conversation.Rewrite(s.ctx, first, "status: merged"); err != nil {
			t.Fatal(err)
		}
		got := s.comments(t, thread.Number, time.Time{})
		if !slices.Equal(bodies(got), []string{"status: merged", "other"}) || got[0].ID != first.ID {
			t.Errorf("comments are %+v, want the first rewritten", got)
		}
	}
}

func testReactions(t *testing.T, s suite) {
	conversation := role[forge.Conversation](t, s.Forge)
	need(t, "Reactions", s.Reactions != nil)
	thread := s.open(t, "holdfast/x", content(1))
	comment := s.answer(t, thread.Number, "/drift status")
	if s.Say != nil {
		s.Say(t, s.kind, thread.Number, s.writer(t), "/drift status")
		comment = s.comments(t, thread.Number, time.Time{})[1]
	}
	time.Sleep(s.Tick)
	for _, r := range []bot.Reaction{bot.Seen, bot.Seen, bot.Done, bot.Refused, bot.Confused, bot.Done} {
		if err := conversation.React(s.ctx, comment, r); err != nil {
			t.Fatalf("%s: %v", r, err)
		}
	}
	want := []bot.Reaction{bot.Done, bot.Refused, bot.Confused, bot.Seen}
	slices.Sort(want)
	got := s.Reactions(t, comment)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	for _, c := range s.comments(t, thread.Number, time.Time{}) {
		if c.Edited() {
			t.Errorf("comment %+v counts as edited, and was only reacted to", c)
		}
	}
}

func testCommentsNotFound(t *testing.T, s suite) {
	conversation := role[forge.Conversation](t, s.Forge)
	thread := s.open(t, "holdfast/x", content(1))
	gone := bot.Comment{ID: 471100, Kind: s.kind, Number: thread.Number}
	_, listErr := conversation.Comments(s.ctx, s.kind, 4711, time.Time{})
	_, answerErr := conversation.Answer(s.ctx, s.kind, 4711, "hello")
	for what, err := range map[string]error{
		"list":    listErr,
		"answer":  answerErr,
		"rewrite": conversation.Rewrite(s.ctx, gone, "x"),
		"react":   conversation.React(s.ctx, gone, bot.Seen),
	} {
		if !errors.Is(err, forge.ErrNotFound) || !strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v, want ErrNotFound that names 4711", what, err)
		}
	}
}

func testAnswerForbidden(t *testing.T, s suite) {
	role[forge.Conversation](t, s.Forge)
	thread := s.open(t, "holdfast/x", content(1))
	comment := s.answer(t, thread.Number, "hello")
	if s.ReadOnly == nil {
		t.Skip(s.Why)
	}
	reader := role[forge.Conversation](t, s.ReadOnly)
	_, answerErr := reader.Answer(s.ctx, s.kind, thread.Number, "hello")
	for what, err := range map[string]error{
		"answer":  answerErr,
		"rewrite": reader.Rewrite(s.ctx, comment, "x"),
	} {
		if !errors.Is(err, forge.ErrForbidden) || !strings.Contains(err.Error(), s.Missing) {
			t.Errorf("%s: %v, want ErrForbidden that names %q", what, err, s.Missing)
		}
	}
	if got := bodies(s.comments(t, thread.Number, time.Time{})); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("comments are %q, want the first alone", got)
	}
}
