package gitlab_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/forgetest"
	"holdfast/bot/forge/gitlab"
)

func TestGitLabIsAForge(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		f := newFake(t)
		wire := &forgetest.Wire{Base: plain(t)}
		o := gitlab.Options{Token: "bot-token"}
		o.Transport.Base = wire
		return forgetest.Harness{
			Forge: open(t, f, o), Account: "holdfast-bot",
			ReadOnly: open(t, f, gitlab.Options{Token: "reader-token"}), Missing: "the scope api",
			Secrets: []string{"bot-token", "reader-token"}, MaxBody: 1_000_000, Conditional: true,
			HeadUnknown: true, NoNeutral: true, NoNotes: true,
			Repository: repositoryOf(f), People: peopleOf(f),
			Network: forgetest.Network{Wire: wire, Limits: limits},
		}
	})
}

// limits are GitLab's way to refuse. (docs.gitlab.com, "Rate limits", "User and IP rate limits".)
var limits = []forgetest.Limit{
	{Name: "retry-after", Answer: func(wait time.Duration) (int, http.Header, string) {
		return 429, http.Header{"Retry-After": {fmt.Sprint(int(wait.Seconds()))}, "Ratelimit-Remaining": {"0"}}, "Retry later\n"
	}},
	{Name: "reset", Answer: func(wait time.Duration) (int, http.Header, string) {
		return 429, http.Header{"Ratelimit-Limit": {"60"}, "Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {fmt.Sprint(time.Now().Add(wait).Unix() + 1)}}, "Retry later\n"
	}},
}

func repositoryOf(f *fake) forgetest.Repository {
	return forgetest.Repository{
		Branch: func(_ testing.TB, name string) { f.with(func() { f.branch(name) }) },
		Commit: func(_ testing.TB, branch string, c forgetest.Change) (hash string) {
			f.with(func() { hash = f.change(branch, c) })
			return hash
		},
		DeleteBranch: func(_ testing.TB, name string) { f.with(func() { delete(f.branches, name) }) }, // its merge requests stay open
		RenameDefault: func(_ testing.TB, name string) {
			f.with(func() {
				f.branches[name] = f.branches[f.defaultBranch]
				delete(f.branches, f.defaultBranch)
				f.defaultBranch = name
			})
		},
		Archive: func(testing.TB) { f.with(func() { f.archived = true }) },
		Protect: func(testing.TB) bot.BranchProtection {
			f.with(func() {
				f.protected = []map[string]any{{"id": 1, "name": "ma*", "allow_force_push": false}, {"id": 2, "name": "release/*", "allow_force_push": true}}
				f.rules = []map[string]any{
					{"id": 1, "name": "all", "approvals_required": 2, "applies_to_all_protected_branches": true},
					{"id": 2, "name": "release", "approvals_required": 5, "protected_branches": []any{map[string]any{"name": "release/*"}}},
				}
				f.pipelines = true
			})
			return bot.BranchProtection{Known: true, Protected: true, Approvals: 2, Checks: []string{"holdfast"}}
		},
	}
}

func peopleOf(f *fake) forgetest.People {
	return forgetest.People{
		Members: map[bot.Role]string{
			bot.NoRole: "stranger", bot.Reader: "guest", bot.Triager: "planner", bot.Writer: "developer", bot.Keeper: "maintainer", bot.Administrator: "owner",
		},
		Foreign: func(_ testing.TB, kind bot.Kind, c forge.Content) (number int) {
			f.with(func() {
				t := thread{title: c.Title, body: c.Body, author: "alice"}
				if kind == bot.AsPullRequest {
					f.branch("alice-1")
					t.source, t.target, t.sha = "alice-1", "main", f.branches["alice-1"].head
				}
				number = f.add(kind, t).iid
			})
			return number
		},
		Fork: func(_ testing.TB, branch string, c forge.Content) (number int) {
			f.with(func() {
				number = f.add(bot.AsPullRequest, thread{title: c.Title, body: c.Body, author: "alice", source: branch, target: "main", fork: true, sha: hashOf("fork")}).iid
			})
			return number
		},
		Merge: func(_ testing.TB, number int) { f.with(func() { f.merge(f.threads[bot.AsPullRequest][number-1]) }) },
		Comments: func(_ testing.TB, kind bot.Kind, number int) (out []string) {
			f.with(func() {
				for _, n := range f.notes {
					if n.kind == kind && n.iid == number && !n.system {
						out = append(out, n.body)
					}
				}
			})
			return out
		},
		Say: func(_ testing.TB, kind bot.Kind, number int, login, body string) {
			f.with(func() { f.say(kind, number, login, body) })
		},
		Edit: func(_ testing.TB, c bot.Comment, body string) {
			f.with(func() {
				f.edit(f.notes[slices.IndexFunc(f.notes, func(n *note) bool { return int64(n.id) == c.ID })], body)
			})
		},
		Reactions: func(_ testing.TB, c bot.Comment) (out []bot.Reaction) {
			names := map[string]bot.Reaction{"thumbsup": bot.Done, "thumbsdown": bot.Refused, "eyes": bot.Seen, "confused": bot.Confused}
			f.with(func() {
				for _, n := range f.notes {
					for _, a := range n.awards {
						if int64(n.id) == c.ID && a.login == "holdfast-bot" {
							out = append(out, names[a.name])
						}
					}
				}
			})
			return out
		},
		Review: func(_ testing.TB, number int, login string, review forgetest.Review) {
			f.with(func() { f.review(f.threads[bot.AsPullRequest][number-1], login, review) })
		},
		Checks: func(_ testing.TB, commit string) (out []bot.Check) {
			f.with(func() { out = f.checks(commit) })
			return out
		},
	}
}

func plain(t *testing.T) *http.Transport {
	t.Helper()
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	return base
}

func open(t *testing.T, f *fake, o gitlab.Options) *gitlab.Forge {
	t.Helper()
	g, err := tryOpen(t, f, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func tryOpen(t *testing.T, f *fake, o gitlab.Options) (*gitlab.Forge, error) {
	t.Helper()
	if o.Project == "" {
		o.Project = project
	}
	if o.BaseURL == "" {
		o.BaseURL = f.server.URL + root
	}
	if o.Transport.Base == nil {
		o.Transport.Base = plain(t)
	}
	o.Transport.Repeat = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	return gitlab.New(o)
}
