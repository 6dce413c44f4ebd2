package github

import (
	"context"
	"fmt"
	"slices"

	gh "github.com/google/go-github/v60/github"

	"holdfast/bot"
	"holdfast/bot/forge"
)

func (f *Forge) pullPage() pageFunc {
	return func(ctx context.Context, page int) ([]bot.Thread, *gh.Response, error) {
		pulls, response, err := f.client.PullRequests.List(ctx, f.owner, f.repo, &gh.PullRequestListOptions{
			State: "all", Sort: "created", Direction: "desc",
			ListOptions: gh.ListOptions{Page: page, PerPage: perPage},
		})
		if err != nil {
			return nil, response, err
		}
		var out []bot.Thread
		for _, p := range pulls {
			out = append(out, pullThread(p))
		}
		return out, response, nil
	}
}

func pullThread(p *gh.PullRequest) bot.Thread {
	state := bot.State(p.GetState())
	if p.GetMerged() || p.MergedAt != nil { // a list has only the time
		state = bot.Merged
	}
	return bot.Thread{
		Kind: bot.AsPullRequest, Number: p.GetNumber(), URL: p.GetHTMLURL(), State: state,
		Title: p.GetTitle(), Body: p.GetBody(), Labels: labelNames(p.Labels), Author: p.GetUser().GetLogin(),
		Branch: p.GetHead().GetRef(), Head: p.GetHead().GetSHA(),
	}
}

// OpenPullRequest opens a pull request of a branch that was pushed to the same repository. GitHub takes no labels with
// it: they are set by a second request. Where that one fails, the pull request is there, with its marker, and the
// error says so.
func (f *Forge) OpenPullRequest(ctx context.Context, branch, base string, c forge.Content) (bot.Thread, error) {
	if err := f.makeLabels(ctx, c.Labels); err != nil {
		return bot.Thread{}, err
	}
	pull, _, err := f.client.PullRequests.Create(ctx, f.owner, f.repo, &gh.NewPullRequest{Title: &c.Title, Head: &branch, Base: &base, Body: &c.Body})
	if err != nil {
		return bot.Thread{}, f.fail(ctx, err, "open a pull request from %s to %s", branch, base)
	}
	return f.withLabels(ctx, pull, c.Labels)
}

// UpdatePullRequest changes title, body and labels. Labels that Holdfast does not give (other than drift and drift/…)
// stay.
func (f *Forge) UpdatePullRequest(ctx context.Context, number int, c forge.Content) (bot.Thread, error) {
	pull, _, err := f.client.PullRequests.Edit(ctx, f.owner, f.repo, number, &gh.PullRequest{Title: &c.Title, Body: &c.Body})
	if err != nil {
		return bot.Thread{}, f.fail(ctx, err, "update pull request %d", number)
	}
	if err := f.makeLabels(ctx, c.Labels); err != nil {
		return bot.Thread{}, err
	}
	return f.withLabels(ctx, pull, c.Labels)
}

// withLabels gives a pull request the labels that it lacks and takes those of Holdfast that are no longer wanted.
func (f *Forge) withLabels(ctx context.Context, pull *gh.PullRequest, wanted []string) (bot.Thread, error) {
	thread := pullThread(pull)
	labels := bot.MergeLabels(thread.Labels, wanted)
	if slices.Equal(slices.Sorted(slices.Values(labels)), slices.Sorted(slices.Values(thread.Labels))) {
		return thread, nil
	}
	// A pull request is an issue with the same number, and this is the one that has labels.
	issue, _, err := f.client.Issues.Edit(ctx, f.owner, f.repo, thread.Number, &gh.IssueRequest{Labels: &labels})
	if err != nil {
		return thread, f.fail(ctx, err, "pull request %d is there; set its labels", thread.Number)
	}
	thread.Labels = labelNames(issue.Labels)
	return thread, nil
}

// SetPullRequestOpen closes or reopens a pull request; one that is so already is left alone.
func (f *Forge) SetPullRequestOpen(ctx context.Context, number int, open bool) error {
	pull, _, err := f.client.PullRequests.Get(ctx, f.owner, f.repo, number)
	if err != nil {
		return f.fail(ctx, err, "read pull request %d", number)
	}
	state := "closed"
	if open {
		state = "open"
	}
	switch pullThread(pull).State {
	case bot.Merged:
		return fmt.Errorf("github: %s/%s: pull request %d: %w: it is merged", f.owner, f.repo, number, forge.ErrInvalid)
	case bot.State(state):
		return nil
	}
	if _, _, err := f.client.PullRequests.Edit(ctx, f.owner, f.repo, number, &gh.PullRequest{State: &state}); err != nil {
		return f.fail(ctx, err, "set pull request %d %s", number, state)
	}
	return nil
}
