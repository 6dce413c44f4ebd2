package gitlab

import (
	"context"
	"fmt"

	gl "github.com/xanzy/go-gitlab"

	"holdfast/bot"
	"holdfast/bot/forge"
)

func (f *Forge) mergeRequestPage(ctx context.Context, author string, page int) ([]bot.Thread, int, error) {
	requests, response, err := f.client.MergeRequests.ListProjectMergeRequests(f.project, &gl.ListProjectMergeRequestsOptions{
		AuthorUsername: &author, State: gl.Ptr("all"), Scope: gl.Ptr("all"), OrderBy: gl.Ptr("created_at"), Sort: gl.Ptr("desc"),
		ListOptions: gl.ListOptions{Page: page, PerPage: perPage},
	}, gl.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	var out []bot.Thread
	for _, m := range requests {
		out = append(out, mergeThread(m))
	}
	return out, response.NextPage, nil
}

func mergeThread(m *gl.MergeRequest) bot.Thread {
	t := bot.Thread{
		Kind: bot.AsPullRequest, Number: m.IID, URL: m.WebURL, State: stateOf(m.State), Title: m.Title, Body: m.Description, Labels: m.Labels,
		Branch: m.SourceBranch, Head: m.SHA,
	}
	if m.Author != nil {
		t.Author = m.Author.Username
	}
	return t
}

// OpenPullRequest opens a merge request of a branch that was pushed to the same project.
func (f *Forge) OpenPullRequest(ctx context.Context, branch, base string, c forge.Content) (bot.Thread, error) {
	body, err := f.text(c.Body)
	if err != nil {
		return bot.Thread{}, err
	}
	if err := f.makeLabels(ctx, c.Labels); err != nil {
		return bot.Thread{}, err
	}
	m, _, err := f.client.MergeRequests.CreateMergeRequest(f.project, &gl.CreateMergeRequestOptions{
		Title: &c.Title, Description: &body, SourceBranch: &branch, TargetBranch: &base, Labels: given(c.Labels),
	}, gl.WithContext(ctx))
	if err != nil {
		return bot.Thread{}, f.refused(ctx, err, contributing, "open a merge request from %s to %s", branch, base)
	}
	return mergeThread(m), nil
}

// UpdatePullRequest changes title, body and labels. Labels that Holdfast does not give (other than drift and drift/...)
// stay.
func (f *Forge) UpdatePullRequest(ctx context.Context, number int, c forge.Content) (bot.Thread, error) {
	body, err := f.text(c.Body)
	if err != nil {
		return bot.Thread{}, err
	}
	present, err := f.mergeRequest(ctx, number)
	if err != nil {
		return bot.Thread{}, err
	}
	if err := f.makeLabels(ctx, c.Labels); err != nil {
		return bot.Thread{}, err
	}
	labels := gl.LabelOptions(bot.MergeLabels(present.Labels, c.Labels))
	m, _, err := f.client.MergeRequests.UpdateMergeRequest(f.project, number,
		&gl.UpdateMergeRequestOptions{Title: &c.Title, Description: &body, Labels: &labels}, gl.WithContext(ctx))
	if err != nil {
		return bot.Thread{}, f.refused(ctx, err, contributing, "update merge request %d", number)
	}
	return mergeThread(m), nil
}

// SetPullRequestOpen closes or reopens a merge request; one that is so already is left alone.
func (f *Forge) SetPullRequestOpen(ctx context.Context, number int, open bool) error {
	m, err := f.mergeRequest(ctx, number)
	if err != nil {
		return err
	}
	switch state := stateOf(m.State); {
	case state == bot.Merged:
		return fmt.Errorf("gitlab: %s: merge request %d: %w: it is merged", f.project, number, forge.ErrInvalid)
	case (state == bot.Open) == open:
		return nil
	}
	event := stateEvent(open)
	if _, _, err := f.client.MergeRequests.UpdateMergeRequest(f.project, number, &gl.UpdateMergeRequestOptions{StateEvent: &event}, gl.WithContext(ctx)); err != nil {
		return f.refused(ctx, err, contributing, "%s merge request %d", event, number)
	}
	return nil
}

func (f *Forge) mergeRequest(ctx context.Context, number int) (*gl.MergeRequest, error) {
	m, _, err := f.client.MergeRequests.GetMergeRequest(f.project, number, nil, gl.WithContext(ctx))
	if err != nil {
		return nil, f.fail(ctx, err, reading, "read merge request %d", number)
	}
	return m, nil
}
