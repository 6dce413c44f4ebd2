package gitlab_test

import (
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
	"holdfast/bot/forge/gitlab"
)

var content = forge.Content{Title: "Drift", Body: "text\n\n" + bot.Marker("ab", "cd"), Labels: []string{"drift"}}

func TestEachKindOfTokenIsSentItsWay(t *testing.T) {
	f := newFake(t)
	if _, err := open(t, f, gitlab.Options{Token: "oauth-token", Kind: gitlab.OAuthToken}).OpenIssue(t.Context(), content); err != nil {
		t.Errorf("an OAuth token: %v", err)
	}
	var sent http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Clone()
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"message":"403 Forbidden"}`))
	}))
	defer server.Close()
	_, err := open(t, f, gitlab.Options{Token: "job-token", Kind: gitlab.JobToken, BaseURL: server.URL}).Account(t.Context())
	if !errors.Is(err, forge.ErrForbidden) || sent.Get("Job-Token") != "job-token" || sent.Get("Private-Token") != "" || sent.Get("Authorization") != "" {
		t.Errorf("a job's token was sent as %v; error is %v", sent, err)
	}
}

func TestWrongSettingsAreTold(t *testing.T) {
	f := newFake(t)
	for _, c := range []struct {
		name    string
		options gitlab.Options
		want    error
		says    string
	}{
		{"a token that is not accepted", gitlab.Options{Token: "s3cret"}, forge.ErrForbidden, "not accepted"},
		{"a project that is not there", gitlab.Options{Token: "bot-token", Project: "alice/s3"}, forge.ErrNotFound, "check the name"},
		{"no token", gitlab.Options{}, nil, "give a token"},
		{"a kind of token that is none", gitlab.Options{Token: "s3cret", Kind: "basic"}, nil, `"basic"`},
		{"a project without a group", gitlab.Options{Token: "s3cret", Project: "shop"}, nil, "full path"},
		{"a project that leaves its place", gitlab.Options{Token: "s3cret", Project: "alice/../shop"}, nil, "full path"},
		{"a base URL in the clear", gitlab.Options{Token: "s3cret", BaseURL: "http://gitlab.example.com"}, nil, "use https"},
		{"a base URL with a password", gitlab.Options{Token: "s3cret", BaseURL: "https://u:s3cret@gitlab.example.com"}, nil, "not of the form"},
		{"a base URL that is none", gitlab.Options{Token: "s3cret", BaseURL: "gitlab.example.com"}, nil, "not of the form"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := tryOpen(t, f, c.options)
			if err == nil {
				_, err = g.OpenIssue(t.Context(), content)
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

func TestTheRoleThatIsMissingIsNamed(t *testing.T) {
	f := newFake(t)
	f.branch("holdfast/x")
	guest := open(t, f, gitlab.Options{Token: "guest-token"})
	if _, err := guest.OpenIssue(t.Context(), forge.Content{Title: "x"}); err != nil {
		t.Errorf("a guest may open issues: %v", err)
	}
	_, openErr := guest.OpenPullRequest(t.Context(), "holdfast/x", "main", forge.Content{Title: "x"})
	_, labelErr := guest.OpenIssue(t.Context(), content)
	for role, err := range map[string]error{
		"Developer": openErr, "Planner": labelErr,
		"role Developer": guest.Report(t.Context(), bot.Check{Commit: f.branches["main"].head, Verdict: bot.Success, Title: "x"}),
	} {
		if !errors.Is(err, forge.ErrForbidden) || !strings.Contains(err.Error(), role) {
			t.Errorf("error is %v, want one that names %s", err, role)
		}
	}
}

func TestARenamedProjectIsTold(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "old") {
			http.Redirect(w, r, strings.Replace(r.URL.EscapedPath(), "old", "new", 1), http.StatusMovedPermanently)
			return
		}
		_, _ = w.Write([]byte(`[]`))
	}))
	defer server.Close()
	client := open(t, newFake(t), gitlab.Options{Token: "bot-token", BaseURL: server.URL, Project: "alice/old"})
	if _, err := client.OpenIssue(t.Context(), forge.Content{Title: "x"}); !errors.Is(err, forge.ErrInvalid) || !strings.Contains(err.Error(), "new name") {
		t.Errorf("error is %v, want ErrInvalid that says so", err)
	}
	if _, err := client.OpenPullRequests(t.Context()); err != nil {
		t.Errorf("what reads follows: %v", err)
	}
}

func TestTheTokenStaysWithItsHost(t *testing.T) {
	var leaked http.Header
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked = r.Header.Clone()
		_, _ = w.Write([]byte(`{"username":"x"}`))
	}))
	defer elsewhere.Close()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer here.Close()
	_, _ = open(t, newFake(t), gitlab.Options{Token: "bot-token", BaseURL: here.URL}).Account(t.Context())
	for name, values := range leaked {
		if strings.Contains(strings.Join(values, " "), "bot-token") {
			t.Errorf("another host was sent %s: %q", name, values)
		}
	}
}

func TestTextsAreNoQuickActions(t *testing.T) {
	f := newFake(t)
	f.branch("holdfast/x")
	client := open(t, f, gitlab.Options{Token: "bot-token"})
	body := "/close\nvalue:\n\r\r/approve\n/merge\r\n```\n/assign @alice\n```\n and a/path\n" + bot.Marker("ab", "cd")
	issue, err := client.OpenIssue(t.Context(), forge.Content{Title: "/close", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	if want := "\\/close\nvalue:\n\r\r\\/approve\n\\/merge\r\n```\n\\/assign @alice\n```\n and a/path\n" + bot.Marker("ab", "cd"); issue.Body != want {
		t.Errorf("body (-want +got):\n%s", cmp.Diff(want, issue.Body))
	}
	merge, mergeErr := client.OpenPullRequest(t.Context(), "holdfast/x", "main", forge.Content{Title: "x", Body: body})
	comment, answerErr := client.Answer(t.Context(), bot.AsIssue, issue.Number, body)
	for what, err := range map[string]error{
		"open": mergeErr, "answer": answerErr,
		"rewrite": client.Rewrite(t.Context(), comment, body),
		"comment": client.Comment(t.Context(), bot.AsPullRequest, merge.Number, body),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(f.actions) != 0 {
		t.Errorf("GitLab carried out %q", f.actions)
	}
}

func TestLabelsAreMadeOnceWithTheirColours(t *testing.T) {
	f := newFake(t)
	for i := range 150 { // more than a page
		f.labels[strings.Repeat("l", i+1)] = label{color: "#000000"}
	}
	f.labels["drift"], f.labels["triaged"] = label{color: "#123456"}, label{color: "#000000"}
	client := open(t, f, gitlab.Options{Token: "bot-token"})
	c := content
	c.Labels = []string{"drift", "drift/high"}
	issue, err := client.OpenIssue(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	f.threads[bot.AsIssue][0].labels = append(f.threads[bot.AsIssue][0].labels, "triaged")
	c.Labels = []string{"drift", "drift/low"}
	if issue, err = client.UpdateIssue(t.Context(), issue.Number, c); err != nil || !slices.Equal(issue.Labels, []string{"drift", "drift/low", "triaged"}) {
		t.Errorf("labels are %q, %v", issue.Labels, err)
	}
	want := map[string]label{"drift": {color: "#123456"}, "drift/high": {color: "#d93f0b"}, "drift/low": {color: "#c5def5"}}
	for name, l := range want {
		if f.labels[name] != l {
			t.Errorf("label %s is %+v, want %+v", name, f.labels[name], l)
		}
	}
	if n := f.count("POST /gitlab/api/v4/projects/alice%2Ftools%2Fshop/labels"); n != 2 {
		t.Errorf("%d labels were made, want drift/high and drift/low", n)
	}
}

func TestWhoIsBlockedHasNoRole(t *testing.T) {
	if role, err := open(t, newFake(t), gitlab.Options{Token: "bot-token"}).Role(t.Context(), "blocked"); err != nil || role != bot.NoRole {
		t.Errorf("role is %d, %v; want none", role, err)
	}
}

func TestOnGitLabFreeApprovalsAreNotDemanded(t *testing.T) {
	f := newFake(t)
	f.protected = []map[string]any{{"id": 1, "name": "main", "allow_force_push": true}}
	got, err := open(t, f, gitlab.Options{Token: "bot-token"}).Protection(t.Context(), "main")
	if want := (bot.BranchProtection{Known: true, Protected: true, AllowsForce: true}); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v; protection (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

func TestWhatATokenMayNotSeeOfProtectionIsSaid(t *testing.T) {
	f := newFake(t)
	f.protected, f.blind = []map[string]any{{"id": 1, "name": "main"}}, true
	got, err := open(t, f, gitlab.Options{Token: "bot-token"}).Protection(t.Context(), "main")
	if want := (bot.BranchProtection{Protected: true, AllowsForce: true}); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v; protection (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

func TestRulesOfProtectedBranchesLeaveOthersAlone(t *testing.T) {
	f := newFake(t)
	f.rules = []map[string]any{{"id": 1, "approvals_required": 2, "applies_to_all_protected_branches": true}}
	client := open(t, f, gitlab.Options{Token: "bot-token"})
	got, err := client.Protection(t.Context(), "main")
	if want := (bot.BranchProtection{Known: true, AllowsForce: true, AllowsGone: true}); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v; protection (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	f.rules = append(f.rules, map[string]any{"id": 2, "approvals_required": 3, "protected_branches": []any{map[string]any{"name": "m*"}}}, map[string]any{"id": 3, "approvals_required": 1})
	if got, err = client.Protection(t.Context(), "main"); err != nil || got.Approvals != 3 {
		t.Errorf("approvals are %d, %v; want 3", got.Approvals, err)
	}
}

func TestAPendingStatusTakesNoOtherPendingOne(t *testing.T) {
	f := newFake(t)
	client, head := open(t, f, gitlab.Options{Token: "bot-token"}), f.branches["main"].head
	for _, title := range []string{"first", "second"} {
		if err := client.Report(t.Context(), bot.Check{Commit: head, Verdict: bot.Pending, Title: title}); err != nil {
			t.Errorf("%s: %v", title, err)
		}
	}
	if got := f.checks(head); len(got) != 1 || got[0].Title != "first" {
		t.Errorf("statuses are %+v, want the first", got)
	}
}

func TestACommentThatWasEditedAndAwardedStaysEdited(t *testing.T) {
	f := newFake(t)
	client := open(t, f, gitlab.Options{Token: "bot-token"})
	issue, err := client.OpenIssue(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	edited := f.say(bot.AsIssue, issue.Number, "developer", "/drift status")
	f.edit(edited, "/drift revert")
	at := edited.updated
	comments, err := client.Comments(t.Context(), bot.AsIssue, issue.Number, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.React(t.Context(), comments[0], bot.Seen); err != nil {
		t.Fatal(err)
	}
	comments, err = client.Comments(t.Context(), bot.AsIssue, issue.Number, time.Time{})
	if err != nil || !comments[0].Updated.Equal(at) {
		t.Errorf("comments are %+v, %v; want it edited at %v", comments, err, at)
	}
}

func TestAServerThatDoesNotTellOfEditsCountsThemAsEdited(t *testing.T) {
	f := newFake(t)
	silent := roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/graphql") {
			return forgetest.Answer(200, http.Header{"Content-Type": {"application/json"}}, `{"errors":[{"message":"Field 'note' doesn't exist"}]}`)(r, nil)
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	o := gitlab.Options{Token: "bot-token"}
	o.Transport.Base = silent
	client := open(t, f, o)
	issue, err := client.OpenIssue(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	f.edit(f.say(bot.AsIssue, issue.Number, "developer", "/drift status"), "/drift revert")
	comments, err := client.Comments(t.Context(), bot.AsIssue, issue.Number, time.Time{})
	if err != nil || len(comments) != 1 || !comments[0].Edited() {
		t.Errorf("comments are %+v, %v; want it edited", comments, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestTheFakeRefusesWhatIsNotDocumented(t *testing.T) {
	f := newFake(t)
	for _, c := range []struct{ name, method, path, body string }{
		{"an unknown parameter of a list", "GET", "/issues?creator=x", ""},
		{"an unknown state", "GET", "/merge_requests?state=all&scope=everything", ""},
		{"an unknown field", "POST", "/issues", `{"title":"x","body":"y"}`},
		{"an issue without a title", "POST", "/issues", `{"description":"y"}`},
		{"a merge request without a target", "POST", "/merge_requests", `{"title":"x","source_branch":"main"}`},
		{"a note without a body", "POST", "/issues/1/notes", `{}`},
		{"an unknown state of a commit", "POST", "/statuses/" + hashOf("main"), `{"state":"neutral","name":"holdfast"}`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, f.server.URL+root+"/api/v4/projects/alice%2Ftools%2Fshop"+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Private-Token", "bot-token")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			continue // the fake broke the connection
		}
		_ = response.Body.Close()
		if response.StatusCode < 400 {
			t.Errorf("%s: the fake answers %s", c.name, response.Status)
		}
	}
}
