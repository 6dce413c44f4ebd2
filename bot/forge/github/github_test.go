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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/github"
)

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
			if account, err := app.Account(t.Context()); err != nil || account != (bot.Actor{Login: "holdfast-app[bot]", Bot: true}) {
				t.Errorf("account is %+v, %v", account, err)
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

	f.branch("x")
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
}

func TestLabelsAreMadeOnceAndThoseOfPeopleStay(t *testing.T) {
	f := newFake(t)
	for range 150 { // more than a page
		f.labels = append(f.labels, strings.Repeat("l", len(f.labels)+1))
	}
	f.labels = append(f.labels, "Drift", "triaged")
	f.branch("x")
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

func TestAnAppAsksForNoMoreThanItHas(t *testing.T) {
	f := newFake(t)
	f.granted = map[string]string{"metadata": "read", "issues": "write", "pull_requests": "write"}
	app := open(t, f, github.Options{App: &github.App{ID: 5, PrivateKey: appKey(t)}})
	if _, err := app.OpenIssue(t.Context(), content); err != nil {
		t.Errorf("with the permissions for publishing alone: %v", err)
	}
}

func TestATokenThatAnAppDoesNotGetIsExplained(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		want   error
		says   string
	}{
		{"permissions that nobody accepted", 422, forge.ErrForbidden, "accept the App's new permissions"},
		{"a suspended installation", 403, forge.ErrForbidden, "check the App's ID"},
		{"GitHub is down", 502, forge.ErrUnavailable, "no token for the App's installation 77"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/access_tokens") {
					return false
				}
				refuse(w, c.status, "no")
				return true
			}
			app := open(t, f, github.Options{App: &github.App{ID: 5, PrivateKey: appKey(t)}})
			if _, err := app.OpenIssue(t.Context(), content); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

func TestAnAppFollowsNoRedirectToAnotherHost(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer elsewhere.Close()
	f := newFake(t)
	app := open(t, f, github.Options{App: &github.App{ID: 5, PrivateKey: appKey(t)}})
	f.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	}
	if _, err := app.Threads(t.Context(), bot.AsIssue); !errors.Is(err, forge.ErrUnavailable) || asked != 0 {
		t.Errorf("another host was asked %d times; error is %v", asked, err)
	}
}

func TestWhatATokenMayNotSeeOfProtectionIsSaid(t *testing.T) {
	f := newFake(t)
	f.protection, f.blind = protection(), true
	got, err := open(t, f, github.Options{Token: "bot-token"}).Protection(t.Context(), "main")
	want := bot.BranchProtection{Protected: true, AllowsForce: true, AllowsGone: true, Checks: []string{"holdfast"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; protection (-want +got):\n%s", err, diff)
	}
}

func TestTheSameCheckIsWrittenOnce(t *testing.T) {
	f := newFake(t)
	app := open(t, f, github.Options{App: &github.App{ID: 5, PrivateKey: appKey(t)}})
	check := bot.Check{Commit: f.branch("x"), Verdict: bot.Neutral, Title: "x", Summary: "y", Notes: make([]bot.CheckNote, 60)}
	for range 3 {
		if err := app.Report(t.Context(), check); err != nil {
			t.Fatal(err)
		}
	}
	// It was cut off between the first and the last part of the notes.
	f.runs[0].ExternalID = ""
	if err := app.Report(t.Context(), check); err != nil {
		t.Fatal(err)
	}
	if len(f.runs) != 2 || len(f.runs[1].notes) != 60 || f.count("PATCH /api/v3/repos/alice/shop/check-runs/") != 2 {
		t.Errorf("%d check runs were made, the last with %d notes; want one, and one for what was cut off", len(f.runs), len(f.runs[1].notes))
	}
}

func TestRulesetsProtectABranch(t *testing.T) {
	f := newFake(t)
	f.rules = []any{
		map[string]any{"type": "deletion"}, map[string]any{"type": "a rule of next year"},
		map[string]any{"type": "pull_request", "parameters": map[string]any{"required_approving_review_count": 2}},
		map[string]any{"type": "required_status_checks", "parameters": map[string]any{"required_status_checks": []any{map[string]any{"context": "ci"}}}},
	}
	got, err := open(t, f, github.Options{Token: "bot-token"}).Protection(t.Context(), "main")
	want := bot.BranchProtection{Known: true, Protected: true, AllowsForce: true, Approvals: 2, Checks: []string{"ci"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; protection (-want +got):\n%s", err, diff)
	}
}

func TestARoleThatAnOrganizationMadeCountsAsItsBase(t *testing.T) {
	client := open(t, newFake(t), github.Options{Token: "bot-token"})
	if role, err := client.Role(t.Context(), "security-lead"); err != nil || role != bot.Writer {
		t.Errorf("role is %d, %v; want %d", role, err, bot.Writer)
	}
	if role, err := client.Role(t.Context(), "holdfast-app[bot]"); err != nil || role != bot.NoRole {
		t.Errorf("an App's role is %d, %v; want none", role, err)
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
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	if o.Transport.Base == nil {
		o.Transport.Base = checked{t, base}
	}
	o.Transport.Repeat = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	if o.Owner == "" {
		o.Owner = "alice"
	}
	if o.BaseURL == "" {
		o.BaseURL = f.server.URL
	}
	o.Repo = "shop"
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
