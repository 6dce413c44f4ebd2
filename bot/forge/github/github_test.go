package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/forgetest"
	"holdfast/bot/forge/github"
)

func TestGitHubIsAForge(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		f := newFake(t)
		return forgetest.Harness{
			Forge:    open(t, f, github.Options{Token: "bot-token"}),
			Account:  "holdfast-bot",
			ReadOnly: open(t, f, github.Options{Token: "reader-token"}),
			Branch: func(_ testing.TB, name string) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.branches[name] = "commit of " + name
			},
			Foreign: func(_ testing.TB, kind bot.Kind, c forge.Content) int {
				f.mu.Lock()
				defer f.mu.Unlock()
				return f.add(thread{kind: kind, title: c.Title, body: c.Body, author: "alice", branch: "alice-1", base: "main"}).number
			},
			Merge: func(_ testing.TB, number int) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.threads[number-1].merged, f.threads[number-1].state = true, "closed"
			},
			Comments: func(_ testing.TB, _ bot.Kind, number int) []string {
				f.mu.Lock()
				defer f.mu.Unlock()
				return slices.Clone(f.comments[number])
			},
		}
	})
}

func TestAnAppActsUnderItsOwnName(t *testing.T) {
	for _, c := range []struct {
		name         string
		installation int64
	}{{"its installation is given", 77}, {"its installation is found", 0}} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			app := open(t, f, github.Options{App: &github.App{ID: 5, InstallationID: c.installation, PrivateKey: appKey(t)}})
			opened, err := app.OpenIssue(t.Context(), content)
			if err != nil {
				t.Fatal(err)
			}
			found, err := app.Threads(t.Context(), bot.AsIssue)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]bot.Thread{opened}, found); diff != "" || opened.Author != "holdfast-app[bot]" {
				t.Errorf("opened %+v; found (-want +got):\n%s", opened, diff)
			}
			if n := f.count("POST /api/v3/app/installations/77/access_tokens"); n != 1 {
				t.Errorf("%d tokens were asked for, want 1", n)
			}
		})
	}
}

func TestWrongCredentialsAreTold(t *testing.T) {
	f := newFake(t)
	key := appKey(t)
	for _, c := range []struct {
		name    string
		options github.Options
		want    error
		says    string
	}{
		{"a token that is not accepted", github.Options{Token: "s3cret"}, forge.ErrForbidden, "Bad credentials"},
		{"an App that is not installed", github.Options{App: &github.App{ID: 5, InstallationID: 1, PrivateKey: key}}, forge.ErrForbidden, "installation 1"},
		{"no credentials", github.Options{}, nil, "give a token or an App"},
		{"two kinds of credentials", github.Options{Token: "s3cret", App: &github.App{}}, nil, "not both"},
		{"a private key that is none", github.Options{App: &github.App{ID: 5, InstallationID: 77, PrivateKey: []byte("s3cret")}}, nil, "private key of App 5"},
		{"a name that leaves its place", github.Options{Token: "s3cret", Owner: "alice/../bob"}, nil, "no repository"},
		{"a name of dots", github.Options{Token: "s3cret", Owner: ".."}, nil, "no repository"},
		{"a base URL in the clear", github.Options{Token: "s3cret", BaseURL: "http://ghe.example.com"}, nil, "use https"},
		{"a base URL that is none", github.Options{Token: "s3cret", BaseURL: "ghe.example.com"}, nil, "https://ghe.example.com"},
	} {
		t.Run(c.name, func(t *testing.T) {
			forge, err := tryOpen(t, f, c.options)
			if err == nil {
				_, err = forge.OpenIssue(t.Context(), content)
			}
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want %v that says %q", err, c.want, c.says)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error shows the secret: %v", err)
			}
		})
	}
}

func TestErrorsSayWhatIsMissing(t *testing.T) {
	f := newFake(t)
	_, err := open(t, f, github.Options{Token: "reader-token"}).OpenIssue(t.Context(), content)
	if !errors.Is(err, forge.ErrForbidden) || !strings.Contains(err.Error(), "issues=write; pull_requests=write") {
		t.Errorf("error is %v, want the missing permission", err)
	}

	f.branches["x"] = "c1"
	bot := open(t, f, github.Options{Token: "bot-token"})
	for range 2 {
		_, err = bot.OpenPullRequest(t.Context(), "x", "main", content)
	}
	if !errors.Is(err, forge.ErrInvalid) || !strings.Contains(err.Error(), "already exists for alice:x") {
		t.Errorf("error is %v, want GitHub's reason", err)
	}

	f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("X-Accepted-OAuth-Scopes", "repo")
		w.Header().Set("X-OAuth-Scopes", "gist")
		refuse(w, 403, "no")
		return true
	}
	if err := bot.Comment(t.Context(), "issue", 1, "x"); !errors.Is(err, forge.ErrForbidden) || !strings.Contains(err.Error(), `scopes repo, the token has "gist"`) {
		t.Errorf("error is %v, want the missing scope", err)
	}
	f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		refuse(w, 410, "Issues are disabled for this repo")
		return true
	}
	if err := bot.Comment(t.Context(), "issue", 1, "x"); !errors.Is(err, forge.ErrNotFound) || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("error is %v, want that issues are off", err)
	}
	f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", "1900000000")
		refuse(w, 403, "API rate limit exceeded")
		return true
	}
	if err := bot.Comment(t.Context(), "issue", 1, "x"); !errors.Is(err, forge.ErrUnavailable) || !strings.Contains(err.Error(), "2030-03-17T17:46:40Z") {
		t.Errorf("error is %v, want the end of the limit", err)
	}
}

func TestOnlyWhatReadsIsRepeated(t *testing.T) {
	f := newFake(t)
	bot := open(t, f, github.Options{Token: "bot-token"})
	failures := 2
	f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if failures == 0 || !strings.Contains(r.URL.Path, "/issues") {
			return false
		}
		failures--
		refuse(w, 502, "Bad gateway")
		return true
	}
	if threads, err := bot.Threads(t.Context(), "issue"); err != nil || len(threads) != 0 {
		t.Errorf("threads are %v, %v; want none after two repetitions", threads, err)
	}
	failures = 1
	if _, err := bot.OpenIssue(t.Context(), content); !errors.Is(err, forge.ErrUnavailable) || !strings.Contains(err.Error(), "502") {
		t.Errorf("error is %v, want ErrUnavailable", err)
	}
	if n := f.count("POST /api/v3/repos/alice/shop/issues"); n != 1 {
		t.Errorf("the issue was sent %d times, want once", n)
	}

	// The connection breaks after GitHub has acted.
	f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		f.openIssue(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	before := f.count("POST ")
	if _, err := bot.OpenIssue(t.Context(), content); !errors.Is(err, forge.ErrUnavailable) {
		t.Errorf("error is %v, want ErrUnavailable", err)
	}
	if n := f.count("POST ") - before; n != 1 {
		t.Errorf("the issue was sent %d times, want once", n)
	}
	if threads, err := bot.Threads(t.Context(), "issue"); err != nil || len(threads) != 1 {
		t.Errorf("threads are %v, %v; want the one that was opened", threads, err)
	}
}

func TestASecondaryLimitIsWaitedFor(t *testing.T) {
	f := newFake(t)
	bot := open(t, f, github.Options{Token: "bot-token"})
	limited := true
	f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !limited || r.Method != http.MethodPost {
			return false
		}
		limited = false
		w.Header().Set("Retry-After", "1")
		answer(w, 403, map[string]any{"message": "You have exceeded a secondary rate limit.", "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"})
		return true
	}
	start := time.Now()
	opened, err := bot.OpenIssue(t.Context(), forge.Content{Title: content.Title, Body: content.Body})
	if err != nil || opened.Body != content.Body {
		t.Fatalf("opened %+v, %v; want the whole issue after the wait", opened, err)
	}
	if waited := time.Since(start); waited < 500*time.Millisecond {
		t.Errorf("it waited %v, GitHub asked for a second", waited)
	}
	if len(f.threads) != 1 {
		t.Errorf("%d issues were opened, want 1", len(f.threads))
	}
}

func TestALongSecondaryLimitIsAnError(t *testing.T) {
	f := newFake(t)
	f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Retry-After", "3600")
		answer(w, 403, map[string]any{"message": "You have exceeded a secondary rate limit.", "documentation_url": "https://docs.github.com/rest#secondary-rate-limits"})
		return true
	}
	err := open(t, f, github.Options{Token: "bot-token"}).Comment(t.Context(), bot.AsIssue, 1, "x")
	if !errors.Is(err, forge.ErrUnavailable) || !strings.Contains(err.Error(), "slow down") {
		t.Errorf("error is %v, want ErrUnavailable", err)
	}
}

func TestLabelsAreMadeOnceAndThoseOfPeopleStay(t *testing.T) {
	f := newFake(t)
	for range 150 { // more than a page
		f.labels = append(f.labels, strings.Repeat("l", len(f.labels)+1))
	}
	f.labels = append(f.labels, "Drift", "triaged")
	f.branches["x"] = "c1"
	client := open(t, f, github.Options{Token: "bot-token"})
	c := content
	c.Labels = []string{"drift", "drift/high"}
	issue, err := client.OpenIssue(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	pull, err := client.OpenPullRequest(t.Context(), "x", "main", c)
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range f.threads {
		thread.labels = append(thread.labels, "triaged")
	}
	c.Labels = []string{"drift", "drift/low"}
	want := []string{"drift", "drift/low", "triaged"}
	issue, err = client.UpdateIssue(t.Context(), issue.Number, c)
	if diff := cmp.Diff(want, issue.Labels); diff != "" || err != nil {
		t.Errorf("issue: %v, labels (-want +got):\n%s", err, diff)
	}
	pull, err = client.UpdatePullRequest(t.Context(), pull.Number, c)
	if diff := cmp.Diff(want, pull.Labels); diff != "" || err != nil {
		t.Errorf("pull request: %v, labels (-want +got):\n%s", err, diff)
	}
	if n := f.count("POST /api/v3/repos/alice/shop/labels"); n != 2 {
		t.Errorf("%d labels were made, want drift/high and drift/low", n)
	}
	if n := f.count("GET /api/v3/repos/alice/shop/labels"); n != 2 {
		t.Errorf("the labels were listed in %d requests, want the 2 pages once", n)
	}
}

func TestTheTokenStaysWithItsHost(t *testing.T) {
	var leaked string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked = r.Header.Get("Authorization")
		answer(w, 200, map[string]any{"login": "x"})
	}))
	defer elsewhere.Close()
	f := newFake(t)
	f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	}
	_, _ = open(t, f, github.Options{Token: "bot-token"}).Threads(t.Context(), bot.AsIssue)
	if leaked != "" {
		t.Errorf("another host was sent %q", leaked)
	}
}

var content = forge.Content{Title: "Drift", Body: "text\n\n" + bot.Marker("ab", "cd"), Labels: []string{"drift"}}

func open(t *testing.T, f *fake, o github.Options) *github.Forge {
	t.Helper()
	forge, err := tryOpen(t, f, o)
	if err != nil {
		t.Fatal(err)
	}
	return forge
}

// tryOpen makes a forge whose requests all pass GitHub's description before they reach the fake, which stands for a
// GitHub Enterprise server.
func tryOpen(t *testing.T, f *fake, o github.Options) (*github.Forge, error) {
	t.Helper()
	if o.Owner == "" {
		o.Owner = "alice"
	}
	if o.BaseURL == "" {
		o.BaseURL = f.server.URL
	}
	o.Repo = "shop"
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	o.Transport = checked{t, transport}
	return github.New(context.Background(), o)
}

func appKey(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}
