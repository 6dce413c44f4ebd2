package github

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// Comment adds a comment. GitHub has one address for the comments of issues and pull requests.
func (f *Forge) Comment(ctx context.Context, kind bot.Kind, number int, body string) error {
	_, err := f.say(ctx, kind, number, body)
	return err
}

// Answer adds a comment and gives it.
func (f *Forge) Answer(ctx context.Context, kind bot.Kind, number int, body string) (bot.Comment, error) {
	login, err := f.account(ctx)
	if err != nil {
		return bot.Comment{}, err
	}
	said, err := f.say(ctx, kind, number, body)
	if err != nil {
		return bot.Comment{}, err
	}
	return comment(said, kind, number, login), nil
}

func (f *Forge) say(ctx context.Context, kind bot.Kind, number int, body string) (*gh.IssueComment, error) {
	said, _, err := f.client.Issues.CreateComment(ctx, f.owner, f.repo, number, &gh.IssueComment{Body: &body})
	if err != nil {
		return nil, f.fail(ctx, err, "comment on %s %d", kind, number)
	}
	return said, nil
}

// Comments lists the comments of a thread that were created or changed at since or later, oldest first. Remarks on lines
// and the texts of reviews are none of them.
func (f *Forge) Comments(ctx context.Context, kind bot.Kind, number int, since time.Time) ([]bot.Comment, error) {
	login, err := f.account(ctx)
	if err != nil {
		return nil, err
	}
	if number < 1 { // go-github would list the comments of all threads
		return nil, fmt.Errorf("github: %s/%s: %s %d: %w", f.owner, f.repo, kind, number, forge.ErrNotFound)
	}
	options := &gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{PerPage: perPage}}
	if !since.IsZero() {
		// GitHub compares whole seconds, and does not say whether the bound belongs to it.
		from := since.Add(-time.Second).UTC().Truncate(time.Second)
		options.Since = &from
	}
	byID := map[int64]bot.Comment{} // what is deleted meanwhile shifts the pages
	for options.Page = 1; options.Page != 0; {
		page, response, err := f.client.Issues.ListComments(ctx, f.owner, f.repo, number, options)
		if err != nil {
			return nil, f.fail(ctx, err, "list the comments of %s %d", kind, number)
		}
		for _, one := range page {
			if c := comment(one, kind, number, login); !c.Updated.Before(since) {
				byID[c.ID] = c
			}
		}
		options.Page = response.NextPage
	}
	var out []bot.Comment
	for _, c := range byID {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b bot.Comment) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// Rewrite replaces the text of a comment of the bot's own.
func (f *Forge) Rewrite(ctx context.Context, c bot.Comment, body string) error {
	if _, _, err := f.client.Issues.EditComment(ctx, f.owner, f.repo, c.ID, &gh.IssueComment{Body: &body}); err != nil {
		return f.fail(ctx, err, "rewrite comment %d of %s %d", c.ID, c.Kind, c.Number)
	}
	return nil
}

// React adds a reaction; GitHub keeps one of each kind from each account.
func (f *Forge) React(ctx context.Context, c bot.Comment, r bot.Reaction) error {
	if _, _, err := f.client.Reactions.CreateIssueCommentReaction(ctx, f.owner, f.repo, c.ID, string(r)); err != nil {
		return f.fail(ctx, err, "react to comment %d of %s %d", c.ID, c.Kind, c.Number)
	}
	return nil
}

func comment(c *gh.IssueComment, kind bot.Kind, number int, own string) bot.Comment {
	return bot.Comment{
		ID: c.GetID(), Kind: kind, Number: number, Author: actor(c.User, own), Body: c.GetBody(),
		Created: c.GetCreatedAt().Time, Updated: c.GetUpdatedAt().Time, URL: c.GetHTMLURL(),
	}
}

// actor is an account; own is the bot's login.
func actor(u *gh.User, own string) bot.Actor {
	login := u.GetLogin()
	return bot.Actor{Login: login, Bot: u.GetType() == "Bot" || strings.HasSuffix(login, botSuffix) || login != "" && strings.EqualFold(login, own)}
}
