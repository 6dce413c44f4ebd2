package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"holdfast/bot"
	"holdfast/deploy/lab"
)

// askFirst leaves every drift to a person.
const askFirst = `apiVersion: holdfast/v1
kind: Policy
rules:
  - {name: ask, drift: true, disposition: issue}
`

// aliceEdited is what the API server logged of the change in deployedWeb.
const aliceEdited = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"1","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/namespaces/shop/configmaps/web?fieldManager=kubectl-edit","verb":"patch","user":{"username":"oidc:alice@example.test"},` +
	`"objectRef":{"resource":"configmaps","namespace":"shop","name":"web","apiVersion":"v1"},"responseStatus":{"code":200},` +
	`"requestObject":{"data":{"TIMEOUT":"30s"}},"stageTimestamp":"2026-11-30T11:00:00.5Z"}
`

// desk is the service for a shop on a real Gitea, where people comment and review.
type desk struct {
	*serving
	*giteaShop
	gitea *lab.Gitea
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	s := newGiteaShop(t)
	d := &desk{giteaShop: s, gitea: s.server, serving: &serving{t: t, dir: filepath.Dir(s.config), log: &lockedBuffer{}, address: freeAddress(t)}}
	s.Allow(t, lab.Bot, "admin") // Gitea tells roles to administrators alone
	s.Allow(t, lab.Bob, "read")
	at := func(name string) string { return filepath.Join(d.dir, name) }
	for name, text := range map[string]string{"audit.log": aliceEdited, "policy.yaml": askFirst, "hook-secret": hookSecret} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	config["repositories"].([]any)[0].(map[string]any)["webhook"] = map[string]any{"name": "shop", "secretFile": "hook-secret"}
	config["identities"] = map[string]any{"patterns": []any{"oidc:{login}@example.test"}}
	config["serve"] = map[string]any{"listen": d.address, "grace": "5s", "logLevel": "debug", "interval": "1h"}
	writeYAMLFile(t, s.config, config)
	s.Hook(t, "http://"+d.address+"/webhooks/shop", hookSecret)
	d.args = []string{"--live", s.dump, "--audit", at("audit.log"), "--policy", at("policy.yaml")}
	d.env = []string{"GITEA_TOKEN=" + s.token}
	return d
}

// eventually waits longer than others do: each command is a dozen of requests and some fetches of a real server, on a
// machine that may be busy.
func (d *desk) eventually(what string, done func() bool) {
	d.t.Helper()
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if done() {
			return
		}
		select {
		case err := <-d.ended:
			d.t.Fatalf("the service ended: %v\n%s", err, d.log)
		default:
		}
	}
	d.t.Fatalf("waited in vain until %s\n%s", what, d.log)
}

// reactions are the bot's to a comment.
func (d *desk) reactions(comment int64) []string {
	d.t.Helper()
	var all []struct {
		Content string
		User    struct{ Login string }
	}
	d.gitea.Call(d.t, lab.Admin, http.MethodGet, fmt.Sprintf("%s/issues/comments/%d/reactions", d.Path(), comment), nil, &all)
	var out []string
	for _, r := range all {
		if r.User.Login == "drift-bot" {
			out = append(out, r.Content)
		}
	}
	slices.Sort(out)
	return out
}

// answers is the comment of a thread that holds the answers.
func (d *desk) answers(kind bot.Kind, number int) string {
	d.t.Helper()
	said, err := d.forge.Comments(d.t.Context(), kind, number, time.Time{})
	if err != nil {
		d.t.Fatal(err)
	}
	out := ""
	for _, c := range said {
		if c.Author.Login == "drift-bot" && strings.Contains(c.Body, "<!-- holdfast answers") {
			if out != "" {
				d.t.Errorf("%s %d has two comments with answers", kind, number)
			}
			out = c.Body
		}
	}
	return out
}

// asks says something on a thread and waits for the reactions.
func (d *desk) asks(who lab.User, number int, body string, want ...string) {
	d.t.Helper()
	comment := d.Comment(d.t, who, number, body)
	d.eventually(fmt.Sprintf("%q of %s gets %v", body, who, want), func() bool { return slices.Equal(d.reactions(comment), want) })
}

// status is what the newest status check of Holdfast's on a commit says.
func (d *desk) status(commit string) string {
	d.t.Helper()
	var all []struct{ Status, Context, Description string }
	d.gitea.Call(d.t, lab.Admin, http.MethodGet, d.Path()+"/commits/"+commit+"/statuses?sort=recentupdate", nil, &all)
	for _, s := range all {
		if s.Context == "holdfast" {
			return s.Status + ": " + s.Description
		}
	}
	return ""
}

func (d *desk) says(commit, want string) {
	d.t.Helper()
	last := ""
	d.eventually(fmt.Sprintf("the status check of %.12s says %q", commit, want), func() bool {
		last = d.status(commit)
		return strings.HasPrefix(last, want)
	})
}

// opened opens a pull request of somebody's that changes a file, and gives its head.
func (d *desk) opened(who lab.User, branch, file, text string) string {
	d.t.Helper()
	head := d.Commit(d.t, who, branch, "a change", map[string]string{file: text})
	d.gitea.Call(d.t, who, http.MethodPost, d.Path()+"/pulls", map[string]any{"title": branch, "head": branch, "base": "main"}, nil)
	return head
}

// TestCommandsOnGitea is what people say and approve, on a real forge: a command of somebody who may is answered and decides
// in the next round, one of somebody who may not is refused, and the status check waits for a second pair of eyes.
func TestCommandsOnGitea(t *testing.T) {
	d := newDesk(t)
	d.start()
	d.ready()
	issues := d.giteaShop.threads(t, bot.AsIssue)
	i := slices.IndexFunc(issues, func(t bot.Thread) bool { return strings.HasPrefix(t.Title, "Drift: ConfigMap") })
	if i < 0 || slices.ContainsFunc(d.giteaShop.threads(t, bot.AsPullRequest), func(p bot.Thread) bool { return strings.HasPrefix(p.Branch, "holdfast/codify") }) {
		t.Fatalf("the first round opened %+v", issues)
	}
	issue := issues[i].Number

	// A reader may ask, and not decide.
	d.asks(lab.Bob, issue, "/drift codify", "-1", "eyes")
	if text := d.answers(bot.AsIssue, issue); !strings.Contains(text, "needs the role writer") {
		t.Errorf("the refusal says:\n%s", text)
	}
	d.asks(lab.Bob, issue, "/drift explain", "+1", "eyes")
	if text := d.answers(bot.AsIssue, issue); !strings.Contains(text, "by `oidc:alice@example.test`") || strings.Count(text, "|\n") < 4 {
		t.Errorf("the explanation says:\n%s", text)
	}

	// An ignore lasts until it is taken back.
	label := func(want string) func() bool {
		return func() bool {
			for _, t := range d.giteaShop.threads(d.t, bot.AsIssue) {
				if t.Number == issue {
					return slices.Contains(t.Labels, want)
				}
			}
			return false
		}
	}
	d.asks(lab.Alice, issue, "/drift ignore 12h a load test", "+1", "eyes")
	d.eventually("the issue says that the drift is ignored", label("drift/ignore"))
	d.asks(lab.Alice, issue, "/drift unignore", "+1", "eyes")
	d.eventually("the issue says that it counts again", label("drift/issue"))

	// What was asked for decides in the next round.
	d.asks(lab.Alice, issue, "I want to keep this.\n\n/drift codify", "+1", "eyes")
	var pull bot.Thread
	d.eventually("the codify is proposed", func() bool {
		for _, p := range d.giteaShop.threads(d.t, bot.AsPullRequest) {
			if strings.HasPrefix(p.Branch, "holdfast/codify") {
				pull = p
			}
		}
		return pull.Number > 0
	})

	// Four eyes.
	d.says(pull.Head, "failure: needs an approval by others than alice")
	d.Approve(t, lab.Alice, pull.Number)
	d.Allow(t, lab.Bob, "write")
	d.Approve(t, lab.Bob, pull.Number)
	d.says(pull.Head, "success: approved by bob")

	// Other people's pull requests.
	d.says(d.opened(lab.Alice, "docs", "README.md", "hello\n"), "success: nothing to prove")
	d.says(d.opened(lab.Alice, "timeouts", "apps/shop/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  namespace: shop\ndata:\n  GREETING: hello\n  TIMEOUT: 7s\n"),
		"success: neutral: overwrites an open drift: ConfigMap shop/web on north")

	// A commit of somebody else's on the bot's branch.
	forged := d.Commit(t, lab.Alice, pull.Branch, "one more thing", map[string]string{"apps/shop/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: shop}\n"})
	d.says(forged, "failure: the branch holds what Holdfast did not make")

	if err := d.stop(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	for _, secret := range []string{d.token, hookSecret} {
		if strings.Contains(d.log.String(), secret) {
			t.Error("a secret is logged")
		}
	}
	d.trail(t)
}

// trail wants the ledger whole, and in it who commanded and approved what.
func (d *desk) trail(t *testing.T) {
	t.Helper()
	clone, csv := t.TempDir(), filepath.Join(t.TempDir(), "trail.csv")
	git(t, clone, "clone", "--quiet", strings.Replace(d.URL(), "://", "://drift-bot:"+d.token+"@", 1), ".")
	git(t, clone, "branch", "holdfast/ledger", "origin/holdfast/ledger")
	var out bytes.Buffer
	streams := testStreams(&out, &out)
	streams.now = time.Now
	if code := run(t.Context(), []string{"verify", "--git", clone, "--allowed-signers", d.signers, "--export", "csv=" + csv}, streams); code != 0 {
		t.Errorf("verify: exit %d\n%s", code, out.String())
	}
	text, err := os.ReadFile(csv)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{
		{"command", "bob", "refused", "/drift codify"}, {"command", "bob", "accepted", "/drift explain"}, {"command", "alice", "accepted", "/drift ignore 12h a load test"},
		{"exception", "alice", "until ", "a load test"}, {"exception", "alice", "ended"}, {"order", "alice", "codify"},
		{"approval", "bob", "approved"}, {"approval", "alice", "approved", "their own"},
	} {
		if !slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
			return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(line, part) })
		}) {
			t.Errorf("the trail has no line with %q:\n%s", want, text)
		}
	}
}
