package gitea

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/forgetest"
	"holdfast/bot/forge/transport"
	"holdfast/deploy/lab"
)

var (
	server       lab.SharedGitea
	repositories atomic.Int64
	strangers    sync.Once
)

const stranger = "stranger"

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// The suite runs on a real Gitea.
func TestForge(t *testing.T) { forgetest.Run(t, newHarness) }

// stand is one repository on the real server.
type stand struct {
	*lab.GiteaRepository
	gitea *lab.Gitea
}

// newStand makes an organization with one repository, in which the bot is an administrator, Alice may write and Bob read.
func newStand(t *testing.T) stand {
	g := server.Get(t)
	strangers.Do(func() { // an account without any right
		g.Call(t, lab.Admin, http.MethodPost, "/admin/users", map[string]any{
			"username": stranger, "email": "stranger@example.test", "password": "not used again", "must_change_password": false,
		}, nil)
	})
	name := "shop-" + strconv.FormatInt(repositories.Add(1), 10)
	g.Organization(t, name)
	s := stand{g.Create(t, name, "declared", map[string]string{"README.md": "shop\n"}), g}
	s.Allow(t, lab.Bot, "admin")
	s.Allow(t, lab.Alice, "write")
	s.Allow(t, lab.Bob, "read")
	return s
}

func (s stand) forge(t *testing.T, token string, wire http.RoundTripper) *Forge {
	t.Helper()
	f, err := New(Options{BaseURL: s.gitea.URL(), Owner: s.Owner, Repo: s.Name, Token: token, Transport: transport.Options{Base: wire}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// user is who has a login.
func (s stand) user(t testing.TB, login string) lab.User {
	t.Helper()
	for _, u := range []lab.User{lab.Admin, lab.Bot, lab.Alice, lab.Bob} {
		if s.gitea.Login(u) == login {
			return u
		}
	}
	t.Fatalf("nobody is %s", login)
	return ""
}

func newHarness(t *testing.T) forgetest.Harness {
	s := newStand(t)
	wire := &forgetest.Wire{}
	writing := s.gitea.Token(t, lab.Bot, "read:user", "write:repository", "write:issue")
	reading := s.gitea.Token(t, lab.Bot, "read:user", "read:repository", "read:issue")
	h := forgetest.Harness{
		Forge: s.forge(t, writing, wire), ReadOnly: s.forge(t, reading, wire), Missing: "the scope write:",
		Account: s.gitea.Login(lab.Bot), Secrets: []string{writing, reading}, Many: perPage + 2, Tick: 1100 * time.Millisecond, NoNeutral: true, NoNotes: true,
		Network: forgetest.Network{Wire: wire, Limits: []forgetest.Limit{{
			Name: "proxy",
			Answer: func(wait time.Duration) (int, http.Header, string) {
				return http.StatusTooManyRequests, http.Header{"Retry-After": {strconv.Itoa(int(wait.Seconds()))}}, "slow down"
			},
		}}},
	}
	h.Repository = s.repository()
	h.People = s.people()
	return h
}

func (s stand) repository() forgetest.Repository {
	many := false
	return forgetest.Repository{
		Branch: func(t testing.TB, name string) {
			// Some tests want holdfast/0 and many more: once there are a few, the others come at once.
			number, err := strconv.Atoi(strings.TrimPrefix(name, "holdfast/"))
			switch {
			case err != nil || number < 8:
				s.Commit(t, lab.Admin, name, "Change", map[string]string{"change.txt": name + "\n"})
			case !many:
				many = true
				var names []string
				for n := number; n < perPage+2; n++ {
					names = append(names, fmt.Sprint("holdfast/", n))
				}
				s.Branches(t, names...)
			}
		},
		Commit: func(t testing.TB, branch string, change forgetest.Change) string {
			files, remove := map[string]string{}, change.Remove
			for path, content := range change.Write {
				files[path] = content
			}
			for old, path := range change.Rename {
				files[path] = s.Read(t, "main", old)
				remove = append(remove, old)
			}
			return s.Commit(t, lab.Admin, branch, "Change", files, remove...)
		},
		DeleteBranch: func(t testing.TB, name string) {
			s.gitea.Call(t, lab.Admin, http.MethodDelete, s.Path()+"/branches/"+name, nil, nil)
		},
		RenameDefault: func(t testing.TB, name string) {
			s.gitea.Call(t, lab.Admin, http.MethodPatch, s.Path()+"/branches/main", map[string]any{"name": name}, nil)
		},
		Archive: s.Archive,
		Protect: func(t testing.TB) bot.BranchProtection {
			s.Protect(t, "main", lab.GiteaProtection{Approvals: 1, Checks: []string{"holdfast"}})
			return bot.BranchProtection{Known: true, Protected: true, Approvals: 1, Checks: []string{"holdfast"}}
		},
	}
}

func (s stand) people() forgetest.People {
	return forgetest.People{
		Members: map[bot.Role]string{
			bot.Reader: s.gitea.Login(lab.Bob), bot.Writer: s.gitea.Login(lab.Alice), bot.Administrator: s.gitea.Login(lab.Admin),
			bot.NoRole: stranger,
		},
		Foreign: func(t testing.TB, kind bot.Kind, c forge.Content) int {
			return s.open(t, kind, "foreign", c)
		},
		Fork: s.fork,
		Merge: func(t testing.TB, number int) {
			if err := s.Merge(t, lab.Admin, number); err != nil {
				t.Fatal(err)
			}
		},
		Comments: func(t testing.TB, _ bot.Kind, number int) []string {
			var out []string
			var list []comment
			s.gitea.Call(t, lab.Admin, http.MethodGet, fmt.Sprintf("%s/issues/%d/comments", s.Path(), number), nil, &list)
			for _, c := range list {
				out = append(out, c.Body)
			}
			return out
		},
		Say: func(t testing.TB, _ bot.Kind, number int, login, body string) {
			s.Comment(t, s.user(t, login), number, body)
		},
		Edit: func(t testing.TB, c bot.Comment, body string) {
			s.EditComment(t, s.user(t, c.Author.Login), c.ID, body)
		},
		Reactions: func(t testing.TB, c bot.Comment) []bot.Reaction {
			var out []bot.Reaction
			var list []struct {
				User    user
				Content bot.Reaction
			}
			s.gitea.Call(t, lab.Admin, http.MethodGet, fmt.Sprintf("%s/issues/comments/%d/reactions", s.Path(), c.ID), nil, &list)
			for _, r := range list {
				if r.User.Login == s.gitea.Login(lab.Bot) {
					out = append(out, r.Content)
				}
			}
			return out
		},
		Review: s.review,
		Checks: s.checks,
	}
}

// open opens a thread as Alice.
func (s stand) open(t testing.TB, kind bot.Kind, branch string, c forge.Content) int {
	t.Helper()
	var opened struct{ Number int }
	body := map[string]any{"title": c.Title, "body": c.Body}
	path := s.Path() + "/issues"
	if kind == bot.AsPullRequest {
		s.Commit(t, lab.Alice, branch, "Change", map[string]string{"foreign.txt": "x\n"})
		path, body["head"], body["base"] = s.Path()+"/pulls", branch, "main"
	}
	s.gitea.Call(t, lab.Alice, http.MethodPost, path, body, &opened)
	return opened.Number
}

func (s stand) fork(t testing.TB, branch string, c forge.Content) int {
	t.Helper()
	alice := s.gitea.Login(lab.Alice)
	s.gitea.Call(t, lab.Alice, http.MethodPost, s.Path()+"/forks", map[string]any{"name": s.Owner}, nil)
	fork := *s.GiteaRepository
	fork.Owner, fork.Name = alice, s.Owner
	fork.Commit(t, lab.Alice, branch, "Change", map[string]string{"fork.txt": "x\n"})
	var opened struct{ Number int }
	s.gitea.Call(t, lab.Alice, http.MethodPost, s.Path()+"/pulls",
		map[string]any{"title": c.Title, "body": c.Body, "head": alice + ":" + branch, "base": "main"}, &opened)
	return opened.Number
}

func (s stand) review(t testing.TB, number int, login string, r forgetest.Review) {
	t.Helper()
	who := s.user(t, login)
	switch r {
	case forgetest.Approve:
		s.Approve(t, who, number)
	case forgetest.RequestChanges:
		s.Reject(t, who, number)
	case forgetest.Remark:
		s.gitea.Call(t, who, http.MethodPost, fmt.Sprintf("%s/pulls/%d/reviews", s.Path(), number), map[string]any{"event": "COMMENT", "body": "hm"}, nil)
	case forgetest.Dismiss:
		var list []review
		s.gitea.Call(t, lab.Admin, http.MethodGet, fmt.Sprintf("%s/pulls/%d/reviews", s.Path(), number), nil, &list)
		for _, found := range list {
			if found.User.Login == login {
				s.GiteaRepository.Dismiss(t, number, found.ID)
			}
		}
	}
}

func (s stand) checks(t testing.TB, commit string) []bot.Check {
	t.Helper()
	var list []status
	s.gitea.Call(t, lab.Admin, http.MethodGet, s.Path()+"/statuses/"+commit+"?sort=recentupdate", nil, &list)
	var out []bot.Check
	for _, found := range list {
		if found.Context == "holdfast" {
			out = append(out, bot.Check{Commit: commit, Verdict: bot.Verdict(found.State), Title: found.Description, URL: found.TargetURL})
		}
	}
	return out
}

// A bot that is no administrator of the repository is told what that hides from it.
func TestLesserRights(t *testing.T) {
	s := newStand(t)
	s.Allow(t, lab.Bot, "write")
	f := s.forge(t, s.gitea.Token(t, lab.Bot), nil)
	if _, err := f.Role(t.Context(), s.gitea.Login(lab.Alice)); err == nil || !contains(err, "administrator") {
		t.Errorf("role: %v", err)
	}
	s.Protect(t, "main", lab.GiteaProtection{Approvals: 2})
	got, err := f.Protection(t.Context(), "main")
	if err != nil || got.Known || !got.Protected || got.Approvals != 2 {
		t.Errorf("protection is %+v, %v", got, err)
	}
}

// What Gitea really sends is read as what it is.
func TestDeliveries(t *testing.T) {
	s := newStand(t)
	s.Allow(t, lab.Bob, "write")
	h, err := NewHook([]byte("a secret"), s.gitea.Login(lab.Bot))
	if err != nil {
		t.Fatal(err)
	}
	events := listen(t, s, h)
	bob, alice := bot.Actor{Login: "bob"}, bot.Actor{Login: "alice"}
	before := s.Head(t, "main")
	after := s.Commit(t, lab.Bob, "main", "Change", map[string]string{"apps/web.yaml": "a: 1\n", "README.md": "changed\n"})
	events.want(t, bot.Event{Kind: bot.EventPush, Sender: bob, Branch: "main", Before: before, After: after, Changed: []string{"README.md", "apps/web.yaml"}, ChangedAll: true})

	issue := s.open(t, bot.AsIssue, "", forge.Content{Title: "Drift"})
	events.want(t, bot.Event{Kind: bot.EventIssue, Action: "opened", Sender: alice, Thread: bot.AsIssue, Number: issue})
	id := s.Comment(t, lab.Bob, issue, "/drift revert")
	said := bot.Comment{ID: id, Kind: bot.AsIssue, Number: issue, Author: bob, Body: "/drift revert"}
	events.want(t, bot.Event{Kind: bot.EventComment, Action: "created", Sender: bob, Thread: bot.AsIssue, Number: issue, Comment: said})
	s.EditComment(t, lab.Bob, id, "/drift codify")
	said.Body = "/drift codify"
	events.want(t, bot.Event{Kind: bot.EventComment, Action: "edited", Sender: bob, Thread: bot.AsIssue, Number: issue, Comment: said})

	pull := s.open(t, bot.AsPullRequest, "change", forge.Content{Title: "Change"})
	head := s.Head(t, "change")
	on := bot.Event{Thread: bot.AsPullRequest, Number: pull, Head: head}
	with := func(kind bot.EventKind, action string, sender bot.Actor) bot.Event {
		e := on
		e.Kind, e.Action, e.Sender = kind, action, sender
		return e
	}
	events.want(t, bot.Event{Kind: bot.EventPush, Sender: alice, Branch: "change", Before: "0000000000000000000000000000000000000000", After: head, Changed: []string{"foreign.txt"}})
	events.want(t, with(bot.EventPullRequest, "opened", alice))
	id = s.Comment(t, lab.Bot, pull, "by the bot")
	commented := with(bot.EventComment, "created", bot.Actor{Login: "drift-bot", Bot: true})
	commented.Comment = bot.Comment{ID: id, Kind: bot.AsPullRequest, Number: pull, Author: bot.Actor{Login: "drift-bot", Bot: true}, Body: "by the bot"}
	events.want(t, commented)
	s.Reject(t, lab.Bob, pull)
	events.want(t, with(bot.EventReview, "reviewed", bob))
	s.review(t, pull, "bob", forgetest.Remark)
	events.want(t, with(bot.EventReview, "reviewed", bob))
	s.Approve(t, lab.Bob, pull)
	events.want(t, with(bot.EventReview, "reviewed", bob))
	on.Head = s.Commit(t, lab.Alice, "change", "Change again", map[string]string{"foreign.txt": "y\n"})
	events.want(t, with(bot.EventPullRequest, "synchronized", alice))
	if err := s.Merge(t, lab.Bob, pull); err != nil {
		t.Fatal(err)
	}
	events.want(t, with(bot.EventPullRequest, "closed", bob))
}

// deliveries are what the server sent, as read.
type deliveries struct {
	stand
	got  chan bot.Event
	seen []bot.Event
}

// delivered decodes a body for messages.
func delivered(e bot.Event) string {
	text, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
