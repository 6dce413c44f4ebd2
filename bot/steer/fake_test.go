package steer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/steer"
)

// start is when the tests begin.
var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

const bots = "drift-bot"

// fakeForge is a repository's threads in memory. Broken counts down to an error of a write; 0 breaks nothing.
type fakeForge struct {
	issues   []bot.Thread
	pulls    []bot.PullRequest
	comments []bot.Comment
	reacted  map[int64][]bot.Reaction
	roles    map[string]bot.Role
	roleErr  error
	now      time.Time
	account  string
	broken   int
	writes   int
}

var errBroken = errors.New("the process died here")

var _ steer.Forge = (*fakeForge)(nil)

func (f *fakeForge) breaks() error {
	f.writes++
	if f.broken > 0 {
		if f.broken--; f.broken == 0 {
			return errBroken
		}
	}
	return nil
}

// say writes a comment as somebody, a minute after the one before.
func (f *fakeForge) say(kind bot.Kind, number int, login, body string) bot.Comment {
	f.now = f.now.Add(time.Minute)
	id := int64(len(f.comments) + 1)
	c := bot.Comment{ID: id, Kind: kind, Number: number, Author: bot.Actor{Login: login, Bot: login == f.account || strings.HasSuffix(login, "[bot]")}, Body: body,
		Created: f.now, Updated: f.now, URL: fmt.Sprintf("https://git.example.com/shop/%s/%d#%d", kind, number, id)}
	f.comments = append(f.comments, c)
	return c
}

func (f *fakeForge) Threads(_ context.Context, kind bot.Kind) ([]bot.Thread, error) {
	if kind == bot.AsIssue {
		return f.issues, nil
	}
	var out []bot.Thread
	for _, p := range f.pulls {
		if p.Author == f.account {
			out = append(out, p.Thread)
		}
	}
	return out, nil
}

func (f *fakeForge) Comments(_ context.Context, kind bot.Kind, number int, since time.Time) ([]bot.Comment, error) {
	var out []bot.Comment
	for _, c := range f.comments {
		if c.Kind == kind && c.Number == number && !c.Updated.Before(since) {
			out = append(out, c)
		}
	}
	return out, nil
}

func (f *fakeForge) Answer(_ context.Context, kind bot.Kind, number int, body string) (bot.Comment, error) {
	if err := f.breaks(); err != nil {
		return bot.Comment{}, err
	}
	return f.say(kind, number, f.account, body), nil
}

func (f *fakeForge) Rewrite(_ context.Context, c bot.Comment, body string) error {
	if err := f.breaks(); err != nil {
		return err
	}
	f.now = f.now.Add(time.Minute)
	f.comments[c.ID-1].Body, f.comments[c.ID-1].Updated = body, f.now
	return nil
}

func (f *fakeForge) React(_ context.Context, c bot.Comment, r bot.Reaction) error {
	if err := f.breaks(); err != nil {
		return err
	}
	if !slices.Contains(f.reacted[c.ID], r) {
		f.reacted[c.ID] = append(f.reacted[c.ID], r)
	}
	return nil
}

func (f *fakeForge) Account(context.Context) (bot.Actor, error) {
	return bot.Actor{Login: f.account, Bot: true}, nil
}

func (f *fakeForge) Role(_ context.Context, login string) (bot.Role, error) {
	return f.roles[login], f.roleErr
}

func (f *fakeForge) Approvals(context.Context, int) ([]bot.Approval, error) { return nil, nil }

func (f *fakeForge) PullRequest(_ context.Context, number int) (bot.PullRequest, error) {
	for _, p := range f.pulls {
		if p.Number == number {
			return p, nil
		}
	}
	return bot.PullRequest{}, fmt.Errorf("pull request %d: %w", number, forge.ErrNotFound)
}

func (f *fakeForge) OpenPullRequests(context.Context) ([]int, error) { return nil, nil }

func (f *fakeForge) Repository(context.Context) (bot.RepositoryInfo, error) {
	return bot.RepositoryInfo{DefaultBranch: "main"}, nil
}

func (f *fakeForge) Protection(context.Context, string) (bot.BranchProtection, error) {
	return bot.BranchProtection{}, nil
}

// answers gives the comment that holds the answers; empty where there is none.
func (f *fakeForge) answers(t *testing.T, kind bot.Kind, number int) string {
	t.Helper()
	out := ""
	for _, c := range f.comments {
		if c.Kind == kind && c.Number == number && c.Author.Login == f.account && strings.Contains(c.Body, "<!-- holdfast answers ") {
			if out != "" {
				t.Errorf("%s %d has two comments with answers", kind, number)
			}
			out = c.Body
		}
	}
	return out
}
