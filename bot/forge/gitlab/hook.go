package gitlab

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// HookOptions say how deliveries are verified, of which at least one way is needed. Where both are set, both are checked.
type HookOptions struct {
	// Token is the webhook's secret token, which GitLab sends along.
	Token string
	// SigningToken is the webhook's signing token (newer servers), with which GitLab signs: better, for it is never sent.
	SigningToken string
	// Account is the bot's login, whose comments are marked as a bot's.
	Account string
	// Now gives the time, to refuse signed deliveries that are older than five minutes; nil means time.Now.
	Now func() time.Time
}

// Hook reads GitLab's webhook deliveries. (docs.gitlab.com, "Webhooks", "Webhook events"; for signatures, the Standard
// Webhooks specification 1.0.0 and GitLab's merge request 230944.)
type Hook struct {
	o   HookOptions
	key []byte
}

var _ forge.Hook = (*Hook)(nil)

// NewHook takes the webhook's secrets.
func NewHook(o HookOptions) (*Hook, error) {
	if o.Token == "" && o.SigningToken == "" {
		return nil, errors.New("gitlab: a webhook needs a secret token or a signing token")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Hook{o: o, key: []byte(o.SigningToken)}
	if encoded, ok := strings.CutPrefix(o.SigningToken, "whsec_"); ok {
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) == 0 {
			return nil, errors.New("gitlab: the webhook's signing token is no base64 after whsec_")
		}
		h.key = key
	}
	return h, nil
}

// Read implements forge.Hook.
func (h *Hook) Read(header http.Header, body []byte) (bot.Event, error) {
	if !h.trusted(header, body) {
		return bot.Event{}, fmt.Errorf("gitlab: %w", forge.ErrSignature)
	}
	var p payload
	err := json.Unmarshal(body, &p.envelope)
	// Other events may have other fields of the same names.
	if err == nil && slices.Contains([]string{"push", "note", "issue", "merge_request"}, p.ObjectKind) {
		err = json.Unmarshal(body, &p)
	}
	if err != nil {
		return bot.Event{}, fmt.Errorf("gitlab: %w: %s: %w", forge.ErrDelivery, header.Get("X-Gitlab-Event"), err)
	}
	event := bot.Event{
		Delivery: deliveryID(header, body), Kind: bot.EventOther, Action: strings.ToLower(p.Attributes.Action),
		Repo: p.Project.CloneURL, FullName: p.Project.Path, Sender: actor(p.User.Username, h.o.Account), Time: p.Attributes.UpdatedAt.Time,
	}
	h.decode(p, &event)
	if event.Kind != bot.EventOther && event.FullName == "" {
		return bot.Event{}, fmt.Errorf("gitlab: %w: %s names no project", forge.ErrDelivery, p.ObjectKind)
	}
	return event, nil
}

// trusted compares in constant time.
func (h *Hook) trusted(header http.Header, body []byte) bool {
	if h.o.Token != "" {
		// Of equal length, so that not even the length of the token shows.
		sent, want := sha256.Sum256([]byte(header.Get("X-Gitlab-Token"))), sha256.Sum256([]byte(h.o.Token))
		if subtle.ConstantTimeCompare(sent[:], want[:]) != 1 {
			return false
		}
	}
	return h.o.SigningToken == "" || h.signed(header, body)
}

// tolerance is how far the times of GitLab and of this machine may lie apart.
const tolerance = 5 * time.Minute

func (h *Hook) signed(header http.Header, body []byte) bool {
	id, moment := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(moment, 10, 64)
	if err != nil || id == "" || h.o.Now().Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, h.key)
	fmt.Fprintf(mac, "%s.%s.", id, moment)
	mac.Write(body)
	want := mac.Sum(nil)
	for _, signature := range strings.Fields(header.Get("Webhook-Signature")) {
		encoded, known := strings.CutPrefix(signature, "v1,")
		if sent, err := base64.StdEncoding.DecodeString(encoded); known && err == nil && hmac.Equal(sent, want) {
			return true
		}
	}
	return false
}

// deliveryID tells deliveries apart. Newer servers send an ID that stays the same when they try again. X-Gitlab-Event-UUID
// is shared by what one request caused, so the body goes with it.
func deliveryID(header http.Header, body []byte) string {
	for _, name := range []string{"Webhook-Id", "Idempotency-Key"} {
		if id := header.Get(name); id != "" {
			return id
		}
	}
	sum := sha256.Sum256(body)
	return header.Get("X-Gitlab-Event-Uuid") + "/" + hex.EncodeToString(sum[:16])
}

// envelope is what all events have.
type envelope struct {
	ObjectKind string `json:"object_kind"`
	Project    struct {
		CloneURL string `json:"git_http_url"`
		Path     string `json:"path_with_namespace"`
	} `json:"project"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
}

// payload is what Holdfast reads of the events.
type payload struct {
	envelope

	Attributes struct {
		ID           int64  `json:"id"`
		IID          int    `json:"iid"`
		Action       string `json:"action"`
		Note         string `json:"note"`
		NoteableType string `json:"noteable_type"`
		System       bool   `json:"system"`
		URL          string `json:"url"`
		CreatedAt    moment `json:"created_at"`
		UpdatedAt    moment `json:"updated_at"`
		LastCommit   commit `json:"last_commit"`
	} `json:"object_attributes"`
	MergeRequest struct {
		IID        int    `json:"iid"`
		LastCommit commit `json:"last_commit"`
	} `json:"merge_request"`
	Issue struct {
		IID int `json:"iid"`
	} `json:"issue"`

	UserName string `json:"user_username"` // of a push
	Ref      string `json:"ref"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Commits  []struct {
		Timestamp                moment `json:"timestamp"`
		Added, Modified, Removed []string
	} `json:"commits"`
}

type commit struct {
	ID string `json:"id"`
}

// moment is a time, which GitLab writes in two ways.
type moment struct{ time.Time }

// UnmarshalJSON takes what is no time of either form as none.
func (m *moment) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return nil // a form of next year: the time is for people only
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 MST"} {
		if at, err := time.Parse(layout, text); err == nil {
			m.Time = at
			return nil
		}
	}
	return nil
}

// decode fills the event in where it is one that Holdfast acts on.
func (h *Hook) decode(p payload, event *bot.Event) {
	switch p.ObjectKind {
	case "push":
		h.push(p, event)
	case "note":
		h.note(p, event)
	case "issue":
		event.Kind, event.Thread, event.Number = bot.EventIssue, bot.AsIssue, p.Attributes.IID
	case "merge_request":
		event.Kind, event.Thread, event.Number, event.Head = bot.EventPullRequest, bot.AsPullRequest, p.Attributes.IID, p.Attributes.LastCommit.ID
		if slices.Contains([]string{"approved", "unapproved", "approval", "unapproval"}, event.Action) {
			event.Kind = bot.EventReview
		}
	}
}

// note is about threads; those of commits and snippets are left as what they are.
func (h *Hook) note(p payload, event *bot.Event) {
	a := p.Attributes
	switch {
	case a.System:
		return
	case a.NoteableType == "Issue":
		event.Thread, event.Number = bot.AsIssue, p.Issue.IID
	case a.NoteableType == "MergeRequest":
		event.Thread, event.Number, event.Head = bot.AsPullRequest, p.MergeRequest.IID, p.MergeRequest.LastCommit.ID
	default:
		return
	}
	event.Kind = bot.EventComment
	event.Comment = bot.Comment{
		ID: a.ID, Kind: event.Thread, Number: event.Number, Author: event.Sender, Body: a.Note, Created: a.CreatedAt.Time, Updated: a.UpdatedAt.Time, URL: a.URL,
	}
}

// push is about branches. GitLab lists 20 commits at most, and does not say that a push was forced, so the paths are never
// said to be all.
func (h *Hook) push(p payload, event *bot.Event) {
	branch, ok := strings.CutPrefix(p.Ref, "refs/heads/")
	if !ok {
		return
	}
	event.Kind, event.Branch, event.Before, event.After = bot.EventPush, branch, p.Before, p.After
	event.Sender = actor(p.UserName, h.o.Account)
	for _, c := range p.Commits {
		event.Changed = slices.Concat(event.Changed, c.Added, c.Modified, c.Removed)
		event.Time = c.Timestamp.Time
	}
	slices.Sort(event.Changed)
	event.Changed = slices.Compact(event.Changed)
	switch {
	case strings.Trim(p.After, "0") == "":
		event.Action = "deleted"
	case strings.Trim(p.Before, "0") == "":
		event.Action = "created"
	}
}
