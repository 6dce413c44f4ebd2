package steer_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"holdfast/bot"
	"holdfast/bot/command"
	"holdfast/bot/ledger"
	"holdfast/bot/steer"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
	"holdfast/gitops/repo/sign"
)

const shopURL = "https://git.example.com/shop.git"

// world is a repository with one issue and one pull request of Holdfast's, about the same two fields that drift.
type world struct {
	*fakeForge
	dir    string
	signer sign.Signer
	keys   *sign.Allowed
	facts  steer.Facts
	owners *command.Owners
	rules  steer.Rules
	floods *steer.Floods
}

func newWorld(t *testing.T) *world {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: filepath.Join(t.TempDir(), "ledger.git"), floods: &steer.Floods{}}
	repotest.Git(t, t.TempDir(), "init", "-q", "--bare", "-b", "main", w.dir)
	if w.signer, err = sign.Load(pem.EncodeToMemory(block), nil); err != nil {
		t.Fatal(err)
	}
	if w.keys, err = sign.Own(w.signer, "holdfast"); err != nil {
		t.Fatal(err)
	}
	f := drifting()
	w.facts = steer.Facts{
		Findings: []detect.Finding{f}, Files: map[string][]string{f.ID: {"apps/shop/web.yaml"}},
		Scanned: map[string]time.Time{"north": start},
	}
	w.rules = steer.Rules{PerThread: 10, PerAuthor: 60}
	issue := bot.Record{FirstSeen: start, About: map[string]string{f.ID: f.Fingerprint}}.String() + "\n" + bot.Marker("aaaaaaaaaaaaaaaaaaaa", "bb") + "\n"
	pull := bot.Record{About: map[string]string{bot.FieldName(f.ID, "spec.replicas"): "11", bot.FieldName(f.ID, "spec.paused"): "12"}}.String() + "\n" + bot.Marker("cccccccccccccccccccc", "dd") + "\n"
	w.fakeForge = &fakeForge{
		account: bots, now: start, reacted: map[int64][]bot.Reaction{},
		roles:  map[string]bot.Role{"alice": bot.Writer, "bob": bot.Writer, "carol": bot.Reader},
		issues: []bot.Thread{{Kind: bot.AsIssue, Number: 1, State: bot.Open, Author: bots, Title: "Drift: Deployment shop/web", Body: "text\n" + issue, URL: "https://git.example.com/shop/issues/1"}},
		pulls: []bot.PullRequest{
			{Thread: bot.Thread{Kind: bot.AsPullRequest, Number: 2, State: bot.Open, Author: bots, Body: "text\n" + pull, Head: "h1"}, SameRepository: true, Files: []string{"apps/shop/web.yaml"}},
			{Thread: bot.Thread{Kind: bot.AsPullRequest, Number: 3, State: bot.Open, Author: "alice", Body: "text\n" + pull, Head: "h2"}, SameRepository: true, Files: []string{"README.md"}},
		},
	}
	return w
}

func drifting() detect.Finding {
	at := func(path string, git, live any) detect.Field {
		parsed, err := gitops.ParsePath(path)
		if err != nil {
			panic(err)
		}
		return detect.Field{Path: parsed, Git: gitops.Present(git), Live: gitops.Present(live), Differs: true, Drift: true, Cause: detect.CauseManual,
			Risk: detect.Medium, Disposition: detect.AsIssue, Rule: "manual (production, rule 2)", Kind: detect.Changed,
			Writer: &detect.Writer{Manager: "kubectl-edit", User: "oidc:al@example.com", Confidence: detect.ByAudit}}
	}
	return detect.Finding{
		ID: "0123456789ab", Cluster: "north", Application: "flux-system/shop", Presence: detect.Both, Drift: true, FirstSeen: start, Fingerprint: "0011223344556677",
		Object: detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Cause: detect.CauseManual, Risk: detect.Medium,
		Disposition: detect.AsIssue, Rule: "manual (production, rule 2)", Trace: []string{"spec.replicas: low (production, rule 1): risk is medium"},
		Fields: []detect.Field{at("spec.replicas", int64(2), int64(5)), at("spec.paused", false, true)},
	}
}

func (w *world) ledger() *ledger.Standing {
	open := func(names bool) func(context.Context) (*repo.Repository, error) {
		return func(ctx context.Context) (*repo.Repository, error) {
			o := ledger.Options(w.dir, repo.Auth{}, ledger.DefaultBranch)
			o.NamesOnly = names
			return repo.Open(ctx, o)
		}
	}
	return &ledger.Standing{Keys: w.keys, Kinds: steer.Kinds(), Ledger: ledger.Ledger{
		Open: open(true), Whole: open(false), Branch: ledger.DefaultBranch, Signer: w.signer,
		Author: repo.Person{Name: "Holdfast", Email: "holdfast@example.com"}, Now: func() time.Time { return w.now },
		Wait: func(context.Context, int) error { return nil },
	}}
}

// desk is one of a process that has just started.
func (w *world) desk() *steer.Desk {
	return &steer.Desk{
		Forge: w.fakeForge, Repository: shopURL, Rules: w.rules, Floods: w.floods, Ledger: w.ledger(), Now: func() time.Time { return w.now },
		Owners: func(context.Context) (*command.Owners, error) { return w.owners, nil },
		Facts:  func(context.Context) (steer.Facts, error) { return w.facts, nil },
	}
}

func (w *world) answer(t *testing.T, kind bot.Kind, number int) (rescan bool) {
	t.Helper()
	rescan, err := w.desk().Answer(t.Context(), kind, number)
	if err != nil {
		t.Fatal(err)
	}
	return rescan
}

// ask says something on the issue and has it answered.
func (w *world) ask(t *testing.T, login, body string) bot.Comment {
	t.Helper()
	c := w.say(bot.AsIssue, 1, login, body)
	w.answer(t, bot.AsIssue, 1)
	return c
}

// standing is what the next round takes from the ledger.
func (w *world) standing(t *testing.T) steer.Standing {
	t.Helper()
	said, err := w.ledger().Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return steer.StandingOf(said, shopURL)
}

// commands are the ledger's records of commands, a line each.
func (w *world) commands(t *testing.T) []string {
	t.Helper()
	out, err := repotest.TryGit(w.dir, "ls-tree", "-r", "--name-only", ledger.DefaultBranch)
	if err != nil {
		return nil
	}
	var lines []string
	for _, path := range strings.Fields(out) {
		if !strings.Contains(path, "-command-") {
			continue
		}
		var envelope struct{ Payload []byte }
		if err := json.Unmarshal([]byte(repotest.Git(t, w.dir, "show", ledger.DefaultBranch+":"+path)), &envelope); err != nil {
			t.Fatal(err)
		}
		var s ledger.Statement
		var c ledger.Command
		if err := json.Unmarshal(envelope.Payload, &s); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(s.Predicate.Content, &c); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s (%s): %s: %s", c.By, c.Role, c.Text, c.Outcome))
	}
	return lines
}

func TestACommandIsActedOn(t *testing.T) {
	w := newWorld(t)
	c := w.say(bot.AsIssue, 1, "alice", "I saw it.\n\n/drift revert\n")
	if !w.answer(t, bot.AsIssue, 1) {
		t.Error("no round is asked for")
	}
	if diff := cmp.Diff([]bot.Reaction{bot.Seen, bot.Done}, w.reacted[c.ID]); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	if text := w.answers(t, bot.AsIssue, 1); !strings.Contains(text, "| `/drift revert` | `alice` | **accepted** The next round opens a pull request") {
		t.Errorf("the answer is:\n%s", text)
	}
	if diff := cmp.Diff([]string{"alice (writer): /drift revert: accepted"}, w.commands(t)); diff != "" {
		t.Errorf("the ledger's commands (-want +got):\n%s", diff)
	}
	stands := w.standing(t).Commanded()
	f := w.facts.Findings[0]
	want := []policy.Commanded{{Finding: f.ID, Disposition: detect.Revert, By: "alice", Fields: map[string]string{
		"spec.replicas": policy.ContentOf(f.Fields[0]), "spec.paused": policy.ContentOf(f.Fields[1]),
	}}}
	if diff := cmp.Diff(want, stands); diff != "" {
		t.Errorf("what stands (-want +got):\n%s", diff)
	}

	// Nothing is done twice, by this process or another.
	writes := w.writes
	if w.answer(t, bot.AsIssue, 1) || w.writes != writes || len(w.commands(t)) != 1 {
		t.Errorf("a second look wrote %d times, and the ledger has %q", w.writes-writes, w.commands(t))
	}
	// Where the answers are gone, they are given again, and nothing is acted on again.
	for i := range w.fakeForge.comments {
		if w.fakeForge.comments[i].Author.Login == bots {
			w.fakeForge.comments[i].Body = "removed"
		}
	}
	w.facts.Findings[0].Drift = false // by now it would be refused
	w.answer(t, bot.AsIssue, 1)
	if text := w.answers(t, bot.AsIssue, 1); !strings.Contains(text, "**accepted** The next round opens") || len(w.commands(t)) != 1 {
		t.Errorf("the ledger has %q, the answer is:\n%s", w.commands(t), text)
	}
}

// TestItEndsTheSameWhereverItDies lets the forge fail at each write once, then answers anew.
func TestItEndsTheSameWhereverItDies(t *testing.T) {
	for at := 1; ; at++ {
		w := newWorld(t)
		c := w.say(bot.AsIssue, 1, "alice", "/drift ignore 12h a load test\n/drift status")
		w.broken = at
		_, err := w.desk().Answer(t.Context(), bot.AsIssue, 1)
		if err == nil {
			if at < 4 {
				t.Errorf("only %d writes", at-1)
			}
			return
		}
		w.answer(t, bot.AsIssue, 1)
		text := w.answers(t, bot.AsIssue, 1)
		if strings.Count(text, "**accepted**") != 2 || !strings.Contains(text, "ignored until") {
			t.Errorf("broken at write %d, the answer is:\n%s", at, text)
		}
		if got := w.commands(t); len(got) != 2 {
			t.Errorf("broken at write %d, the ledger has %q", at, got)
		}
		if len(w.standing(t).Exceptions) != 1 {
			t.Errorf("broken at write %d, nothing stands", at)
		}
		if at > 1 && !slices.Contains(w.reacted[c.ID], bot.Seen) {
			t.Errorf("broken at write %d: reactions %v", at, w.reacted[c.ID])
		}
	}
}

func TestWhoMayAskForWhat(t *testing.T) {
	owned := command.ParseOwners(command.GitHub, "apps/ @alice @org/platform\n")
	for _, c := range []struct {
		name, login, body string
		change            func(*world)
		want, reason      string
	}{
		{"a writer codifies", "bob", "/drift codify", nil, "accepted", "writes the live state"},
		{"a reader does not", "carol", "/drift codify", nil, "refused", "needs the role writer"},
		{"a reader asks for an explanation", "carol", "/drift explain", nil, "accepted", "See below"},
		{"a stranger asks for nothing", "mallory", "/drift status", nil, "refused", "mallory has none"},
		{"a reader does not ask for a scan", "carol", "/drift rescan", nil, "refused", "needs the role triager"},
		{"a writer who owns no file does not ignore", "bob", "/drift ignore 2h x", func(w *world) { w.owners = owned }, "refused", "who belongs to a team is not known"},
		{"teams are configured, and bob is in none", "bob", "/drift ignore 2h x", func(w *world) {
			w.owners, w.rules.TeamsKnown = owned, true
			w.rules.Teams = func(string) []string { return nil }
		}, "refused", "owned by alice, org/platform"},
		{"bob is in the team", "bob", "/drift ignore 2h x", func(w *world) {
			w.owners, w.rules.TeamsKnown = owned, true
			w.rules.Teams = func(string) []string { return []string{"org/platform"} }
		}, "accepted", "Left alone until 2026-11-30 11:0"},
		{"an owner ignores", "alice", "/drift ignore 2h x", func(w *world) { w.owners = owned }, "accepted", "Left alone"},
		{"for longer than the floor allows", "alice", "/drift ignore 9d x", func(w *world) {
			w.rules.Floor.Exceptions.Longest = policy.Duration(7 * 24 * time.Hour)
		}, "refused", "longer than 7d"},
		{"the floor names who may except", "alice", "/drift ignore 2h x", func(w *world) { w.rules.Floor.Exceptions.Owners = []string{"sre-*"} }, "refused", "does not let alice own exceptions"},
		{"the floor asks for more", "alice", "/drift codify", func(w *world) { w.rules.Floor.Least.Medium = detect.Revert }, "refused", "medium risk is at least revert"},
		{"the floor asks for less", "alice", "/drift revert", func(w *world) { w.rules.Floor.Least.Medium = detect.Revert }, "accepted", ""},
		{"what codify never writes", "alice", "/drift codify", func(w *world) {
			f := &w.facts.Findings[0]
			f.Object = detect.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Namespace: "shop", Name: "web"}
		}, "refused", "Codify of Role"},
		{"the right is set otherwise", "bob", "/drift codify", func(w *world) {
			w.rules.Rights.Codify = command.Need{Role: bot.Administrator}
		}, "refused", "needs the role administrator"},
		{"nothing drifts any more", "alice", "/drift codify", func(w *world) { w.facts.Findings[0].Drift = false }, "refused", "Nothing that this thread is about drifted"},
		{"nothing is ignored", "alice", "/drift unignore", nil, "refused", "No command ignores anything"},
		{"an unknown command", "alice", "/drift merge", nil, "unknown", "no such command"},
		{"a malformed one", "alice", "/drift ignore tomorrow", nil, "refused", "duration is not of the form"},
		{"roles are hidden from the bot", "alice", "/drift codify", func(w *world) { w.roleErr = errForbidden }, "refused", "does not tell this bot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if c.change != nil {
				c.change(w)
			}
			said := w.ask(t, c.login, c.body)
			text := w.answers(t, bot.AsIssue, 1)
			if !strings.Contains(text, "**"+c.want+"**") || !strings.Contains(text, c.reason) {
				t.Errorf("want %s, %q:\n%s", c.want, c.reason, text)
			}
			reaction := map[string]bot.Reaction{"accepted": bot.Done, "refused": bot.Refused, "unknown": bot.Confused}[c.want]
			if diff := cmp.Diff([]bot.Reaction{bot.Seen, reaction}, w.reacted[said.ID]); diff != "" {
				t.Errorf("reactions (-want +got):\n%s", diff)
			}
			if got := w.commands(t); len(got) != 1 || !strings.HasSuffix(got[0], ": "+c.want) {
				t.Errorf("the ledger has %q", got)
			}
			if stands := w.standing(t).Commanded(); c.want != "accepted" && len(stands) > 0 {
				t.Errorf("%+v stands", stands)
			}
			if parsed := command.Parse(text); len(parsed.Commands) > 0 {
				t.Errorf("the answer asks for %+v", parsed.Commands)
			}
		})
	}
}

func TestOneTakesTheOthersPlace(t *testing.T) {
	w := newWorld(t)
	stands := func() string {
		s := w.standing(t)
		var out []string
		for _, c := range s.Commanded() {
			out = append(out, c.String())
		}
		return strings.Join(out, ", ")
	}
	for _, c := range []struct{ body, want string }{
		{"/drift codify", "command (/drift codify by alice)"},
		{"/drift revert", "command (/drift revert by alice)"},
		{"/drift ignore 2h x", "command (/drift ignore by alice)"},
		{"/drift ignore 4h y", "command (/drift ignore by alice)"},
		{"/drift codify", "command (/drift codify by alice)"},
		{"/drift ignore 1h z", "command (/drift ignore by alice)"},
		{"/drift unignore", ""},
		{"/drift revert\n/drift ignore 1h x\n/drift unignore", ""},
	} {
		if w.ask(t, "alice", c.body); stands() != c.want {
			t.Errorf("after %q: %q stands, want %q", c.body, stands(), c.want)
		}
	}
}

func TestAPullRequestIsAboutItsFields(t *testing.T) {
	w := newWorld(t)
	f := &w.facts.Findings[0]
	third, err := gitops.ParsePath("spec.minReadySeconds")
	if err != nil {
		t.Fatal(err)
	}
	f.Fields = append(f.Fields, detect.Field{Path: third, Live: gitops.Present(int64(5)), Drift: true, Cause: detect.CauseManual, Risk: detect.Medium})
	w.say(bot.AsPullRequest, 2, "alice", "/drift revert")
	w.answer(t, bot.AsPullRequest, 2)
	order := w.standing(t).Orders[f.ID]
	if len(order.Fields) != 2 || order.Thread.Number != 2 || order.Thread.Kind != "pull-request" {
		t.Errorf("the order is %+v, want one about the two fields of the pull request", order)
	}
}

func TestForeignThreads(t *testing.T) {
	w := newWorld(t)
	w.say(bot.AsPullRequest, 3, "alice", "/drift codify")
	w.answer(t, bot.AsPullRequest, 3)
	if text := w.answers(t, bot.AsPullRequest, 3); !strings.Contains(text, "Holdfast did not open this thread") {
		t.Errorf("a pull request whose author copied Holdfast's marker:\n%s", text)
	}
	w.say(bot.AsIssue, 9, "alice", "/drift codify")
	w.answer(t, bot.AsIssue, 9)
	if text := w.answers(t, bot.AsIssue, 9); !strings.Contains(text, "Holdfast did not open this thread") || len(w.standing(t).Orders) > 0 {
		t.Errorf("an issue of somebody's:\n%s", text)
	}
}

func TestUnknownCommandsGetHelpOnce(t *testing.T) {
	w := newWorld(t)
	w.ask(t, "alice", "/drift merge")
	w.ask(t, "bob", "/drift close")
	text := w.answers(t, bot.AsIssue, 1)
	if strings.Count(text, "## What can be asked") != 1 || !strings.Contains(text, "`/drift ignore <duration> <reason>`") || !strings.Contains(text, "| owner |") {
		t.Errorf("the answer is:\n%s", text)
	}
}

func TestExplainAndStatus(t *testing.T) {
	w := newWorld(t)
	w.ask(t, "carol", "/drift explain\n/drift status")
	text := w.answers(t, bot.AsIssue, 1)
	for _, want := range []string{
		"`Deployment shop/web` on `north` of `flux-system/shop`, medium risk", "- `spec.replicas`: manual, by `oidc:al@example.com`", "**issue** by rule `manual (production, rule 2)`",
		"- `spec.replicas: low (production, rule 1): risk is medium`", "drifts since 2026-11-30 09:00 UTC, issue", "`north` was scanned at 2026-11-30 09:00 UTC",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the answer lacks %q:\n%s", want, text)
		}
	}
}

func TestWithoutALedgerNothingHasAnEffect(t *testing.T) {
	w := newWorld(t)
	d := w.desk()
	d.Ledger = nil
	w.say(bot.AsIssue, 1, "alice", "/drift codify\n/drift explain\n/drift rescan")
	rescan, err := d.Answer(t.Context(), bot.AsIssue, 1)
	if err != nil || !rescan {
		t.Fatalf("rescan %v, %v", rescan, err)
	}
	if text := w.answers(t, bot.AsIssue, 1); strings.Count(text, "**accepted**") != 2 || !strings.Contains(text, "No ledger is kept") {
		t.Errorf("the answer is:\n%s", text)
	}
}
