package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/folder"
	"holdfast/gitops"
)

// fakeCommits counts pushes and fails where told to.
type fakeCommits struct {
	pushed []string
	err    error
}

func (f *fakeCommits) Push(_ context.Context, p bot.Proposal, _ []gitops.Edit) (string, error) {
	if f.err != nil {
		return "", f.err
	}
	f.pushed = append(f.pushed, p.Branch)
	return "c0ffee", nil
}

// round scans, so to speak: it plans for what is wanted now and carries it out.
func round(t *testing.T, f *folder.Forge, c Commits, wanted ...bot.Proposal) []Outcome {
	t.Helper()
	var threads []bot.Thread
	for _, kind := range []bot.Kind{bot.AsPullRequest, bot.AsIssue} {
		found, err := f.Threads(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		threads = append(threads, found...)
	}
	now := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	x := Publishing{Forge: f, Commits: c, Now: now}
	return x.Apply(t.Context(), Plan(wanted, threads, Seen{Scopes: map[string]bool{bot.ScopeMark(scope): true}}))
}

func newFolder(t *testing.T) *folder.Forge {
	t.Helper()
	f, err := folder.New(t.TempDir(), "holdfast")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func complete(p bot.Proposal) bot.Proposal {
	p.Title, p.Branch, p.Base, p.Labels = "Codify web", "holdfast/codify/web", "main", []string{"drift", "drift/codify"}
	return p
}

func TestADriftComesIsUndoneAndComesBackInOnePullRequest(t *testing.T) {
	f, commits := newFolder(t), &fakeCommits{}
	want := complete(proposal(bot.AsPullRequest, scope, "aa"))
	state := func() (bot.State, bool) {
		threads, err := f.Threads(t.Context(), bot.AsPullRequest)
		if err != nil || len(threads) != 1 {
			t.Fatalf("threads %+v, %v: want one", threads, err)
		}
		return threads[0].State, strings.Contains(threads[0].Body, "Undone by the engine")
	}
	round(t, f, commits, want)
	round(t, f, commits, want)
	if s, healed := state(); s != bot.Open || healed || len(commits.pushed) != 1 {
		t.Fatalf("after two rounds with drift: %s, healed %v, %d pushes; want open, not healed, one push", s, healed, len(commits.pushed))
	}
	round(t, f, commits)
	round(t, f, commits)
	if s, healed := state(); s != bot.Open || !healed {
		t.Fatalf("after the engine undid it: %s, healed %v; want open, healed", s, healed)
	}
	round(t, f, commits, want)
	if s, healed := state(); s != bot.Open || healed {
		t.Fatalf("after it came back: %s, healed %v; want open, not healed", s, healed)
	}
}

func TestAnIssueClosesAndReopensWithItsDrift(t *testing.T) {
	f, commits := newFolder(t), &fakeCommits{}
	want := proposal(bot.AsIssue, scope, "aa")
	want.Title = "Drift: web"
	for i, c := range []struct {
		wanted []bot.Proposal
		state  bot.State
	}{{[]bot.Proposal{want}, bot.Open}, {nil, bot.Closed}, {nil, bot.Closed}, {[]bot.Proposal{want}, bot.Open}, {nil, bot.Closed}} {
		for _, o := range round(t, f, commits, c.wanted...) {
			if o.Err != nil {
				t.Fatalf("round %d: %v", i, o.Err)
			}
		}
		threads, err := f.Threads(t.Context(), bot.AsIssue)
		if err != nil || len(threads) != 1 || threads[0].State != c.state {
			t.Fatalf("round %d: threads %+v, %v; want one, %s", i, threads, err, c.state)
		}
	}
}

func TestAPushThatFailsOpensNoPullRequest(t *testing.T) {
	f, commits := newFolder(t), &fakeCommits{err: errors.New("the branch has moved")}
	outcomes := round(t, f, commits, complete(proposal(bot.AsPullRequest, scope, "aa")))
	if len(outcomes) != 1 || outcomes[0].Err == nil || !strings.Contains(outcomes[0].Err.Error(), "holdfast/codify/web") {
		t.Errorf("outcomes %+v: want an error that names the branch", outcomes)
	}
	if threads, _ := f.Threads(t.Context(), bot.AsPullRequest); len(threads) != 0 {
		t.Errorf("opened %+v", threads)
	}
}

// stubborn is a forge that reopens nothing, as GitHub does once the branch was deleted.
type stubborn struct{ *folder.Forge }

func (s stubborn) SetPullRequestOpen(ctx context.Context, number int, open bool) error {
	if open {
		return fmt.Errorf("%w: the branch was deleted", forge.ErrInvalid)
	}
	return s.Forge.SetPullRequestOpen(ctx, number, open)
}

func TestAPullRequestThatCannotBeReopenedIsOpenedAnew(t *testing.T) {
	f, commits := newFolder(t), &fakeCommits{}
	first := complete(proposal(bot.AsPullRequest, scope, "aa"))
	round(t, f, commits, first)
	if err := f.SetPullRequestOpen(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	x := Publishing{Forge: stubborn{f}, Commits: commits, Now: closing()}
	for range 2 {
		threads, err := f.Threads(t.Context(), bot.AsPullRequest)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range x.Apply(t.Context(), Plan([]bot.Proposal{complete(proposal(bot.AsPullRequest, scope, "bb"))}, threads, Seen{})) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
		}
	}
	threads, err := f.Threads(t.Context(), bot.AsPullRequest)
	if err != nil || len(threads) != 2 || threads[0].State != bot.Open || threads[1].State != bot.Closed {
		t.Errorf("threads %+v, %v; want a new one that is open", threads, err)
	}
}
