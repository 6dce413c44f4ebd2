package gitea

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// Hook reads the webhook deliveries of Gitea and Forgejo. The webhook's content type must be application/json.
type Hook struct {
	secret []byte
	own    string
}

var _ forge.Hook = (*Hook)(nil)

// NewHook prepares a Hook for the secret that the webhook is set up with. own is the login of the bot's account, whose
// comments are marked as a bot's; it may be empty.
func NewHook(secret []byte, own string) (*Hook, error) {
	if len(secret) == 0 {
		return nil, errors.New("gitea: the webhook's secret is empty: anyone could send events")
	}
	return &Hook{secret: secret, own: own}, nil
}

// Read verifies a delivery and decodes it.
func (h *Hook) Read(header http.Header, body []byte) (bot.Event, error) {
	if !h.signed(header, body) {
		return bot.Event{}, fmt.Errorf("gitea: %w", forge.ErrSignature)
	}
	delivery := first(header, "X-Forgejo-Delivery", "X-Gitea-Delivery")
	if delivery == "" || len(delivery) > 100 {
		return bot.Event{}, fmt.Errorf("gitea: %w: it has no X-Gitea-Delivery of a usual length", forge.ErrDelivery)
	}
	if kind, _, err := mime.ParseMediaType(header.Get("Content-Type")); err != nil || kind != "application/json" {
		return bot.Event{}, fmt.Errorf("gitea: delivery %s: %w: set the webhook's content type to application/json", delivery, forge.ErrDelivery)
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return bot.Event{}, fmt.Errorf("gitea: delivery %s: %w: %w", delivery, forge.ErrDelivery, err)
	}
	event := p.event(first(header, "X-Forgejo-Event", "X-Gitea-Event"), h.own)
	event.Delivery = delivery
	return event, nil
}

// signed says whether every signature that the delivery carries, of which there is one at least, is that of the body.
func (h *Hook) signed(header http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, h.secret)
	mac.Write(body)
	want := mac.Sum(nil)
	found, valid := false, true
	for _, name := range []string{"X-Forgejo-Signature", "X-Gitea-Signature", "X-Hub-Signature-256"} {
		for _, value := range header.Values(name) {
			got, err := hex.DecodeString(strings.TrimPrefix(value, "sha256="))
			found, valid = true, valid && err == nil && hmac.Equal(got, want)
		}
	}
	return found && valid
}

func first(header http.Header, names ...string) string {
	for _, name := range names {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// payload has what is used of all events' bodies.
type payload struct {
	Action      string
	Number      int
	IsPull      bool `json:"is_pull"`
	Issue       *issue
	PullRequest *struct {
		pull
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"pull_request"`
	Comment    *comment
	Review     *struct{}
	Repository repository
	Sender     user

	Ref, Before, After string
	TotalCommits       int `json:"total_commits"`
	Commits            []struct{ Added, Removed, Modified []string }
}

func (p payload) event(name, own string) bot.Event {
	e := bot.Event{
		Kind: bot.EventOther, Action: strings.ToLower(p.Action), Repo: p.Repository.CloneURL, FullName: p.Repository.FullName,
		Sender: p.Sender.actor(own), Number: p.Number,
	}
	onPull := p.IsPull || p.PullRequest != nil || p.Issue != nil && p.Issue.PullRequest != nil
	if e.Thread = bot.AsIssue; onPull {
		e.Thread = bot.AsPullRequest
	}
	if p.Issue != nil {
		e.Number = p.Issue.Number
	}
	if p.PullRequest != nil {
		e.Number, e.Head, e.Time = p.PullRequest.Number, p.PullRequest.Head.SHA, p.PullRequest.UpdatedAt
	}
	switch {
	case name == "push":
		return p.push(e)
	case p.Comment != nil && (name == "issue_comment" || name == "pull_request_comment"):
		e.Kind, e.Time = bot.EventComment, p.Comment.UpdatedAt
		e.Comment = p.Comment.comment(e.Thread, e.Number, own)
	case p.PullRequest != nil && (p.Review != nil || strings.HasPrefix(name, "pull_request_review")):
		e.Kind = bot.EventReview
	case p.PullRequest != nil && strings.HasPrefix(name, "pull_request"):
		e.Kind = bot.EventPullRequest
	case p.Issue != nil && strings.HasPrefix(name, "issue"):
		e.Kind = bot.EventIssue
	}
	if e.Kind == bot.EventOther || e.Number == 0 {
		e.Kind, e.Thread, e.Number = bot.EventOther, "", 0
	}
	return e
}

// push fills in what a push has. Its list of commits is cut after the first few, and says of a new branch only what
// its commits change. A push that was forced looks like any other: what it takes away is not told.
func (p payload) push(e bot.Event) bot.Event {
	e.Thread, e.Number = "", 0
	branch, onBranch := strings.CutPrefix(p.Ref, "refs/heads/")
	if !onBranch {
		return e
	}
	e.Kind, e.Branch, e.Before, e.After = bot.EventPush, branch, p.Before, p.After
	for _, c := range p.Commits {
		e.Changed = slices.Concat(e.Changed, c.Added, c.Removed, c.Modified)
	}
	slices.Sort(e.Changed)
	e.Changed = slices.Compact(e.Changed)
	e.ChangedAll = len(p.Commits) > 0 && p.TotalCommits == len(p.Commits) && strings.Trim(p.Before, "0") != ""
	return e
}
