package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// Hook reads GitHub's webhook deliveries, of an App or of a repository. (docs.github.com, "Webhook events and payloads",
// "Validating webhook deliveries".)
type Hook struct {
	secret  []byte
	account string
}

var _ forge.Hook = (*Hook)(nil)

// NewHook takes the webhook's secret, and the bot's login, whose comments are marked as a bot's.
func NewHook(secret []byte, account string) (*Hook, error) {
	if len(secret) == 0 {
		return nil, errors.New("github: a webhook needs a secret")
	}
	return &Hook{secret: slices.Clone(secret), account: account}, nil
}

// Read implements forge.Hook.
func (h *Hook) Read(header http.Header, body []byte) (bot.Event, error) {
	if !h.signed(header.Get("X-Hub-Signature-256"), body) {
		return bot.Event{}, fmt.Errorf("github: %w", forge.ErrSignature)
	}
	delivery, name := header.Get("X-Github-Delivery"), header.Get("X-Github-Event")
	if delivery == "" || name == "" {
		return bot.Event{}, fmt.Errorf("github: %w: X-GitHub-Delivery or X-GitHub-Event is missing", forge.ErrDelivery)
	}
	if content := header.Get("Content-Type"); strings.HasPrefix(content, "application/x-www-form-urlencoded") {
		return bot.Event{}, fmt.Errorf("github: %w: it is a form; set the webhook's content type to application/json", forge.ErrDelivery)
	}
	var p payload
	into := any(&p.envelope) // of other events, which may have other fields of the same names
	if slices.Contains([]string{"push", "issue_comment", "issues", "pull_request", "pull_request_review", "check_run", "check_suite"}, name) {
		into = &p
	}
	if err := json.Unmarshal(body, into); err != nil {
		return bot.Event{}, fmt.Errorf("github: %w: %s %s: %w", forge.ErrDelivery, name, delivery, err)
	}
	event := bot.Event{
		Delivery: delivery, Kind: bot.EventOther, Action: strings.ToLower(p.Action),
		Repo: p.Repository.CloneURL, FullName: p.Repository.FullName, Sender: actor(p.Sender, h.account),
	}
	h.decode(name, p, &event)
	if event.Kind != bot.EventOther && event.Kind != bot.EventPing && event.FullName == "" {
		return bot.Event{}, fmt.Errorf("github: %w: %s %s names no repository", forge.ErrDelivery, name, delivery)
	}
	return event, nil
}

// signed compares in constant time.
func (h *Hook) signed(signature string, body []byte) bool {
	sent, err := hex.DecodeString(strings.TrimPrefix(signature, "sha256="))
	if err != nil || !strings.HasPrefix(signature, "sha256=") {
		return false
	}
	mac := hmac.New(sha256.New, h.secret)
	mac.Write(body)
	return hmac.Equal(sent, mac.Sum(nil))
}

// envelope is what all events have.
type envelope struct {
	Action     string `json:"action"`
	Repository struct {
		CloneURL string `json:"clone_url"`
		FullName string `json:"full_name"`
	} `json:"repository"`
	Sender *gh.User `json:"sender"`
}

// payload is what Holdfast reads of the events.
type payload struct {
	envelope

	Issue       *gh.Issue             `json:"issue"`
	Comment     *gh.IssueComment      `json:"comment"`
	PullRequest *gh.PullRequest       `json:"pull_request"`
	Review      *gh.PullRequestReview `json:"review"`
	CheckRun    *gh.CheckRun          `json:"check_run"`
	CheckSuite  *gh.CheckSuite        `json:"check_suite"`

	Ref        string           `json:"ref"`
	Before     string           `json:"before"`
	After      string           `json:"after"`
	Created    bool             `json:"created"`
	Deleted    bool             `json:"deleted"`
	Forced     bool             `json:"forced"`
	Commits    []*gh.HeadCommit `json:"commits"`
	HeadCommit *gh.HeadCommit   `json:"head_commit"`
}

// decode fills the event in where it is one that Holdfast acts on.
func (h *Hook) decode(name string, p payload, event *bot.Event) {
	switch {
	case name == "ping":
		event.Kind = bot.EventPing
	case name == "push":
		p.push(event)
	case name == "issue_comment" && p.Issue != nil && p.Comment != nil:
		event.Kind = bot.EventComment
		issueOf(p.Issue, event)
		event.Comment = comment(p.Comment, event.Thread, event.Number, h.account)
		event.Time = event.Comment.Updated
	case name == "issues" && p.Issue != nil:
		event.Kind = bot.EventIssue
		issueOf(p.Issue, event)
	case name == "pull_request" && p.PullRequest != nil:
		event.Kind = bot.EventPullRequest
		pullOf(p.PullRequest, event)
	case name == "pull_request_review" && p.PullRequest != nil && p.Review != nil:
		event.Kind = bot.EventReview
		pullOf(p.PullRequest, event)
		event.Time = p.Review.GetSubmittedAt().Time
	case name == "check_run" && event.Action == "rerequested" && p.CheckRun.GetName() == checkName:
		event.Kind = bot.EventRerun
		rerunOf(p.CheckRun.GetHeadSHA(), p.CheckRun.PullRequests, event)
	case name == "check_suite" && event.Action == "rerequested" && p.CheckSuite != nil:
		event.Kind = bot.EventRerun
		rerunOf(p.CheckSuite.GetHeadSHA(), p.CheckSuite.PullRequests, event)
	}
}

func issueOf(i *gh.Issue, event *bot.Event) {
	event.Thread, event.Number, event.Time = bot.AsIssue, i.GetNumber(), i.GetUpdatedAt().Time
	if i.IsPullRequest() {
		event.Thread = bot.AsPullRequest
	}
}

func pullOf(p *gh.PullRequest, event *bot.Event) {
	event.Thread, event.Number, event.Time = bot.AsPullRequest, p.GetNumber(), p.GetUpdatedAt().Time
	event.Head = p.GetHead().GetSHA()
}

// rerunOf names the pull request where GitHub does: not for those from forks.
func rerunOf(head string, pulls []*gh.PullRequest, event *bot.Event) {
	event.Thread, event.Head = bot.AsPullRequest, head
	if len(pulls) > 0 {
		event.Number = pulls[0].GetNumber()
	}
}

// fewCommits is how many commits a push lists at most on older servers; newer ones list 2048.
const fewCommits = 20

// push is about branches; a tag's is left as what it is. The paths are all only where each new commit is listed.
func (p payload) push(event *bot.Event) {
	branch, ok := strings.CutPrefix(p.Ref, "refs/heads/")
	if !ok {
		return
	}
	event.Kind, event.Branch, event.Before, event.After = bot.EventPush, branch, p.Before, p.After
	event.Time = p.HeadCommit.GetTimestamp().Time
	for _, c := range p.Commits {
		event.Changed = slices.Concat(event.Changed, c.Added, c.Removed, c.Modified)
	}
	slices.Sort(event.Changed)
	event.Changed = slices.Compact(event.Changed)
	event.ChangedAll = !p.Created && !p.Deleted && !p.Forced && len(p.Commits) > 0 && len(p.Commits) < fewCommits
	switch {
	case p.Deleted:
		event.Action = "deleted"
	case p.Created:
		event.Action = "created"
	}
}
