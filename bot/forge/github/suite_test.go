package github_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/forgetest"
	"holdfast/bot/forge/github"
)

func TestGitHubIsAForge(t *testing.T) {
	t.Run("with a token", func(t *testing.T) {
		forgetest.Run(t, func(t *testing.T) forgetest.Harness {
			h := harness(t, "holdfast-bot", github.Options{Token: "bot-token"})
			h.NoNeutral, h.NoNotes = true, true // a commit status has neither
			return h
		})
	})
	t.Run("with an App", func(t *testing.T) {
		key := appKey(t)
		forgetest.Run(t, func(t *testing.T) forgetest.Harness {
			return harness(t, "holdfast-app[bot]", github.Options{App: &github.App{ID: 5, InstallationID: 77, PrivateKey: key}})
		})
	})
}

func harness(t *testing.T, account string, o github.Options) forgetest.Harness {
	f := newFake(t)
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	wire := &forgetest.Wire{Base: checked{t, base}}
	o.Transport.Base = wire
	h := forgetest.Harness{
		Forge: open(t, f, o), Account: account,
		ReadOnly: open(t, f, github.Options{Token: "reader-token"}), Missing: "issues=write; pull_requests=write",
		Secrets: []string{"bot-token", "reader-token", "installation-token"},
		MaxBody: 65_536, Conditional: true,
		Repository: repositoryOf(f), People: peopleOf(f, account),
		Network: forgetest.Network{Wire: wire, Limits: limits},
	}
	if _, err := h.Forge.Threads(t.Context(), bot.AsIssue); err != nil { // so that an App has its token
		t.Fatal(err)
	}
	return h
}

func repositoryOf(f *fake) forgetest.Repository {
	return forgetest.Repository{
		Branch: func(_ testing.TB, name string) { f.with(func() { f.branch(name) }) },
		Commit: func(_ testing.TB, branch string, c forgetest.Change) (hash string) {
			f.with(func() { hash = f.change(branch, c) })
			return hash
		},
		// GitHub closes the pull requests of a branch that is deleted.
		DeleteBranch: func(_ testing.TB, name string) {
			f.with(func() {
				delete(f.branches, name)
				for _, t := range f.threads {
					if t.branch == name && t.state == "open" {
						t.state = "closed"
					}
				}
			})
		},
		RenameDefault: func(_ testing.TB, name string) {
			f.with(func() {
				f.branches[name] = f.branches[f.defaultBranch]
				delete(f.branches, f.defaultBranch)
				f.defaultBranch = name
			})
		},
		Archive: func(testing.TB) { f.with(func() { f.archived = true }) },
		Protect: func(testing.TB) bot.BranchProtection {
			f.with(func() { f.protection = protection() })
			return bot.BranchProtection{Known: true, Protected: true, Approvals: 2, Checks: []string{"holdfast"}}
		},
	}
}

func protection() map[string]any {
	return map[string]any{
		"required_status_checks":        map[string]any{"strict": true, "contexts": []string{"holdfast"}, "checks": []any{map[string]any{"context": "holdfast"}}},
		"required_pull_request_reviews": map[string]any{"required_approving_review_count": 2},
		"allow_force_pushes":            map[string]any{"enabled": false},
	}
}

func peopleOf(f *fake, account string) forgetest.People {
	return forgetest.People{
		Members: members,
		Foreign: func(_ testing.TB, kind bot.Kind, c forge.Content) (number int) {
			f.with(func() {
				t := thread{kind: kind, title: c.Title, body: c.Body, author: "alice"}
				if kind == bot.AsPullRequest {
					t.branch, t.base, t.head = "alice-1", "main", f.branch("alice-1")
				}
				number = f.add(t).number
			})
			return number
		},
		Fork: func(_ testing.TB, branch string, c forge.Content) (number int) {
			f.with(func() {
				number = f.add(thread{kind: bot.AsPullRequest, title: c.Title, body: c.Body, author: "alice", branch: branch, base: "main", fork: true, head: f.branches["main"]}).number
			})
			return number
		},
		Merge: func(_ testing.TB, number int) { f.with(func() { f.merge(f.threads[number-1]) }) },
		Comments: func(_ testing.TB, _ bot.Kind, number int) (out []string) {
			f.with(func() {
				for _, c := range f.comments {
					if c.number == number {
						out = append(out, c.body)
					}
				}
			})
			return out
		},
		Say: func(_ testing.TB, _ bot.Kind, number int, login, body string) {
			f.with(func() { f.say(number, login, body) })
		},
		Edit: func(_ testing.TB, c bot.Comment, body string) {
			f.with(func() {
				edited := f.remark(strconv.FormatInt(c.ID, 10))
				edited.body, edited.updated = body, f.now()
			})
		},
		Reactions: func(_ testing.TB, c bot.Comment) (out []bot.Reaction) {
			f.with(func() { out = f.reactionsOf(c.ID, account) })
			return out
		},
		Review: func(_ testing.TB, number int, login string, review forgetest.Review) {
			state := map[forgetest.Review]string{
				forgetest.Approve: "APPROVED", forgetest.RequestChanges: "CHANGES_REQUESTED", forgetest.Remark: "COMMENTED", forgetest.Dismiss: "DISMISSED",
			}[review]
			f.with(func() { f.review(number, login, state) })
		},
		Checks: func(_ testing.TB, commit string) (out []bot.Check) {
			f.with(func() { out = f.checks(commit) })
			return out
		},
	}
}

// limits are GitHub's ways to refuse. (docs.github.com, "Rate limits for the REST API".)
var limits = []forgetest.Limit{
	{Name: "primary", Answer: func(wait time.Duration) (int, http.Header, string) {
		return 403, http.Header{
			"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"0"},
			"X-Ratelimit-Reset": {strconv.FormatInt(time.Now().Add(wait).Unix()+1, 10)},
		}, `{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"}`
	}},
	{Name: "too-many", Answer: func(wait time.Duration) (int, http.Header, string) {
		return 429, http.Header{"Retry-After": {fmt.Sprint(int(wait.Seconds()))}}, `{"message":"Too many requests"}`
	}},
	{Name: "secondary", Answer: func(wait time.Duration) (int, http.Header, string) {
		return 403, http.Header{"Retry-After": {fmt.Sprint(int(wait.Seconds()))}},
			`{"message":"You have exceeded a secondary rate limit.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`
	}},
}
