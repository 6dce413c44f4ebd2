package check

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/command"
	"holdfast/bot/forge"
	"holdfast/bot/identity"
	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/gitops"
)

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

const (
	bots = "drift-bot"
	key  = "aaaaaaaaaaaaaaaaaaaa"
	head = "1111111111111111111111111111111111111111"
)

func people(t *testing.T) *identity.Identities {
	t.Helper()
	ids, mistakes := identity.Compile(identity.Mapping{People: []identity.Person{{Login: "alice", Also: []string{"alice-ops"}, Users: []string{"al@example.com"}}}, Patterns: []string{"oidc:{login}@example.com"}})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return ids
}

func finding() detect.Finding {
	path, err := gitops.ParsePath("data.TIMEOUT")
	if err != nil {
		panic(err)
	}
	return detect.Finding{
		ID: "0123456789ab", Cluster: "north", Application: "flux-system/shop", Presence: detect.Both, Drift: true, Disposition: detect.Codify,
		Object: detect.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"},
		Fields: []detect.Field{{Path: path, Drift: true, Writer: &detect.Writer{Manager: "kubectl-edit", User: "al@example.com", Confidence: detect.ByAudit}}},
	}
}

// world is a pull request of Holdfast's about a change that alice made, and everything around it.
type world struct {
	pull      bot.PullRequest
	head      Commit
	world     World
	approvals []bot.Approval
	roles     map[string]bot.Role
	owners    *command.Owners
	need      command.Need
	reported  []bot.Check
	records   []ledger.Record
	seen      *ledger.Finding
	rolesErr  error
}

func newWorld() *world {
	f := finding()
	field := bot.FieldName(f.ID, "data.TIMEOUT")
	return &world{
		pull: bot.PullRequest{
			Thread: bot.Thread{Kind: bot.AsPullRequest, Number: 2, State: bot.Open, Author: bots, Head: head, Branch: "holdfast/codify/north-shop-aaaaaaaa", Labels: []string{"drift", "drift/codify"},
				Body: "text\n" + bot.Record{Files: "ff", About: map[string]string{field: "01"}}.String() + "\n" + bot.Marker(key, "bb") + "\n"},
			Base: "main", SameRepository: true, Files: []string{"apps/shop/web.yaml"},
		},
		head:  Commit{Key: key, Disposition: detect.Codify, Findings: []string{f.ID}, Files: "ff", When: start},
		world: World{Findings: []detect.Finding{f}, Files: map[string][]string{f.ID: {"apps/shop/web.yaml"}}, Drifts: map[string]string{field: "01", f.ID: "x"}, Scanned: true},
		roles: map[string]bot.Role{"alice": bot.Writer, "bob": bot.Writer, "carol": bot.Keeper, "dave": bot.Reader},
		need:  command.Need{Role: bot.Writer, Owner: true},
	}
}

func (w *world) approve(login string, change ...func(*bot.Approval)) {
	a := bot.Approval{By: bot.Actor{Login: login}, Commit: head, Time: start.Add(time.Hour), URL: fmt.Sprintf("https://git.example.com/reviews/%d", len(w.approvals)+1)}
	for _, do := range change {
		do(&a)
	}
	w.approvals = append(w.approvals, a)
}

func (w *world) Account(context.Context) (bot.Actor, error) {
	return bot.Actor{Login: bots, Bot: true}, nil
}
func (w *world) Role(_ context.Context, login string) (bot.Role, error) {
	return w.roles[login], w.rolesErr
}
func (w *world) Approvals(context.Context, int) ([]bot.Approval, error)    { return w.approvals, nil }
func (w *world) PullRequest(context.Context, int) (bot.PullRequest, error) { return w.pull, nil }
func (w *world) OpenPullRequests(context.Context) ([]int, error)           { return []int{2}, nil }
func (w *world) Repository(context.Context) (bot.RepositoryInfo, error) {
	return bot.RepositoryInfo{}, nil
}
func (w *world) Protection(context.Context, string) (bot.BranchProtection, error) {
	return bot.BranchProtection{}, nil
}
func (w *world) Report(_ context.Context, c bot.Check) error {
	w.reported = append(w.reported, c)
	return nil
}

func (w *world) Newest(_ context.Context, kind ledger.Kind, subject string) (ledger.Entry, bool, error) {
	if w.seen == nil || kind != ledger.FindingSeen || subject != ledger.SubjectOfFinding(w.seen.ID) {
		return ledger.Entry{}, false, nil
	}
	content, err := json.Marshal(w.seen)
	return ledger.Entry{Path: "records/1", Statement: ledger.Statement{Predicate: ledger.Predicate{Content: content}}}, true, err
}

func (w *world) Append(_ context.Context, records []ledger.Record) error {
	w.records = append(w.records, records...)
	return nil
}

func (w *world) check(t *testing.T) Verdict {
	t.Helper()
	d := &Desk{
		Forge: w, Repository: "https://git.example.com/shop.git", Identities: people(t), Need: w.need, Ledger: w,
		Owners: func(context.Context) (*command.Owners, error) { return w.owners, nil },
		World:  func(context.Context) (World, error) { return w.world, nil },
		Head: func(context.Context, bot.PullRequest) (Commit, error) {
			if !Own(w.pull, bots) || !w.pull.SameRepository {
				t.Error("the content of a pull request that is not Holdfast's was read")
			}
			return w.head, nil
		},
	}
	v, err := d.Check(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestChecks(t *testing.T) {
	third := func(w *world) { w.world.Drifts[bot.FieldName("0123456789ab", "data.TIMEOUT")] = "99" }
	healed := func(w *world) {
		clear(w.world.Drifts)
		w.world.Findings = nil
		w.seen = &ledger.Finding{ID: "0123456789ab", Fields: []ledger.Field{{Path: "data.TIMEOUT", Writer: finding().Fields[0].Writer}}}
	}
	stranger := func(w *world) { w.pull.Author = "mallory" }
	unsure := func(w *world) { w.world.Findings[0].Fields[0].Writer.Confidence = detect.ByManager }
	revert := func(w *world) { w.head.Disposition = detect.Revert }
	by := func(logins ...string) func(*world) {
		return func(w *world) {
			for _, login := range logins {
				w.approve(login)
			}
		}
	}
	owned := func(text string) func(*world) {
		return func(w *world) { w.owners = command.ParseOwners(command.GitHub, text) }
	}
	for _, c := range []struct {
		name    string
		do      []func(*world)
		verdict bot.Verdict
		title   string
	}{
		{"nobody has approved", nil, bot.Failure, "needs an approval by others than alice"},
		{"somebody else has", []func(*world){by("bob")}, bot.Success, "approved by bob"},
		{"the maker has", []func(*world){by("alice")}, bot.Failure, "needs an approval by others than alice"},
		{"the maker has, by another account", []func(*world){by("alice-ops")}, bot.Failure, "needs an approval by others than alice"},
		{"a reader has", []func(*world){by("dave")}, bot.Failure, "needs an approval by others than alice"},
		{"somebody who owns the file has", []func(*world){owned("apps/ @bob"), by("bob")}, bot.Success, "approved by bob"},
		{"somebody who does not own it has", []func(*world){owned("apps/ @carol"), by("bob")}, bot.Failure, "needs an approval by others than alice"},
		{"an approval of an older head", []func(*world){func(w *world) {
			w.approve("bob", func(a *bot.Approval) { a.Commit = strings.Repeat("0", 40) })
		}}, bot.Failure, "needs an approval by others than alice"},
		{"somebody asks for changes", []func(*world){by("bob"), func(w *world) { w.approve("carol", func(a *bot.Approval) { a.Rejected = true }) }}, bot.Failure, "carol asks for changes"},
		{"the maker is not proven", []func(*world){unsure, by("bob")}, bot.Failure, "who made the change is not proven: needs two approvals, has that of bob"},
		{"the maker is not proven, and two have approved", []func(*world){unsure, by("bob", "carol")}, bot.Success, "approved by bob, carol"},
		{"the maker's account is gone or renamed", []func(*world){func(w *world) { delete(w.roles, "alice") }, by("bob")}, bot.Failure, "who made the change is not proven: needs two approvals by others than alice, has that of bob"},
		{"the forge tells no roles", []func(*world){func(w *world) { w.rolesErr = fmt.Errorf("%w", forge.ErrForbidden) }, by("bob", "carol")}, bot.Failure, "who may approve cannot be seen with this credential"},
		{"policy asks for more", []func(*world){func(w *world) { w.need = command.Need{Role: bot.Keeper} }, by("bob")}, bot.Failure, "needs an approval by others than alice"},
		{"a third value is live", []func(*world){third, by("bob")}, bot.Failure, "another value is live now"},
		{"a third value is no matter of a revert", []func(*world){third, revert, by("bob")}, bot.Success, "approved by bob"},
		{"the engine undid it", []func(*world){healed, by("bob")}, bot.Success, "approved by bob"},
		{"the engine undid it, and the maker approves", []func(*world){healed, by("alice")}, bot.Failure, "needs an approval by others than alice"},
		{"the engine undid it, and no record tells the maker", []func(*world){healed, func(w *world) { w.seen = nil }, by("bob")}, bot.Failure, "who made the change is not proven: needs two approvals, has that of bob"},
		{"what is live could not be read", []func(*world){func(w *world) {
			w.world.Unknown = map[string]bool{"0123456789ab": true}
		}, by("bob")}, bot.Pending, "what is live could not be read in the last round"},

		{"its Application could not be rendered", []func(*world){func(w *world) { w.world.Unread = map[string]bool{key[:10]: true} }, by("bob")}, bot.Pending, "what is live could not be read in the last round"},

		{"a stranger's commit on the bot's branch", []func(*world){func(w *world) { w.head = Commit{Unsigned: "it is not signed"} }, by("bob")}, bot.Failure, "the branch holds what Holdfast did not make"},
		{"another commit of Holdfast's on it", []func(*world){func(w *world) { w.head.Key = strings.Repeat("b", 20) }, by("bob")}, bot.Failure, "the commit is not of this pull request"},
		{"an older commit of Holdfast's on it", []func(*world){func(w *world) { w.head.Files = "ee" }, by("bob")}, bot.Failure, "the branch is not what was proven"},
		{"the text has lost its record", []func(*world){func(w *world) { w.pull.Body = bot.Marker(key, "bb") }, by("bob")}, bot.Failure, "the branch is not what was proven"},
		{"the text tells of nothing", []func(*world){func(w *world) { w.pull.Body = bot.Record{Files: "ff"}.String() + bot.Marker(key, "bb") }, by("bob")}, bot.Failure, "which drift this is about cannot be told"},
		{"the text has lost its marker", []func(*world){func(w *world) { w.pull.Body = "text" }, by("bob")}, bot.Failure, "the commit is not of this pull request"},
		{"the labels say something else", []func(*world){func(w *world) { w.pull.Labels = nil }, third, by("bob")}, bot.Failure, "another value is live now"},
		{"the onboarding", []func(*world){func(w *world) { w.head.Disposition, w.head.Findings = "", nil }}, bot.Success, "about no drift: reviewed like any other"},
		{"the bot's account, and a branch elsewhere", []func(*world){func(w *world) { w.pull.SameRepository = false }}, bot.Failure, "its branch is not in this repository"},

		{"somebody's, about other files", []func(*world){stranger, func(w *world) { w.pull.Files = []string{"README.md"} }}, bot.Success, "nothing to prove"},
		{"somebody's, about a file that drifts", []func(*world){stranger}, bot.Neutral, "overwrites an open drift: ConfigMap shop/web on north"},
		{"a fork's, with the bot's branch name and marker", []func(*world){stranger, func(w *world) { w.pull.SameRepository, w.pull.Files = false, []string{"README.md"} }}, bot.Success, "nothing to prove"},
		{"somebody's that loosens the policy in its head", []func(*world){stranger, func(w *world) { w.pull.Files = []string{".holdfast.yaml"} }}, bot.Success, "nothing to prove"},
		{"somebody's, with more files than are listed", []func(*world){stranger, func(w *world) { w.pull.Files, w.pull.FilesCut = []string{"README.md"}, true }}, bot.Neutral, "more files than the forge lists: whether this overwrites an open drift is not known"},
		{"somebody's, before anything was scanned", []func(*world){stranger, func(w *world) { w.world = World{} }}, bot.Pending, "no cluster was scanned yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			for _, do := range c.do {
				do(w)
			}
			v := w.check(t)
			if v.Verdict != c.verdict || v.Title != c.title {
				t.Errorf("%s, %q; want %s, %q\n%s", v.Verdict, v.Title, c.verdict, c.title, v.Summary)
			}
			if len(w.reported) != 1 || !cmp.Equal(w.reported[0], v.Check) || v.Commit != head {
				t.Errorf("reported %+v", w.reported)
			}
			if v.Verdict == bot.Neutral && !w.pull.FilesCut && (len(v.Notes) != 1 || v.Notes[0].Path != "apps/shop/web.yaml") {
				t.Errorf("notes %+v", v.Notes)
			}
		})
	}
}

func TestApprovalsAreRecorded(t *testing.T) {
	w := newWorld()
	w.approve("alice")
	w.approve("bob")
	w.check(t)
	var got []string
	for _, r := range w.records {
		a := r.Content.(ledger.Approval)
		got = append(got, fmt.Sprintf("%s %s counts=%v %s", r.Subject, a.By, a.Counts, a.Reason))
	}
	want := []string{
		"approval/https://git.example.com/reviews/1 alice counts=false the approval of alice does not count: the change is their own",
		"approval/https://git.example.com/reviews/2 bob counts=true ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAClosedPullRequestIsLeftAlone(t *testing.T) {
	w := newWorld()
	w.pull.State = bot.Merged
	if w.check(t); len(w.reported) > 0 {
		t.Errorf("reported %+v", w.reported)
	}
}

func TestNamesStayText(t *testing.T) {
	w := newWorld()
	w.pull.Author = "mallory"
	w.world.Findings[0].Object.Name = "web</summary><script>\n| @everyone"
	v := w.check(t)
	if strings.ContainsAny(v.Title+v.Notes[0].Message, "\n\r") || strings.Count(v.Summary, "`") != 2 {
		t.Errorf("%+v", v.Check)
	}
	w = newWorld()
	w.head = Commit{Unsigned: "<b>`x`</b> @everyone"}
	if v := w.check(t); strings.Contains(v.Summary, "<b>") && !strings.Contains(v.Summary, `\<b>`) || strings.Contains(v.Summary, "@everyone") {
		t.Errorf("%s", v.Summary)
	}
}
