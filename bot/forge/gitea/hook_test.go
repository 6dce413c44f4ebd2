package gitea

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
)

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }

// listen has the server send its events of the repository here.
func listen(t *testing.T, s stand, h *Hook) *deliveries {
	t.Helper()
	d := &deliveries{stand: s, got: make(chan bot.Event, 100)}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		event, err := h.Read(r.Header, body)
		if err != nil {
			t.Errorf("%s: %v\n%s", r.Header.Get("X-Gitea-Event-Type"), err, body)
			return
		}
		d.got <- event
	}))
	t.Cleanup(receiver.Close)
	s.Hook(t, receiver.URL, "a secret")
	return d
}

// want waits for an event. Gitea sends them in any order.
func (d *deliveries) want(t *testing.T, want bot.Event) {
	t.Helper()
	want.Repo, want.FullName = d.URL(), d.Owner+"/"+d.Name
	timeout := time.After(20 * time.Second)
	for {
		for i, got := range d.seen {
			if got.Delivery == "" {
				t.Errorf("%s has no delivery", delivered(got))
			}
			got.Delivery, got.Time, got.Comment.Created, got.Comment.Updated, got.Comment.URL = "", time.Time{}, time.Time{}, time.Time{}, ""
			if cmp.Equal(want, got) {
				d.seen = append(d.seen[:i], d.seen[i+1:]...)
				return
			}
		}
		select {
		case got := <-d.got:
			d.seen = append(d.seen, got)
		case <-timeout:
			for _, got := range d.seen {
				t.Logf("there is %s", delivered(got))
			}
			t.Fatalf("no delivery of %s", delivered(want))
		}
	}
}

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestRead(t *testing.T) {
	const (
		secret  = "s3cret"
		comment = `{"action":"Created","is_pull":true,"issue":{"number":7},"comment":{"id":5,"body":"/drift status","user":{"id":3,"login":"alice"}},
			"repository":{"full_name":"shop/declared","clone_url":"https://git.example.com/shop/declared.git"},"sender":{"id":3,"login":"alice"}}`
	)
	h, err := NewHook([]byte(secret), "drift-bot")
	if err != nil {
		t.Fatal(err)
	}
	said := bot.Event{
		Delivery: "d-1", Kind: bot.EventComment, Action: "created", Repo: "https://git.example.com/shop/declared.git", FullName: "shop/declared",
		Sender: bot.Actor{Login: "alice"}, Thread: bot.AsPullRequest, Number: 7,
		Comment: bot.Comment{ID: 5, Kind: bot.AsPullRequest, Number: 7, Author: bot.Actor{Login: "alice"}, Body: "/drift status"},
	}
	other := bot.Event{Delivery: "d-1", Kind: bot.EventOther}
	for _, c := range []struct {
		name, body string
		header     map[string]string
		want       bot.Event
		err        error
	}{
		{"signed by Gitea", comment, map[string]string{"X-Gitea-Signature": sign(secret, comment)}, said, nil},
		{"signed by Gitea as GitHub does", comment, map[string]string{"X-Hub-Signature-256": "sha256=" + sign(secret, comment)}, said, nil},
		{"signed by Forgejo", comment, map[string]string{"X-Forgejo-Signature": sign(secret, comment), "X-Forgejo-Delivery": "d-1", "X-Forgejo-Event": "issue_comment", "X-Gitea-Delivery": "", "X-Gitea-Event": ""}, said, nil},
		{"not signed", comment, nil, bot.Event{}, forge.ErrSignature},
		{"signed with another secret", comment, map[string]string{"X-Gitea-Signature": sign("other", comment)}, bot.Event{}, forge.ErrSignature},
		{"signed for another body", comment + " ", map[string]string{"X-Gitea-Signature": sign(secret, comment)}, bot.Event{}, forge.ErrSignature},
		{"one signature of two is wrong", comment, map[string]string{"X-Gitea-Signature": sign(secret, comment), "X-Hub-Signature-256": "sha256=" + sign("x", comment)}, bot.Event{}, forge.ErrSignature},
		{"a signature that is no hex", comment, map[string]string{"X-Gitea-Signature": "zz"}, bot.Event{}, forge.ErrSignature},
		{"an empty signature", comment, map[string]string{"X-Gitea-Signature": ""}, bot.Event{}, forge.ErrSignature},
		{"not signed and no JSON either", "{", nil, bot.Event{}, forge.ErrSignature},
		{"no JSON", "{", map[string]string{"X-Gitea-Signature": sign(secret, "{")}, bot.Event{}, forge.ErrDelivery},
		{"JSON of another shape", `{"repository":7}`, map[string]string{"X-Gitea-Signature": sign(secret, `{"repository":7}`)}, bot.Event{}, forge.ErrDelivery},
		{"deep JSON", strings.Repeat("[", 100_000), map[string]string{"X-Gitea-Signature": sign(secret, strings.Repeat("[", 100_000))}, bot.Event{}, forge.ErrDelivery},
		{"a form", comment, map[string]string{"X-Gitea-Signature": sign(secret, comment), "Content-Type": "application/x-www-form-urlencoded"}, bot.Event{}, forge.ErrDelivery},
		{"without a delivery's ID", comment, map[string]string{"X-Gitea-Signature": sign(secret, comment), "X-Gitea-Delivery": ""}, bot.Event{}, forge.ErrDelivery},
		{"another event", `{}`, map[string]string{"X-Gitea-Signature": sign(secret, `{}`), "X-Gitea-Event": "release"}, other, nil},
		{"a comment without one", `{}`, map[string]string{"X-Gitea-Signature": sign(secret, `{}`)}, other, nil},
		{"the push of a tag", `{"ref":"refs/tags/v1"}`, map[string]string{"X-Gitea-Signature": sign(secret, `{"ref":"refs/tags/v1"}`), "X-Gitea-Event": "push"}, other, nil},
	} {
		header := http.Header{}
		for name, value := range map[string]string{"Content-Type": "application/json", "X-Gitea-Delivery": "d-1", "X-Gitea-Event": "issue_comment"} {
			header.Set(name, value)
		}
		for name, value := range c.header {
			header.Set(name, value)
		}
		got, err := h.Read(header, []byte(c.body))
		if !errors.Is(err, c.err) || !cmp.Equal(c.want, got) {
			t.Errorf("%s: %s, %v; want %v", c.name, delivered(got), err, c.err)
		}
		if err != nil && contains(err, secret) {
			t.Errorf("%s: the error shows the secret: %v", c.name, err)
		}
	}
	if _, err := NewHook(nil, ""); err == nil {
		t.Error("an empty secret is taken")
	}
}

func TestPushesThatTellAPart(t *testing.T) {
	for _, c := range []struct {
		name, body string
		all        bool
	}{
		{"all commits", `{"ref":"refs/heads/a/b","before":"11","total_commits":2,"commits":[{"added":["x"],"modified":["a"]},{"removed":["x"]}]}`, true},
		{"the first few commits", `{"ref":"refs/heads/a/b","before":"11","total_commits":3,"commits":[{"added":["x"],"modified":["a"]},{"removed":["x"]}]}`, false},
		{"a new branch", `{"ref":"refs/heads/a/b","before":"00","total_commits":2,"commits":[{"added":["x"],"modified":["a"]},{"removed":["x"]}]}`, false},
	} {
		h, err := NewHook([]byte("x"), "")
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		header.Set("Content-Type", "application/json; charset=utf-8")
		header.Set("X-Gitea-Delivery", "d")
		header.Set("X-Gitea-Event", "push")
		header.Set("X-Gitea-Signature", sign("x", c.body))
		got, err := h.Read(header, []byte(c.body))
		if err != nil || got.Branch != "a/b" || !cmp.Equal(got.Changed, []string{"a", "x"}) || got.ChangedAll != c.all {
			t.Errorf("%s: %s, %v", c.name, delivered(got), err)
		}
	}
}
