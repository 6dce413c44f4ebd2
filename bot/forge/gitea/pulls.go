package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// OpenPullRequest opens a pull request of a branch that was pushed to the same repository. Labels that the repository
// does not have are made first.
func (f *Forge) OpenPullRequest(ctx context.Context, branch, base string, c forge.Content) (bot.Thread, error) {
	labels, err := f.labelIDs(ctx, nil, c.Labels)
	if err != nil {
		return bot.Thread{}, err
	}
	var opened pull
	err = f.write(ctx, http.MethodPost, f.at("pulls"),
		map[string]any{"title": c.Title, "body": c.Body, "head": branch, "base": base, "labels": labels}, &opened)
	if err == nil {
		return opened.thread(), nil
	}
	var refused *refusal
	if errors.As(err, &refused) && refused.status == http.StatusNotFound && f.notArchived(ctx) == nil {
		// The repository is there, so it is said of a branch.
		err = &refusal{status: http.StatusUnprocessableEntity, said: "one of the branches is not there"}
	}
	return bot.Thread{}, f.fail(ctx, err, "open a pull request from %s to %s", branch, base)
}

// UpdatePullRequest changes title, body and labels. Labels that Holdfast does not give (other than drift and
// drift/...) stay.
func (f *Forge) UpdatePullRequest(ctx context.Context, number int, c forge.Content) (bot.Thread, error) {
	var updated pull
	if err := f.edit(ctx, f.at("pulls", strconv.Itoa(number)), edit{Title: &c.Title, Body: &c.Body}, &updated); err != nil {
		return bot.Thread{}, f.fail(ctx, err, "update pull request %d", number)
	}
	return f.withLabels(ctx, updated.thread(), updated.Labels, c.Labels)
}

// SetPullRequestOpen closes or reopens a pull request; one that is so already is left alone.
func (f *Forge) SetPullRequestOpen(ctx context.Context, number int, open bool) error {
	found, err := f.pull(ctx, number)
	if err != nil {
		return err
	}
	state := stateOf(open)
	switch found.thread().State {
	case bot.Merged:
		return fmt.Errorf("gitea: %s/%s: pull request %d: %w: it is merged", f.owner, f.repo, number, forge.ErrInvalid)
	case bot.State(state):
		return nil
	}
	if err := f.edit(ctx, f.at("pulls", strconv.Itoa(number)), edit{State: &state}, nil); err != nil {
		return f.fail(ctx, err, "set pull request %d %s", number, state)
	}
	return nil
}

func (f *Forge) pull(ctx context.Context, number int) (pull, error) {
	var found pull
	if err := f.read(ctx, f.at("pulls", strconv.Itoa(number)), &found); err != nil {
		return pull{}, f.fail(ctx, err, "read pull request %d", number)
	}
	return found, nil
}
