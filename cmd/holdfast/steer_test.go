package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/folder"
	"holdfast/bot/ledger"
	"holdfast/bot/serve"
	"holdfast/bot/store"
	"holdfast/cmd/holdfast/config"
	"holdfast/gitops/repo/repotest"
)

// peopled is a folder forge with people: their roles and reviews, pull requests of others, and what checks said.
type peopled struct {
	*folder.Forge
	dir, git  string
	roles     map[string]bot.Role
	approvals []bot.Approval
	others    []bot.PullRequest
	checks    map[string]bot.Check // by commit
}

var _ forge.Forge = (*peopled)(nil)

func (p *peopled) Account(context.Context) (bot.Actor, error) {
	return bot.Actor{Login: folderAccount, Bot: true}, nil
}
func (p *peopled) Role(_ context.Context, login string) (bot.Role, error) { return p.roles[login], nil }
func (p *peopled) Approvals(context.Context, int) ([]bot.Approval, error) { return p.approvals, nil }
func (p *peopled) Report(_ context.Context, c bot.Check) error {
	p.checks[c.Commit] = c
	return nil
}
func (p *peopled) Repository(context.Context) (bot.RepositoryInfo, error) {
	return bot.RepositoryInfo{DefaultBranch: "main"}, nil
}
func (p *peopled) Protection(context.Context, string) (bot.BranchProtection, error) {
	return bot.BranchProtection{Known: true}, nil
}

func (p *peopled) OpenPullRequests(ctx context.Context) ([]int, error) {
	threads, err := p.Threads(ctx, bot.AsPullRequest)
	var out []int
	for _, t := range threads {
		if t.State == bot.Open {
			out = append(out, t.Number)
		}
	}
	for _, o := range p.others {
		out = append(out, o.Number)
	}
	return out, err
}

func (p *peopled) PullRequest(ctx context.Context, number int) (bot.PullRequest, error) {
	for _, o := range p.others {
		if o.Number == number {
			return o, nil
		}
	}
	threads, err := p.Threads(ctx, bot.AsPullRequest)
	if err != nil {
		return bot.PullRequest{}, err
	}
	for _, t := range threads {
		if t.Number == number {
			out, err := repotest.TryGit(p.git, "rev-parse", t.Branch)
			t.Head = strings.TrimSpace(out)
			return bot.PullRequest{Thread: t, Base: "main", SameRepository: true, Files: []string{"apps/settings.yaml"}}, err
		}
	}
	return bot.PullRequest{}, fmt.Errorf("pull request %d: %w", number, forge.ErrNotFound)
}

// talk is the service without its process: events and rounds on a shop whose forge has people.
type talk struct {
	evidenceShop
	t       *testing.T
	forge   *peopled
	now     time.Time
	log     bytes.Buffer
	base    *session
	events  *steering
	reports []serve.Report
}

func newTalk(t *testing.T) *talk {
	t.Helper()
	k := &talk{t: t, now: time.Now().UTC().Truncate(time.Second)}
	k.evidenceShop = newEvidenceShop(t, map[string]any{"ledger": map[string]any{}})
	writeFile(t, filepath.Join(k.dir, "policy.yaml"), "apiVersion: holdfast/v1\nkind: Policy\nrules:\n  - {name: ask, drift: true, disposition: issue}\n")
	opened, err := folder.New(filepath.Join(k.dir, "forge"), folderAccount)
	if err != nil {
		t.Fatal(err)
	}
	k.forge = &peopled{Forge: opened, dir: filepath.Join(k.dir, "forge"), git: k.git, checks: map[string]bot.Check{},
		roles: map[string]bot.Role{"alice": bot.Writer, "bob": bot.Writer, "carol": bot.Reader}}
	k.start()
	return k
}

// start is what a new process begins with.
func (k *talk) start() {
	k.t.Helper()
	streams := testStreams(io.Discard, io.Discard)
	streams.now = func() time.Time { return k.now }
	var err error
	k.base, err = newSession(streams, inputFlags{
		config: filepath.Join(k.dir, "holdfast.yaml"), live: []string{filepath.Join(k.dir, "live.yaml")}, git: []string{"https://git.test/shop.git=" + k.git},
		applications: []string{filepath.Join(k.dir, "app.yaml")}, policy: filepath.Join(k.dir, "policy.yaml"),
	})
	if err != nil {
		k.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&k.log, nil))
	k.base.service = service{
		kept: newKeptSources(streams.now, nil), standings: &standings{}, warn: func(text string) { log.Warn(text) },
		forge: func(context.Context, config.Forge) (forge.Publisher, error) { return k.forge, nil },
	}
	k.events = newSteering(k.base, log)
	k.events.reports = func(context.Context) ([]serve.Report, error) { return k.reports, nil }
}

// round makes a round, with what a dump has, and keeps its report as the store does.
func (k *talk) round(live string) {
	k.t.Helper()
	k.now = k.now.Add(time.Minute)
	k.base.flags.live = []string{filepath.Join(k.dir, live)}
	r := &rounds{base: k.base, tracer: noop.NewTracerProvider().Tracer(""), log: slog.New(slog.DiscardHandler), events: k.events}
	round, err := r.Scan(k.t.Context(), "north")
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err = round.Publish(k.t.Context(), nil); err != nil {
		k.t.Fatal(err)
	}
	data, err := json.Marshal(serve.Report{Cluster: "north", Scan: round.Result(), Scanned: k.now, Files: serve.FilesOf(round.Result())})
	if err != nil {
		k.t.Fatal(err)
	}
	k.reports = make([]serve.Report, 1)
	if err := json.Unmarshal(data, &k.reports[0]); err != nil {
		k.t.Fatal(err)
	}
}

// say writes a comment as somebody; tell delivers the event about it.
func (k *talk) say(login string, kind bot.Kind, number int, body string) bot.Comment {
	k.t.Helper()
	as, err := folder.New(k.forge.dir, login)
	if err != nil {
		k.t.Fatal(err)
	}
	c, err := as.Answer(k.t.Context(), kind, number, body)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

func (k *talk) tell(e bot.Event) (rescan bool) {
	k.t.Helper()
	e.Repo = "https://git.test/shop.git"
	rescan, err := k.events.Handle(k.t.Context(), store.Delivery{Event: e})
	if err != nil {
		k.t.Fatal(err)
	}
	return rescan
}

func (k *talk) ask(login string, number int, body string) (rescan bool) {
	k.t.Helper()
	c := k.say(login, bot.AsIssue, number, body)
	return k.tell(bot.Event{Kind: bot.EventComment, Action: "created", Thread: bot.AsIssue, Number: number, Comment: c})
}

func (k *talk) open(kind bot.Kind) []bot.Thread {
	k.t.Helper()
	threads, err := k.forge.Threads(k.t.Context(), kind)
	if err != nil {
		k.t.Fatal(err)
	}
	return slices.DeleteFunc(threads, func(t bot.Thread) bool { return t.State != bot.Open })
}

func (k *talk) issue() bot.Thread {
	k.t.Helper()
	issues := k.open(bot.AsIssue)
	if len(issues) != 1 {
		k.t.Fatalf("issues: %+v", issues)
	}
	return issues[0]
}

// pull is the one open pull request, with its head.
func (k *talk) pull() bot.PullRequest {
	k.t.Helper()
	pulls := k.open(bot.AsPullRequest)
	if len(pulls) != 1 {
		k.t.Fatalf("pull requests: %+v\n%s", pulls, k.log.String())
	}
	p, err := k.forge.PullRequest(k.t.Context(), pulls[0].Number)
	if err != nil {
		k.t.Fatal(err)
	}
	return p
}

func (k *talk) wantCheck(commit string, verdict bot.Verdict, title string) {
	k.t.Helper()
	if c := k.forge.checks[commit]; c.Verdict != verdict || !strings.HasPrefix(c.Title, title) {
		k.t.Errorf("the check of %.12s is %s, %q; want %s, %q\n%s", commit, c.Verdict, c.Title, verdict, title, c.Summary)
	}
}

// kinds are the ledger's records, which are whole.
func (k *talk) kinds() map[ledger.Kind]int {
	k.t.Helper()
	var out bytes.Buffer
	streams := testStreams(&out, io.Discard)
	streams.now = func() time.Time { return k.now }
	code := run(k.t.Context(), []string{"verify", "--git", k.git, "--allowed-signers", k.allowed, "-o", "json"}, streams)
	var doc verificationJSON
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || code != 0 {
		k.t.Fatalf("verify: exit %d, %v\n%s", code, err, out.String())
	}
	return doc.Kinds
}

// TestACommandDecidesInTheNextRound goes from a comment to a pull request, its status check, and the end of the drift.
func TestACommandDecidesInTheNextRound(t *testing.T) {
	k := newTalk(t)
	k.round("live.yaml")
	issue := k.issue()
	if pulls := k.open(bot.AsPullRequest); len(pulls) > 0 {
		t.Fatalf("before anybody said anything: %+v", pulls)
	}
	if k.ask("carol", issue.Number, "/drift codify") || k.ask("alice", issue.Number, "looks fine") {
		t.Error("a round is asked for by somebody who may not, or by talk")
	}
	if !k.ask("alice", issue.Number, "/drift codify") {
		t.Error("no round is asked for")
	}
	k.round("live.yaml")
	pull := k.pull()
	if !slices.Contains(pull.Labels, "drift/codify") {
		t.Errorf("the pull request is %+v", pull.Thread)
	}
	k.wantCheck(pull.Head, bot.Failure, "who made the change is not proven: needs two approvals")

	// A second round changes nothing.
	k.round("live.yaml")
	if again := k.pull(); again.Head != pull.Head || again.Body != pull.Body {
		t.Errorf("another round changed the pull request to %+v", again)
	}

	review := bot.Event{Kind: bot.EventReview, Action: "submitted", Thread: bot.AsPullRequest, Number: pull.Number}
	for i, login := range []string{"carol", "alice", "bob"} {
		k.forge.approvals = append(k.forge.approvals, bot.Approval{By: bot.Actor{Login: login}, Commit: pull.Head, Time: k.now, URL: fmt.Sprintf("https://git.test/reviews/%d", i)})
		k.tell(review)
		if login != "bob" {
			k.wantCheck(pull.Head, bot.Failure, "who made the change is not proven")
		}
	}
	k.wantCheck(pull.Head, bot.Success, "approved by alice, bob")

	// The live value becomes a third one before the next round has seen it.
	k.reports[0].Scan.Findings[0].Fields[0].Live.V = "blue"
	k.tell(review)
	k.wantCheck(pull.Head, bot.Failure, "another value is live now")

	// With the drift its order ends: the same change again is policy's to answer.
	k.round("healed.yaml")
	k.round("healed.yaml")
	before := k.kinds()
	k.round("live.yaml")
	if got := k.kinds(); before[ledger.Ordered] != 2 || got[ledger.Ordered] != 2 || got[ledger.Commanded] != 2 || got[ledger.Approved] < 3 {
		t.Errorf("the ledger has %v", got)
	}
	for _, i := range k.open(bot.AsIssue) {
		if !slices.Contains(i.Labels, "drift/issue") {
			t.Errorf("after it came back, the issue is %+v", i)
		}
	}
}

// TestAnIgnoreEnds is an exception in the ledger: it holds in the next round, and ends with its time.
func TestAnIgnoreEnds(t *testing.T) {
	k := newTalk(t)
	k.round("live.yaml")
	number := k.issue().Number
	k.ask("alice", number, "/drift ignore 2h a test")
	k.round("live.yaml")
	if got := k.issue(); !slices.Contains(got.Labels, "drift/ignore") {
		t.Errorf("the issue is %+v", got)
	}
	k.round("other.yaml") // another value of the same field
	if got := k.open(bot.AsIssue); len(got) != 1 || !slices.Contains(got[0].Labels, "drift/ignore") {
		t.Errorf("the issues are %+v", got)
	}
	k.now = k.now.Add(2 * time.Hour)
	k.round("other.yaml")
	if got := k.open(bot.AsIssue); len(got) != 1 || !slices.Contains(got[0].Labels, "drift/issue") {
		t.Errorf("two hours later the issues are %+v", got)
	}
	if got := k.kinds(); got[ledger.Excepted] != 2 {
		t.Errorf("the ledger has %v, want the exception and its end", got)
	}
}

// TestWhatWasSaidMeanwhileIsAnswered starts a process after somebody commented while none ran.
func TestWhatWasSaidMeanwhileIsAnswered(t *testing.T) {
	k := newTalk(t)
	k.round("live.yaml")
	number := k.issue().Number
	k.say("alice", bot.AsIssue, number, "/drift codify")
	k.start()
	k.round("live.yaml")
	k.round("live.yaml")
	if pull := k.pull(); !slices.Contains(pull.Labels, "drift/codify") {
		t.Errorf("the pull request is %+v", pull.Thread)
	}
	k.start()
	k.round("live.yaml")
	if got := k.kinds(); got[ledger.Commanded] != 1 || got[ledger.Ordered] != 1 {
		t.Errorf("after another start the ledger has %v", got)
	}
	if !strings.Contains(k.log.String(), "branch holdfast/ledger is not protected") {
		t.Errorf("nothing is said of the ledger's branch:\n%s", k.log.String())
	}
}

// TestStrangersOnBranches is what others may do to the bot's branch, or with its name, and to what is read from branches.
func TestStrangersOnBranches(t *testing.T) {
	k := newTalk(t)
	k.round("live.yaml")
	k.ask("alice", k.issue().Number, "/drift codify")
	k.round("live.yaml")
	pull := k.pull()
	event := bot.Event{Kind: bot.EventPullRequest, Action: "synchronize", Thread: bot.AsPullRequest, Number: pull.Number}

	worktree := t.TempDir()
	git(t, k.git, "worktree", "add", "--quiet", worktree, pull.Branch)
	writeFile(t, filepath.Join(worktree, "apps", "more.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: shop}\n")
	git(t, worktree, "add", "--all")
	git(t, worktree, "-c", "user.name=Holdfast", "-c", "user.email=holdfast@example.test", "commit", "--quiet", "--message=more\n\nHoldfast-Key: "+strings.Repeat("a", 20))
	rewritten := k.pull()
	if rewritten.Head == pull.Head {
		t.Fatal("the branch was not rewritten")
	}
	k.tell(event)
	k.wantCheck(rewritten.Head, bot.Failure, "the branch holds what Holdfast did not make")

	// The ledger's own commits are signed too, and are no pull request's.
	head := strings.TrimSpace(git(t, k.git, "rev-parse", "holdfast/ledger"))
	git(t, worktree, "reset", "--quiet", "--hard", head)
	k.tell(event)
	if c := k.forge.checks[head]; c.Verdict != bot.Failure {
		t.Errorf("a commit of the ledger on the branch: %s, %q", c.Verdict, c.Title)
	}
	git(t, worktree, "reset", "--quiet", "--hard", pull.Head)
	k.tell(event)
	k.wantCheck(pull.Head, bot.Failure, "who made the change is not proven")

	// A fork whose branch has the bot's name, whose body its marker, and whose head a looser policy.
	k.forge.others = []bot.PullRequest{{
		Thread: bot.Thread{Kind: bot.AsPullRequest, Number: 90, State: bot.Open, Author: "mallory", Branch: pull.Branch, Head: strings.Repeat("9", 40), Body: pull.Body},
		Base:   "main", Files: []string{".holdfast.yaml", "CODEOWNERS"},
	}, {
		Thread: bot.Thread{Kind: bot.AsPullRequest, Number: 91, State: bot.Open, Author: "mallory", Branch: "x", Head: strings.Repeat("8", 40)},
		Base:   "main", Files: []string{"apps/settings.yaml"},
	}}
	k.tell(bot.Event{Kind: bot.EventPullRequest, Action: "opened", Thread: bot.AsPullRequest, Number: 90})
	k.wantCheck(strings.Repeat("9", 40), bot.Success, "nothing to prove")
	k.tell(bot.Event{Kind: bot.EventRerun, Head: strings.Repeat("8", 40)})
	k.wantCheck(strings.Repeat("8", 40), bot.Neutral, "overwrites an open drift: ConfigMap shop/settings on north")

	// CODEOWNERS counts on the default branch alone: in the branch's head it would make carol an owner.
	writeFile(t, filepath.Join(worktree, "CODEOWNERS"), "* @carol\n")
	if k.ask("carol", k.issue().Number, "/drift ignore 2h x") {
		t.Error("a reader's command is obeyed")
	}
	k.kinds()
}
