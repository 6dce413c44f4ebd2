package github_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/github"
)

const secret = "It's a Secret to Everybody"

func delivery(event string, body []byte) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return http.Header{
		"X-Github-Event": {event}, "X-Github-Delivery": {"72d3162e-cc78-11e3-81ab-4c9367dc0958"}, "Content-Type": {"application/json"},
		"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
	}
}

func hook(t *testing.T) *github.Hook {
	t.Helper()
	h, err := github.NewHook([]byte(secret), "holdfast-bot")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The payloads are GitHub's own examples; testdata/hooks/README.md has their source.
func TestPublishedPayloadsAreRead(t *testing.T) {
	hello := bot.Event{Repo: "https://github.com/Codertocat/Hello-World.git", FullName: "Codertocat/Hello-World", Sender: bot.Actor{Login: "Codertocat"}}
	with := func(change func(*bot.Event)) bot.Event {
		e := hello
		e.Delivery = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
		change(&e)
		return e
	}
	const head = "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
	for _, c := range []struct {
		file string
		want bot.Event
	}{
		{"push.branch", with(func(e *bot.Event) {
			e.Kind, e.Action, e.Branch, e.Changed = bot.EventPush, "created", "master", []string{"README.md"}
			e.Before, e.After = strings.Repeat("0", 40), "6113728f27ae82c7b1a177c8d03f9e96e0adf246"
		})},
		{"issue_comment.created", with(func(e *bot.Event) {
			e.Kind, e.Action, e.Thread, e.Number = bot.EventComment, "created", bot.AsIssue, 1
			e.Comment = bot.Comment{ID: 492700400, Kind: bot.AsIssue, Number: 1, Author: e.Sender}
		})},
		{"issues.opened", with(func(e *bot.Event) { e.Kind, e.Action, e.Thread, e.Number = bot.EventIssue, "opened", bot.AsIssue, 1 })},
		{"pull_request.opened", with(func(e *bot.Event) {
			e.Kind, e.Action, e.Thread, e.Number, e.Head = bot.EventPullRequest, "opened", bot.AsPullRequest, 2, head
		})},
		{"pull_request_review.submitted", with(func(e *bot.Event) {
			e.Kind, e.Action, e.Thread, e.Number, e.Head = bot.EventReview, "submitted", bot.AsPullRequest, 2, head
		})},
		{"check_suite.rerequested", with(func(e *bot.Event) {
			e.Kind, e.Action, e.Thread, e.Number, e.Head = bot.EventRerun, "rerequested", bot.AsPullRequest, 2, head
			e.Sender = bot.Actor{Login: "octocoders-linter[bot]", Bot: true}
		})},
		{"ping", with(func(e *bot.Event) { e.Kind, e.Repo, e.FullName = bot.EventPing, "", "" })},
		{"installation.deleted", with(func(e *bot.Event) {
			e.Kind, e.Action, e.Repo, e.FullName, e.Sender = bot.EventOther, "deleted", "", "", bot.Actor{Login: "octocat"}
		})},
	} {
		t.Run(c.file, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("testdata", "hooks", c.file+".json"))
			if err != nil {
				t.Fatal(err)
			}
			event, _, _ := strings.Cut(c.file, ".")
			got, err := hook(t).Read(delivery(event, body), body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(bot.Event{}, "Time"), cmpopts.IgnoreFields(bot.Comment{}, "Created", "Updated", "URL", "Body")); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOtherEventsAreOther(t *testing.T) {
	for _, c := range []struct{ event, body string }{
		{"installation", `{"action":"created","installation":{"id":1}}`},
		{"installation_repositories", `{"action":"added"}`},
		{"check_run", `{"action":"completed","check_run":{"name":"holdfast"}}`},
		{"check_run", `{"action":"rerequested","check_run":{"name":"lint"}}`},
		{"push", `{"ref":"refs/tags/v1","repository":{"full_name":"alice/shop"}}`},
		{"issue_comment", `{"action":"created"}`},
		{"an event of next year", `{"action":"x"}`},
	} {
		got, err := hook(t).Read(delivery(c.event, []byte(c.body)), []byte(c.body))
		if err != nil || got.Kind != bot.EventOther {
			t.Errorf("%s %s: %+v, %v; want another event", c.event, c.body, got, err)
		}
	}
}

func TestACommentOnAPullRequestIsToldApart(t *testing.T) {
	body := `{"action":"Created","repository":{"full_name":"alice/shop","clone_url":"https://github.com/alice/shop.git"},"sender":{"login":"holdfast-bot","type":"User"},
		"issue":{"number":7,"pull_request":{"url":"x"}},"comment":{"id":3,"body":"/drift status","user":{"login":"holdfast-bot","type":"User"},"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:05Z"}}`
	got, err := hook(t).Read(delivery("issue_comment", []byte(body)), []byte(body))
	if err != nil || got.Thread != bot.AsPullRequest || got.Number != 7 || got.Action != "created" || !got.Comment.Edited() || !got.Comment.Author.Bot || !got.Sender.Bot {
		t.Errorf("event is %+v, %v", got, err)
	}
}

func TestAPushNamesItsPaths(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want bot.Event
	}{
		"commits to a branch": {
			`{"ref":"refs/heads/release/1","before":"a","after":"b","repository":{"full_name":"alice/shop"},"commits":[{"added":["b"],"modified":["a"]},{"removed":["c"],"modified":["a"]}]}`,
			bot.Event{Branch: "release/1", Before: "a", After: "b", Changed: []string{"a", "b", "c"}, ChangedAll: true},
		},
		"a forced push": {
			`{"ref":"refs/heads/main","forced":true,"repository":{"full_name":"alice/shop"},"commits":[{"modified":["a"]}]}`,
			bot.Event{Branch: "main", Changed: []string{"a"}},
		},
		"as many commits as a list holds": {
			`{"ref":"refs/heads/main","repository":{"full_name":"alice/shop"},"commits":[` + strings.Repeat(`{"modified":["a"]},`, 19) + `{"modified":["a"]}]}`,
			bot.Event{Branch: "main", Changed: []string{"a"}},
		},
		"a deleted branch": {`{"ref":"refs/heads/x","deleted":true,"repository":{"full_name":"alice/shop"}}`, bot.Event{Branch: "x", Action: "deleted"}},
	} {
		want := c.want
		want.Kind, want.FullName, want.Delivery = bot.EventPush, "alice/shop", "72d3162e-cc78-11e3-81ab-4c9367dc0958"
		got, err := hook(t).Read(delivery("push", []byte(c.body)), []byte(c.body))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v; event (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestForgedAndBrokenDeliveriesAreRefused(t *testing.T) {
	if _, err := github.NewHook(nil, ""); err == nil {
		t.Error("a hook without a secret was taken")
	}
	body := []byte(`{"action":"opened","issue":{"number":1},"repository":{"full_name":"alice/shop"}}`)
	for _, c := range []struct {
		name   string
		change func(http.Header, []byte) []byte
		want   error
	}{
		{"no signature", func(h http.Header, b []byte) []byte { h.Del("X-Hub-Signature-256"); return b }, forge.ErrSignature},
		{"another body", func(_ http.Header, b []byte) []byte { return append([]byte(" "), b...) }, forge.ErrSignature},
		{"the older signature", func(h http.Header, b []byte) []byte {
			h.Set("X-Hub-Signature-256", "sha1="+strings.TrimPrefix(h.Get("X-Hub-Signature-256"), "sha256="))
			return b
		}, forge.ErrSignature},
		{"half a signature", func(h http.Header, b []byte) []byte {
			h.Set("X-Hub-Signature-256", h.Get("X-Hub-Signature-256")[:40])
			return b
		}, forge.ErrSignature},
		{"an empty signature", func(h http.Header, b []byte) []byte { h.Set("X-Hub-Signature-256", "sha256="); return b }, forge.ErrSignature},
		{"no hex", func(h http.Header, b []byte) []byte { h.Set("X-Hub-Signature-256", "sha256=zz"); return b }, forge.ErrSignature},
		{"no delivery", func(h http.Header, b []byte) []byte { h.Del("X-Github-Delivery"); return b }, forge.ErrDelivery},
		{"no event", func(h http.Header, b []byte) []byte { h.Del("X-Github-Event"); return b }, forge.ErrDelivery},
		{"a form", func(h http.Header, b []byte) []byte {
			h.Set("Content-Type", "application/x-www-form-urlencoded")
			return b
		}, forge.ErrDelivery},
	} {
		header := delivery("issues", body)
		sent := c.change(header, body)
		if got, err := hook(t).Read(header, sent); !errors.Is(err, c.want) || !cmp.Equal(got, bot.Event{}) {
			t.Errorf("%s: %+v, %v; want %v", c.name, got, err, c.want)
		}
	}
	for _, broken := range []string{"", "{", `{"repository":7}`, `{"issue":{"number":"x"}}`, strings.Repeat("[", 100_000), `{"issue":{"number":1},"action":"opened"}`} {
		if _, err := hook(t).Read(delivery("issues", []byte(broken)), []byte(broken)); !errors.Is(err, forge.ErrDelivery) {
			t.Errorf("%.30s: error is %v, want ErrDelivery", broken, err)
		}
	}
}
