package github

import (
	"context"
	"fmt"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"holdfast/bot"
	"holdfast/bot/forge"
)

const perPage = 100 // the most that GitHub gives

// Threads lists the bot's own issues or pull requests that carry a marker, open and closed, newest first.
func (f *Forge) Threads(ctx context.Context, kind bot.Kind) ([]bot.Thread, error) {
	login, err := f.account(ctx)
	if err != nil {
		return nil, err
	}
	list := f.issuePage(login)
	if kind == bot.AsPullRequest {
		list = f.pullPage()
	}
	var out []bot.Thread
	seen := map[int]bool{} // a thread that is opened meanwhile shifts the pages
	for page := 1; page != 0; {
		threads, response, err := list(ctx, page)
		if err != nil {
			return nil, f.fail(ctx, err, "list the %ss", kind)
		}
		for _, t := range threads {
			if _, _, marked := bot.ParseMarker(t.Body); marked && strings.EqualFold(t.Author, login) && !seen[t.Number] {
				seen[t.Number] = true
				out = append(out, t)
			}
		}
		page = response.NextPage
	}
	return out, nil
}

// pageFunc reads one page of threads, newest first.
type pageFunc func(ctx context.Context, page int) ([]bot.Thread, *gh.Response, error)

func (f *Forge) issuePage(login string) pageFunc {
	creator := login
	if strings.HasSuffix(login, botSuffix) {
		// Not documented for the accounts of Apps; a filter that finds nothing would open every issue again.
		creator = ""
	}
	return func(ctx context.Context, page int) ([]bot.Thread, *gh.Response, error) {
		issues, response, err := f.client.Issues.ListByRepo(ctx, f.owner, f.repo, &gh.IssueListByRepoOptions{
			State: "all", Creator: creator, Sort: "created", Direction: "desc",
			ListOptions: gh.ListOptions{Page: page, PerPage: perPage},
		})
		if err != nil {
			return nil, response, err
		}
		var out []bot.Thread
		for _, i := range issues {
			if !i.IsPullRequest() {
				out = append(out, issueThread(i))
			}
		}
		return out, response, nil
	}
}

func issueThread(i *gh.Issue) bot.Thread {
	return bot.Thread{
		Kind: bot.AsIssue, Number: i.GetNumber(), URL: i.GetHTMLURL(), State: bot.State(i.GetState()),
		Title: i.GetTitle(), Body: i.GetBody(), Labels: labelNames(i.Labels), Author: i.GetUser().GetLogin(),
	}
}

// OpenIssue opens an issue. Labels that the repository does not have are made first.
func (f *Forge) OpenIssue(ctx context.Context, c forge.Content) (bot.Thread, error) {
	if err := f.makeLabels(ctx, c.Labels); err != nil {
		return bot.Thread{}, err
	}
	request := &gh.IssueRequest{Title: &c.Title, Body: &c.Body}
	if len(c.Labels) > 0 {
		request.Labels = &c.Labels
	}
	issue, _, err := f.client.Issues.Create(ctx, f.owner, f.repo, request)
	if err != nil {
		return bot.Thread{}, f.fail(ctx, err, "open the issue %q", c.Title)
	}
	return issueThread(issue), nil
}

// UpdateIssue changes title, body and labels. Labels that Holdfast does not give (other than drift and drift/…) stay.
func (f *Forge) UpdateIssue(ctx context.Context, number int, c forge.Content) (bot.Thread, error) {
	issue, err := f.issue(ctx, number)
	if err != nil {
		return bot.Thread{}, err
	}
	if err := f.makeLabels(ctx, c.Labels); err != nil {
		return bot.Thread{}, err
	}
	labels := bot.MergeLabels(labelNames(issue.Labels), c.Labels)
	issue, _, err = f.client.Issues.Edit(ctx, f.owner, f.repo, number, &gh.IssueRequest{Title: &c.Title, Body: &c.Body, Labels: &labels})
	if err != nil {
		return bot.Thread{}, f.fail(ctx, err, "update issue %d", number)
	}
	return issueThread(issue), nil
}

// SetIssueOpen closes or reopens an issue; one that is so already is left alone.
func (f *Forge) SetIssueOpen(ctx context.Context, number int, open bool) error {
	issue, err := f.issue(ctx, number)
	if err != nil {
		return err
	}
	state, reason := "closed", "completed"
	if open {
		state, reason = "open", "reopened"
	}
	if issue.GetState() == state {
		return nil
	}
	_, _, err = f.client.Issues.Edit(ctx, f.owner, f.repo, number, &gh.IssueRequest{State: &state, StateReason: &reason})
	if err != nil {
		return f.fail(ctx, err, "set issue %d %s", number, state)
	}
	return nil
}

// issue reads an issue; a pull request, which GitHub answers with too, is none.
func (f *Forge) issue(ctx context.Context, number int) (*gh.Issue, error) {
	issue, _, err := f.client.Issues.Get(ctx, f.owner, f.repo, number)
	if err != nil {
		return nil, f.fail(ctx, err, "read issue %d", number)
	}
	if issue.IsPullRequest() {
		return nil, fmt.Errorf("github: %s/%s: issue %d: %w: it is a pull request", f.owner, f.repo, number, forge.ErrNotFound)
	}
	return issue, nil
}
