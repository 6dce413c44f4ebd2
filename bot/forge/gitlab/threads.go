package gitlab

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	gl "github.com/xanzy/go-gitlab"

	"holdfast/bot"
	"holdfast/bot/forge"
)

const perPage = 100 // the most that GitLab gives

// longest is how many characters a text may have. Notes end there, descriptions a little later.
const longest = 1_000_000

// Threads lists the bot's own issues or merge requests that carry a marker, open and closed, newest first.
func (f *Forge) Threads(ctx context.Context, kind bot.Kind) ([]bot.Thread, error) {
	login, err := f.account(ctx)
	if err != nil {
		return nil, err
	}
	list := f.issuePage
	if kind == bot.AsPullRequest {
		list = f.mergeRequestPage
	}
	var out []bot.Thread
	seen := map[int]bool{} // a thread that is opened meanwhile shifts the pages
	for page := 1; page != 0; {
		threads, next, err := list(ctx, login, page)
		if err != nil {
			return nil, f.fail(ctx, err, reading, "list the %ss", kind)
		}
		for _, t := range threads {
			if _, _, marked := bot.ParseMarker(t.Body); marked && strings.EqualFold(t.Author, login) && !seen[t.Number] {
				seen[t.Number] = true
				out = append(out, t)
			}
		}
		page = next
	}
	return out, nil
}

func (f *Forge) issuePage(ctx context.Context, author string, page int) ([]bot.Thread, int, error) {
	issues, response, err := f.client.Issues.ListProjectIssues(f.project, &gl.ListProjectIssuesOptions{
		AuthorUsername: &author, Scope: gl.Ptr("all"), OrderBy: gl.Ptr("created_at"), Sort: gl.Ptr("desc"),
		ListOptions: gl.ListOptions{Page: page, PerPage: perPage},
	}, gl.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	var out []bot.Thread
	for _, i := range issues {
		out = append(out, issueThread(i))
	}
	return out, response.NextPage, nil
}

func issueThread(i *gl.Issue) bot.Thread {
	t := bot.Thread{
		Kind: bot.AsIssue, Number: i.IID, URL: i.WebURL, State: stateOf(i.State), Title: i.Title, Body: i.Description, Labels: i.Labels,
	}
	if i.Author != nil {
		t.Author = i.Author.Username
	}
	return t
}

// stateOf maps GitLab's states. A merge request is locked while it is being merged.
func stateOf(state string) bot.State {
	switch state {
	case "closed":
		return bot.Closed
	case "merged":
		return bot.Merged
	}
	return bot.Open
}

// OpenIssue opens an issue. Labels that the project does not have are made first.
func (f *Forge) OpenIssue(ctx context.Context, c forge.Content) (bot.Thread, error) {
	body, err := f.text(c.Body)
	if err != nil {
		return bot.Thread{}, err
	}
	if err := f.makeLabels(ctx, c.Labels); err != nil {
		return bot.Thread{}, err
	}
	issue, _, err := f.client.Issues.CreateIssue(f.project, &gl.CreateIssueOptions{Title: &c.Title, Description: &body, Labels: given(c.Labels)}, gl.WithContext(ctx))
	if err != nil {
		return bot.Thread{}, f.refused(ctx, err, discussing, "open the issue %q", c.Title)
	}
	return issueThread(issue), nil
}

// UpdateIssue changes title, body and labels. Labels that Holdfast does not give (other than drift and drift/...) stay.
func (f *Forge) UpdateIssue(ctx context.Context, number int, c forge.Content) (bot.Thread, error) {
	body, err := f.text(c.Body)
	if err != nil {
		return bot.Thread{}, err
	}
	present, err := f.issue(ctx, number)
	if err != nil {
		return bot.Thread{}, err
	}
	if err := f.makeLabels(ctx, c.Labels); err != nil {
		return bot.Thread{}, err
	}
	labels := gl.LabelOptions(bot.MergeLabels(present.Labels, c.Labels))
	issue, _, err := f.client.Issues.UpdateIssue(f.project, number, &gl.UpdateIssueOptions{Title: &c.Title, Description: &body, Labels: &labels}, gl.WithContext(ctx))
	if err != nil {
		return bot.Thread{}, f.refused(ctx, err, labelling, "update issue %d", number)
	}
	return issueThread(issue), nil
}

// SetIssueOpen closes or reopens an issue; one that is so already is left alone.
func (f *Forge) SetIssueOpen(ctx context.Context, number int, open bool) error {
	issue, err := f.issue(ctx, number)
	if err != nil {
		return err
	}
	if (stateOf(issue.State) == bot.Open) == open {
		return nil
	}
	event := stateEvent(open)
	if _, _, err := f.client.Issues.UpdateIssue(f.project, number, &gl.UpdateIssueOptions{StateEvent: &event}, gl.WithContext(ctx)); err != nil {
		return f.refused(ctx, err, labelling, "%s issue %d", event, number)
	}
	return nil
}

func stateEvent(open bool) string {
	if open {
		return "reopen"
	}
	return "close"
}

func (f *Forge) issue(ctx context.Context, number int) (*gl.Issue, error) {
	issue, _, err := f.client.Issues.GetIssue(f.project, number, gl.WithContext(ctx))
	if err != nil {
		return nil, f.fail(ctx, err, reading, "read issue %d", number)
	}
	return issue, nil
}

// text is a body as it is sent. GitLab would take a line that begins with a slash for a quick action, such as /close or
// /merge, and carry it out in the bot's name; a backslash before it is not shown and keeps it a text. Carriage returns go
// first, as GitLab drops them before it looks. (docs.gitlab.com, "GitLab quick actions".)
func (f *Forge) text(body string) (string, error) {
	body = regexp.MustCompile(`(?m)^(\r*)/`).ReplaceAllString(body, `$1\/`)
	if n := utf8.RuneCountInString(body); n > longest {
		return "", fmt.Errorf("gitlab: %s: %w: a text has %d characters, GitLab takes %d", f.project, forge.ErrInvalid, n, longest)
	}
	return body, nil
}
