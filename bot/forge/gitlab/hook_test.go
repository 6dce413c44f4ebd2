package gitlab_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/gitlab"
)

const (
	token   = "a secret token"
	signing = "whsec_c2lnbmluZyBrZXk="
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func hook(t *testing.T, o gitlab.HookOptions) *gitlab.Hook {
	t.Helper()
	o.Account, o.Now = "holdfast-bot", func() time.Time { return noon }
	h, err := gitlab.NewHook(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// sealed is a delivery signed with a key, as GitLab's document has it.
func sealed(key string, at time.Time, body string) http.Header {
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "d1.%d.%s", at.Unix(), body)
	return http.Header{
		"Webhook-Id": {"d1"}, "Webhook-Timestamp": {fmt.Sprint(at.Unix())},
		"Webhook-Signature": {"v1,bm90IHRoaXM= v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
}

// The fields and their forms are those of GitLab's document "Webhook events".
const shop = `"project":{"git_http_url":"https://gitlab.example.com/alice/shop.git","path_with_namespace":"alice/shop"},"user":{"username":"alice"}`

func TestEventsAreRead(t *testing.T) {
	base := bot.Event{Repo: "https://gitlab.example.com/alice/shop.git", FullName: "alice/shop", Sender: bot.Actor{Login: "alice"}, Delivery: "once"}
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, body string
		want       func(*bot.Event)
	}{
		{"a push", `{"object_kind":"push","ref":"refs/heads/release/1","before":"a1","after":"b1","user_username":"alice",` + shop + `,"total_commits_count":2,
			"commits":[{"timestamp":"2026-01-01T09:00:00Z","added":["b"],"modified":["a"]},{"timestamp":"2026-01-01T10:00:00Z","removed":["c"],"modified":["a"]}]}`,
			func(e *bot.Event) {
				e.Kind, e.Branch, e.Before, e.After, e.Changed, e.Time = bot.EventPush, "release/1", "a1", "b1", []string{"a", "b", "c"}, at
			}},
		{"a branch that was deleted", `{"object_kind":"push","ref":"refs/heads/x","before":"a1","after":"0000000000000000000000000000000000000000","user_username":"alice",` + shop + `}`,
			func(e *bot.Event) {
				e.Kind, e.Action, e.Branch, e.Before, e.After = bot.EventPush, "deleted", "x", "a1", strings.Repeat("0", 40)
			}},
		{"a tag", `{"object_kind":"tag_push","ref":"refs/tags/v1",` + shop + `}`, func(e *bot.Event) { e.Kind = bot.EventOther }},
		{"a comment on a merge request", `{"object_kind":"note",` + shop + `,"merge_request":{"iid":3,"last_commit":{"id":"h1"}},
			"object_attributes":{"id":12,"note":"/drift revert","noteable_type":"MergeRequest","action":"create","created_at":"2026-01-01 10:00:00 UTC","updated_at":"2026-01-01 10:00:00 UTC","url":"u"}}`,
			func(e *bot.Event) {
				e.Kind, e.Action, e.Thread, e.Number, e.Head, e.Time = bot.EventComment, "create", bot.AsPullRequest, 3, "h1", at
				e.Comment = bot.Comment{ID: 12, Kind: bot.AsPullRequest, Number: 3, Author: e.Sender, Body: "/drift revert", Created: at, Updated: at, URL: "u"}
			}},
		{"a comment on an issue", `{"object_kind":"note",` + shop + `,"issue":{"iid":4},"object_attributes":{"id":13,"note":"x","noteable_type":"Issue","created_at":"2026-01-01T10:00:00.000Z","updated_at":"2026-01-01T10:00:00Z"}}`,
			func(e *bot.Event) {
				e.Kind, e.Thread, e.Number, e.Time = bot.EventComment, bot.AsIssue, 4, at
				e.Comment = bot.Comment{ID: 13, Kind: bot.AsIssue, Number: 4, Author: e.Sender, Body: "x", Created: at, Updated: at}
			}},
		{"a comment on a commit", `{"object_kind":"note",` + shop + `,"object_attributes":{"id":13,"noteable_type":"Commit"}}`, func(e *bot.Event) { e.Kind = bot.EventOther }},
		{"a note of GitLab's own", `{"object_kind":"note",` + shop + `,"issue":{"iid":4},"object_attributes":{"noteable_type":"Issue","system":true}}`, func(e *bot.Event) { e.Kind = bot.EventOther }},
		{"a merge request", `{"object_kind":"merge_request",` + shop + `,"object_attributes":{"iid":5,"action":"merge","last_commit":{"id":"h2"},"updated_at":"2026-01-01T10:00:00Z"}}`,
			func(e *bot.Event) {
				e.Kind, e.Action, e.Thread, e.Number, e.Head, e.Time = bot.EventPullRequest, "merge", bot.AsPullRequest, 5, "h2", at
			}},
		{"an approval", `{"object_kind":"merge_request",` + shop + `,"object_attributes":{"iid":5,"action":"approved"}}`,
			func(e *bot.Event) {
				e.Kind, e.Action, e.Thread, e.Number = bot.EventReview, "approved", bot.AsPullRequest, 5
			}},
		{"an issue", `{"object_kind":"issue",` + shop + `,"object_attributes":{"iid":6,"action":"reopen"}}`,
			func(e *bot.Event) { e.Kind, e.Action, e.Thread, e.Number = bot.EventIssue, "reopen", bot.AsIssue, 6 }},
		{"a pipeline", `{"object_kind":"pipeline",` + shop + `}`, func(e *bot.Event) { e.Kind = bot.EventOther }},
	} {
		want := base
		c.want(&want)
		got, err := hook(t, gitlab.HookOptions{Token: token}).Read(http.Header{"X-Gitlab-Token": {token}, "Idempotency-Key": {"once"}}, []byte(c.body))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v; event (-want +got):\n%s", c.name, err, diff)
		}
	}
}

func TestTheBotsOwnCommentsAreABots(t *testing.T) {
	for _, login := range []string{"holdfast-bot", "project_12_bot", "group_3_bot_0a1b2c"} {
		body := `{"object_kind":"note","project":{"path_with_namespace":"alice/shop"},"user":{"username":"` + login + `"},"issue":{"iid":1},"object_attributes":{"noteable_type":"Issue"}}`
		got, err := hook(t, gitlab.HookOptions{Token: token}).Read(http.Header{"X-Gitlab-Token": {token}}, []byte(body))
		if err != nil || !got.Sender.Bot || !got.Comment.Author.Bot {
			t.Errorf("%s: %+v, %v; want a bot", login, got, err)
		}
	}
}

func TestDeliveriesAreToldApart(t *testing.T) {
	h := hook(t, gitlab.HookOptions{Token: token})
	id := func(body string, header http.Header) string {
		header.Set("X-Gitlab-Token", token)
		e, err := h.Read(header, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return e.Delivery
	}
	one, other := `{"object_kind":"pipeline"}`, `{"object_kind":"job"}`
	if id(one, http.Header{"Idempotency-Key": {"a"}}) != id(one, http.Header{"Idempotency-Key": {"a"}, "X-Gitlab-Event-Uuid": {"x"}}) {
		t.Error("one that is sent again has another ID")
	}
	// On older servers, what one request caused shares the ID.
	shared := func() http.Header { return http.Header{"X-Gitlab-Event-Uuid": {"x"}} }
	first, again, second := id(one, shared()), id(one, shared()), id(other, shared())
	if first != again || first == second {
		t.Error("two deliveries that one request caused have the same ID, or one has two")
	}
}

func TestForgedAndBrokenDeliveriesAreRefused(t *testing.T) {
	for _, o := range []gitlab.HookOptions{{}, {SigningToken: "whsec_"}, {SigningToken: "whsec_%"}} {
		if _, err := gitlab.NewHook(o); err == nil || o.SigningToken != "" && strings.Contains(err.Error(), o.SigningToken+" ") {
			t.Errorf("%+v: error is %v", o, err)
		}
	}
	body := `{"object_kind":"issue",` + shop + `,"object_attributes":{"iid":6}}`
	byToken, bySignature := gitlab.HookOptions{Token: token}, gitlab.HookOptions{SigningToken: signing}
	with := func(h http.Header, name, value string) http.Header {
		h = h.Clone()
		h.Set(name, value)
		return h
	}
	good := sealed("signing key", noon, body)
	for _, c := range []struct {
		name    string
		options gitlab.HookOptions
		header  http.Header
		want    error
	}{
		{"the right token", byToken, http.Header{"X-Gitlab-Token": {token}}, nil},
		{"another token", byToken, http.Header{"X-Gitlab-Token": {token + "x"}}, forge.ErrSignature},
		{"no token", byToken, http.Header{}, forge.ErrSignature},
		{"the right signature", bySignature, good, nil},
		{"a signature beside the wrong token", gitlab.HookOptions{Token: token, SigningToken: signing}, good, forge.ErrSignature},
		{"the right token without a signature", gitlab.HookOptions{Token: token, SigningToken: signing}, http.Header{"X-Gitlab-Token": {token}}, forge.ErrSignature},
		{"both", gitlab.HookOptions{Token: token, SigningToken: signing}, with(good, "X-Gitlab-Token", token), nil},
		{"another key", bySignature, sealed("another key", noon, body), forge.ErrSignature},
		{"another ID", bySignature, with(good, "Webhook-Id", "d2"), forge.ErrSignature},
		{"another time", bySignature, with(good, "Webhook-Timestamp", fmt.Sprint(noon.Unix()+1)), forge.ErrSignature},
		{"another body", bySignature, sealed("signing key", noon, body+" "), forge.ErrSignature},
		{"a delivery of ten minutes ago", bySignature, sealed("signing key", noon.Add(-10*time.Minute), body), forge.ErrSignature},
		{"a delivery of in ten minutes", bySignature, sealed("signing key", noon.Add(10*time.Minute), body), forge.ErrSignature},
		{"no signature", bySignature, with(good, "Webhook-Signature", ""), forge.ErrSignature},
		{"a version that is not known", bySignature, with(good, "Webhook-Signature", strings.ReplaceAll(good.Get("Webhook-Signature"), "v1,", "v2,")), forge.ErrSignature},
	} {
		got, err := hook(t, c.options).Read(c.header, []byte(body))
		if !errors.Is(err, c.want) || c.want != nil && !cmp.Equal(got, bot.Event{}) || c.want == nil && got.Number != 6 {
			t.Errorf("%s: %+v, %v; want %v", c.name, got, err, c.want)
		}
	}
	for _, broken := range []string{"", "{", `{"object_kind":7}`, `{"object_kind":"issue","object_attributes":{"iid":"x"}}`, strings.Repeat("[", 100_000), `{"object_kind":"issue"}`} {
		if _, err := hook(t, byToken).Read(http.Header{"X-Gitlab-Token": {token}}, []byte(broken)); !errors.Is(err, forge.ErrDelivery) {
			t.Errorf("%.30s: error is %v, want ErrDelivery", broken, err)
		}
	}
}
