// Package forge names what Holdfast needs of a forge, as small roles that their users combine. The
// implementations are in the packages below; all pass the suite of bot/forge/forgetest.
package forge

import (
	"context"
	"errors"
	"net/http"
	"time"

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
	// ErrArchived: the repository is archived and takes no writes.
	ErrArchived = errors.New("the repository is archived")
	// ErrSignature: a webhook delivery has no valid signature or token. Nothing of it was decoded.
	ErrSignature = errors.New("the webhook delivery is not signed with the configured secret")
	// ErrDelivery: a signed webhook delivery that cannot be decoded.
	ErrDelivery = errors.New("the webhook delivery cannot be read")
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

// CommentReader reads what was written on a thread.
type CommentReader interface {
	// Comments lists the comments of a thread that were created or changed at since or later, oldest first.
	Comments(ctx context.Context, kind bot.Kind, number int, since time.Time) ([]bot.Comment, error)
}

// Publisher is all that publishing needs.
type Publisher interface {
	Finder
	IssueWriter
	PullRequestWriter
	Commenter
	CommentReader
}

// Conversation reads and answers what people write.
type Conversation interface {
	CommentReader
	// Answer writes a comment and gives it with its ID.
	Answer(ctx context.Context, kind bot.Kind, number int, body string) (bot.Comment, error)
	// Rewrite replaces the text of a comment of the bot's own.
	Rewrite(ctx context.Context, c bot.Comment, body string) error
	// React adds the reaction; one that stands there already is no error.
	React(ctx context.Context, c bot.Comment, r bot.Reaction) error
}

// Authority tells who may do what.
type Authority interface {
	// Account is the bot's own.
	Account(ctx context.Context) (bot.Actor, error)
	// Role gives an account's role in the repository; NoRole for one that is not known.
	Role(ctx context.Context, login string) (bot.Role, error)
	// Approvals lists each reviewer's newest review of a pull request that approves or asks for changes,
	// oldest first. Dismissed ones are left out.
	Approvals(ctx context.Context, number int) ([]bot.Approval, error)
}

// Inspector looks at pull requests and the repository.
type Inspector interface {
	PullRequest(ctx context.Context, number int) (bot.PullRequest, error)
	// OpenPullRequests lists the numbers of all that are open, of whatever author, newest first.
	OpenPullRequests(ctx context.Context) ([]int, error)
	Repository(ctx context.Context) (bot.RepositoryInfo, error)
	Protection(ctx context.Context, branch string) (bot.BranchProtection, error)
}

// Checker reports the status check named "holdfast" on a commit. Reporting again replaces what it said.
type Checker interface {
	Report(ctx context.Context, check bot.Check) error
}

// Hook reads webhook deliveries.
type Hook interface {
	// Read verifies the delivery in constant time, then decodes it. It gives ErrSignature or ErrDelivery.
	Read(header http.Header, body []byte) (bot.Event, error)
}

// Forge is all that the service needs. The one-time commands need a Publisher only.
type Forge interface {
	Publisher
	Conversation
	Authority
	Inspector
	Checker
}
