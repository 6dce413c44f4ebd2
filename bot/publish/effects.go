package publish

import (
	"context"
	"fmt"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/gitops"
)

// Watch is told of each outside effect before it begins, in a few words without outside text, and gives what is to be
// told how it ended. It is the log of effects; a run that is killed at any point of it is made up for by the next.
type Watch func(effect string) (ended func(error))

// Do carries an effect out under the watch; a nil one does not watch.
func (w Watch) Do(effect string, do func() error) error {
	if w == nil {
		return do()
	}
	ended := w(effect)
	err := do()
	ended(err)
	return err
}

// And gives a watch that tells another one too, first before and last after.
func (w Watch) And(other Watch) Watch {
	if w == nil || other == nil {
		return orOther(w, other)
	}
	return func(effect string) func(error) {
		one, two := w(effect), other(effect)
		return func(err error) { two(err); one(err) }
	}
}

func orOther(a, b Watch) Watch {
	if a == nil {
		return b
	}
	return a
}

// Commits watches pushes.
func (w Watch) Commits(c Commits) Commits { return watchedCommits{c, w} }

// Forge watches what is written to a forge.
func (w Watch) Forge(f forge.Publisher) forge.Publisher { return watchedForge{f, w} }

type watchedCommits struct {
	Commits
	watch Watch
}

func (c watchedCommits) Push(ctx context.Context, p bot.Proposal, files []gitops.Edit) (commit string, err error) {
	err = c.watch.Do("push "+p.Branch, func() error { commit, err = c.Commits.Push(ctx, p, files); return err })
	return commit, err
}

type watchedForge struct {
	forge.Publisher
	watch Watch
}

// on watches an effect on one thread.
func (f watchedForge) on(verb string, kind bot.Kind, number int, do func() error) error {
	return f.watch.Do(fmt.Sprintf("%s %s %d", verb, kind, number), do)
}

func (f watchedForge) OpenIssue(ctx context.Context, c forge.Content) (t bot.Thread, err error) {
	key, _, _ := bot.ParseMarker(c.Body)
	err = f.watch.Do("open issue "+key, func() error { t, err = f.Publisher.OpenIssue(ctx, c); return err })
	return t, err
}

func (f watchedForge) UpdateIssue(ctx context.Context, number int, c forge.Content) (t bot.Thread, err error) {
	err = f.on("update", bot.AsIssue, number, func() error { t, err = f.Publisher.UpdateIssue(ctx, number, c); return err })
	return t, err
}

func (f watchedForge) SetIssueOpen(ctx context.Context, number int, open bool) error {
	return f.on(turn(open), bot.AsIssue, number, func() error { return f.Publisher.SetIssueOpen(ctx, number, open) })
}

func (f watchedForge) OpenPullRequest(ctx context.Context, branch, base string, c forge.Content) (t bot.Thread, err error) {
	err = f.watch.Do("open pull-request "+branch, func() error { t, err = f.Publisher.OpenPullRequest(ctx, branch, base, c); return err })
	return t, err
}

func (f watchedForge) UpdatePullRequest(ctx context.Context, number int, c forge.Content) (t bot.Thread, err error) {
	err = f.on("update", bot.AsPullRequest, number, func() error { t, err = f.Publisher.UpdatePullRequest(ctx, number, c); return err })
	return t, err
}

func (f watchedForge) SetPullRequestOpen(ctx context.Context, number int, open bool) error {
	return f.on(turn(open), bot.AsPullRequest, number, func() error { return f.Publisher.SetPullRequestOpen(ctx, number, open) })
}

func (f watchedForge) Comment(ctx context.Context, kind bot.Kind, number int, body string) error {
	return f.on("comment on", kind, number, func() error { return f.Publisher.Comment(ctx, kind, number, body) })
}

func turn(open bool) string {
	if open {
		return "reopen"
	}
	return "close"
}
