package lab

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestGitea(t *testing.T) {
	g := StartGitea(t)
	g.Organization(t, "shop")
	r := g.Create(t, "shop", "declared", Files("-- apps/web.yaml --\nreplicas: 3\n-- README.md --\nshop\n"))
	r.Allow(t, Bot, "write")
	r.Allow(t, Alice, "write")
	r.Allow(t, Bob, "write")
	events := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		mac := hmac.New(sha256.New, []byte("a secret"))
		mac.Write(body)
		if err != nil || request.Header.Get("X-Gitea-Signature") != hex.EncodeToString(mac.Sum(nil)) {
			t.Errorf("delivery %s has the signature %s, %v", body, request.Header.Get("X-Gitea-Signature"), err)
		}
		events <- request.Header.Get("X-Gitea-Event")
	}))
	t.Cleanup(hook.Close)
	r.Hook(t, hook.URL, "a secret")
	r.Protect(t, "main", GiteaProtection{Approvals: 1})

	// A branch over HTTP by the real git, with a token.
	home := t.TempDir()
	url := strings.Replace(r.URL(), "http://", "http://bot:"+g.Token(t, Bot, "write:repository")+"@", 1)
	for _, step := range [][]string{
		{"clone", "--quiet", url, "."}, {"checkout", "--quiet", "-b", "holdfast/web"},
		{"rm", "--quiet", "README.md"}, {"commit", "--quiet", "-m", "Change"}, {"push", "--quiet", "origin", "holdfast/web"},
	} {
		if out, err := git(t, home, step...); err != nil {
			t.Fatalf("git %s: %v\n%s", step[0], err, out)
		}
	}
	if out, err := git(t, home, "push", "--quiet", "origin", "HEAD:main"); err == nil {
		t.Errorf("a push to the protected branch passed: %s", out)
	}
	var pull struct{ Number int }
	g.Call(t, Bot, http.MethodPost, r.Path()+"/pulls", map[string]any{"title": "Change", "head": "holdfast/web", "base": "main"}, &pull)
	r.EditComment(t, Bob, r.Comment(t, Bob, pull.Number, "/drift status"), "/drift explain")
	if err := r.Merge(t, Bob, pull.Number); err == nil {
		t.Error("merged without an approval")
	}
	r.Dismiss(t, pull.Number, r.Approve(t, Alice, pull.Number))
	r.Reject(t, Bob, pull.Number)
	r.Approve(t, Bob, pull.Number)
	if err := r.Merge(t, Bob, pull.Number); err != nil {
		t.Errorf("merge: %v", err)
	}
	want := map[string]bool{"push": true, "pull_request": true, "issue_comment": true, "pull_request_approved": true, "pull_request_rejected": true}
	for deadline := time.After(30 * time.Second); len(want) > 0; {
		select {
		case event := <-events:
			delete(want, event)
		case <-deadline:
			t.Fatalf("no delivery of %v", want)
		}
	}
	if got := r.Read(t, "main", "apps/web.yaml"); got != "replicas: 3\n" {
		t.Errorf("apps/web.yaml is %q", got)
	}
	r.Archive(t)
}
