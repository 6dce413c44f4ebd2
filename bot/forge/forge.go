// Package forge names what Holdfast needs of a forge, as small roles that their users combine. The
// implementations are in the packages below; all pass the suite of bot/forge/forgetest.
package forge

import (
	"context"
	"errors"

	"holdfast/bot"
)

// Errors that every forge maps its own to, wrapped with what was asked. Test with errors.Is.
var (
	// ErrNotFound: no such repository, thread or branch, or no right to see it.
	ErrNotFound = errors.New("not found on the forge")
	// ErrForbidden: the credential lacks a permission, which the message names where the forge tells.
	ErrForbidden = errors.New("forbidden by the forge")
	// ErrInvalid: the forge refused the content.
	ErrInvalid = errors.New("refused by the forge as invalid")
	// ErrUnavailable: the forge did not answer, or answered 5xx, after all retries.
	ErrUnavailable = errors.New("the forge is not available")
)

// Finder finds the threads that Holdfast opened.
type Finder interface {
	// Threads lists the pull requests or issues, open and closed, whose body has a marker and whose
	// author is the bot's own account, newest first.
	Threads(ctx context.Context, kind bot.Kind) ([]bot.Thread, error)
}

// Content is what a thread shall say.
type Content struct {
	Title, Body string
	Labels      []string
}

// IssueWriter opens and changes issues.
type IssueWriter interface {
	OpenIssue(ctx context.Context, content Content) (bot.Thread, error)
	UpdateIssue(ctx context.Context, number int, content Content) (bot.Thread, error)
	// SetIssueOpen closes or reopens.
	SetIssueOpen(ctx context.Context, number int, open bool) error
}

// PullRequestWriter opens and changes pull requests. The branch has been pushed before.
type PullRequestWriter interface {
	OpenPullRequest(ctx context.Context, branch, base string, content Content) (bot.Thread, error)
	UpdatePullRequest(ctx context.Context, number int, content Content) (bot.Thread, error)
	// SetPullRequestOpen closes or reopens; a merged one stays as it is and gives ErrInvalid.
	SetPullRequestOpen(ctx context.Context, number int, open bool) error
}

// Commenter adds a comment to a thread.
type Commenter interface {
	Comment(ctx context.Context, kind bot.Kind, number int, body string) error
}

// Publisher is all that publishing needs.
type Publisher interface {
	Finder
	IssueWriter
	PullRequestWriter
	Commenter
}
