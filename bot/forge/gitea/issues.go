package gitea

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// Threads lists the bot's own issues or pull requests that carry a marker, open and closed, newest first.
func (f *Forge) Threads(ctx context.Context, kind bot.Kind) ([]bot.Thread, error) {
	own, err := f.Account(ctx)
	if err != nil {
		return nil, err
	}
	var out []bot.Thread
	seen := map[int]bool{} // a thread that is opened meanwhile shifts the pages
	add := func(t bot.Thread) bool {
		if _, _, marked := bot.ParseMarker(t.Body); marked && strings.EqualFold(t.Author, own.Login) && !seen[t.Number] {
			seen[t.Number] = true
			out = append(out, t)
		}
		return true
	}
	// A server that does not know a filter leaves it out, so what it gives is looked at here too.
	if kind == bot.AsPullRequest {
		err = pages(ctx, f, f.at("pulls"), url.Values{"state": {"all"}, "poster": {own.Login}}, func(p pull) bool { return add(p.thread()) })
	} else {
		err = pages(ctx, f, f.at("issues"), url.Values{"state": {"all"}, "type": {"issues"}, "created_by": {own.Login}},
			func(i issue) bool { return i.PullRequest != nil || add(i.thread()) })
	}
	if err != nil {
		return nil, f.fail(ctx, err, "list the %ss", kind)
	}
	return out, nil
}

// edit changes an issue or pull request; what is nil stays. A label is changed at another address.
type edit struct {
	Title *string `json:"title,omitempty"`
	Body  *string `json:"body,omitempty"`
	State *string `json:"state,omitempty"`
}

func (f *Forge) edit(ctx context.Context, address *url.URL, e edit, out any) error {
	if err := f.notArchived(ctx); err != nil {
		return err
	}
	return f.write(ctx, http.MethodPatch, address, e, out)
}

// OpenIssue opens an issue. Labels that the repository does not have are made first.
func (f *Forge) OpenIssue(ctx context.Context, c forge.Content) (bot.Thread, error) {
	labels, err := f.labelIDs(ctx, nil, c.Labels)
	if err != nil {
		return bot.Thread{}, err
	}
	var opened issue
	if err := f.write(ctx, http.MethodPost, f.at("issues"), map[string]any{"title": c.Title, "body": c.Body, "labels": labels}, &opened); err != nil {
		return bot.Thread{}, f.fail(ctx, err, "open the issue %q", c.Title)
	}
	return opened.thread(), nil
}

// UpdateIssue changes title, body and labels. Labels that Holdfast does not give (other than drift and drift/...) stay.
func (f *Forge) UpdateIssue(ctx context.Context, number int, c forge.Content) (bot.Thread, error) {
	if _, err := f.issue(ctx, number); err != nil {
		return bot.Thread{}, err
	}
	var updated issue
	if err := f.edit(ctx, f.at("issues", strconv.Itoa(number)), edit{Title: &c.Title, Body: &c.Body}, &updated); err != nil {
		return bot.Thread{}, f.fail(ctx, err, "update issue %d", number)
	}
	return f.withLabels(ctx, updated.thread(), updated.Labels, c.Labels)
}

// SetIssueOpen closes or reopens an issue; one that is so already is left alone.
func (f *Forge) SetIssueOpen(ctx context.Context, number int, open bool) error {
	found, err := f.issue(ctx, number)
	if err != nil {
		return err
	}
	state := stateOf(open)
	if found.State == state {
		return nil
	}
	if err := f.edit(ctx, f.at("issues", strconv.Itoa(number)), edit{State: &state}, nil); err != nil {
		return f.fail(ctx, err, "set issue %d %s", number, state)
	}
	return nil
}

func stateOf(open bool) string {
	if open {
		return "open"
	}
	return "closed"
}

// issue reads an issue; a pull request, which this address gives too, is none.
func (f *Forge) issue(ctx context.Context, number int) (issue, error) {
	return f.numbered(ctx, bot.AsIssue, number)
}

// numbered reads a thread as the issue that every pull request is too. One of the other kind is not found.
func (f *Forge) numbered(ctx context.Context, kind bot.Kind, number int) (issue, error) {
	var found issue
	if err := f.read(ctx, f.at("issues", strconv.Itoa(number)), &found); err != nil {
		return issue{}, f.fail(ctx, err, "read %s %d", kind, number)
	}
	if (found.PullRequest != nil) != (kind == bot.AsPullRequest) {
		return issue{}, fmt.Errorf("gitea: %s/%s: %s %d: %w: it is of the other kind", f.owner, f.repo, kind, number, forge.ErrNotFound)
	}
	return found, nil
}
