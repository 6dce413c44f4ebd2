package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"holdfast/bot"
	"holdfast/bot/forge/gitea"
	"holdfast/deploy/lab"
)

// fleet is the service on two clusters, which real Flux keeps as a real Gitea has it: branches are protected there, and
// it tells of what happens by signed webhooks.
type fleet struct {
	*serving
	*lab.GiteaRepository
	gitea    *lab.Gitea
	clusters []*lab.Cluster
	forge    *gitea.Forge
	token    string
	// wall stands before the forge's API.
	wall *wall
}

// ahead is how far the service's clock is before the clusters': drift has outlived the engine's intervals at once.
const ahead = 3 * time.Hour

// wall is a proxy that refuses what it is told to.
type wall struct {
	*httptest.Server
	refusals atomic.Int64
	refused  atomic.Int64
}

// newWall gives one that lets all through.
func newWall(t *testing.T, forge string) *wall {
	t.Helper()
	target, err := url.Parse(forge)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	w := &wall{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if w.refusals.Add(-1) < 0 {
			proxy.ServeHTTP(out, r)
			return
		}
		switch w.refused.Add(1) % 3 {
		case 0:
			out.WriteHeader(http.StatusInternalServerError)
		case 1:
			out.WriteHeader(http.StatusForbidden)
		case 2:
			out.Header().Set("Retry-After", "1")
			out.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	t.Cleanup(w.Close)
	return w
}

// keepSizes writes to Git what people size by hand; all else is Git's.
const keepSizes = `apiVersion: holdfast/v1
kind: Policy
extends: production
rules:
  - name: keep sizes
    cause: [manual]
    drift: true
    path: ["spec.replicas"]
    disposition: codify
`

func newFleet(t *testing.T) *fleet {
	t.Helper()
	g := lab.StartGitea(t)
	l := lab.Start(t, lab.Options{Clusters: 2})
	f := &fleet{serving: &serving{t: t, dir: t.TempDir(), log: &lockedBuffer{}, address: freeAddress(t)}, gitea: g, clusters: l.Clusters, wall: newWall(t, g.URL())}
	text, err := os.ReadFile(filepath.Join("testdata", "flux-shop.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := lab.Files(string(text))
	for _, cluster := range f.names() {
		files["apps/shop/"+cluster+"/kustomization.yaml"] = "# " + cluster + "\nresources:\n  - ../base\n"
	}
	delete(files, "apps/shop/production/kustomization.yaml")
	delete(files, "apps/shop/staging/kustomization.yaml")
	files[policyFile] = keepSizes
	g.Organization(t, "shop")
	f.GiteaRepository = g.Create(t, "shop", "fleet", files)
	for _, who := range []lab.User{lab.Bot, lab.Alice, lab.Bob} {
		f.Allow(t, who, "write")
	}
	f.Protect(t, "main", lab.GiteaProtection{Approvals: 1})
	f.Hook(t, "http://"+f.address+"/webhooks/fleet", hookSecret)
	f.token = g.Token(t, lab.Bot, "read:user", "write:repository", "write:issue")
	if f.forge, err = gitea.New(gitea.Options{BaseURL: g.URL(), Owner: f.Owner, Repo: f.Name, Token: f.token}); err != nil {
		t.Fatal(err)
	}
	f.configure()
	for i, cluster := range f.clusters {
		grantReader(t, cluster)
		cluster.Grant(t, lab.Alice, "cluster-admin")
		cluster.StartFlux(t, lab.FluxOptions{})
		cluster.Kubectl(t, lab.Admin, "", "create", "namespace", "shop")
		cluster.Kubectl(t, lab.Admin, "", "create", "secret", "generic", "gitea", "--namespace=flux-system",
			"--from-literal=username=drift-bot", "--from-literal=password="+f.token)
		cluster.Kubectl(t, lab.Admin, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 1h, url: %q, ref: {branch: main}, secretRef: {name: gitea}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: flux-system}
spec: {interval: 1h, path: ./apps/shop/%s, prune: true, targetNamespace: shop, sourceRef: {kind: GitRepository, name: fleet}}
`, f.URL(), f.names()[i]), "apply", "-f", "-")
	}
	f.follow()
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds: what follows is later
	return f
}

func (f *fleet) names() []string { return []string{"north", "south"} }

func (f *fleet) configure() {
	f.t.Helper()
	var clusters []any
	for i, name := range f.names() {
		clusters = append(clusters, map[string]any{"name": name, "kubeconfig": f.clusters[i].Kubeconfig(lab.Bot), "tier": "production", "interval": "3s"})
	}
	key := newKey(f.t)
	signer, err := ssh.ParsePrivateKey([]byte(key))
	if err != nil {
		f.t.Fatal(err)
	}
	for name, text := range map[string]string{
		"key": key, "hook-secret": hookSecret, "signers": "holdfast@example.test " + string(ssh.MarshalAuthorizedKey(signer.PublicKey())),
	} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	writeYAMLFile(f.t, filepath.Join(f.dir, "holdfast.yaml"), map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Config", "clusters": clusters,
		"repositories": []any{map[string]any{
			"url": f.URL(), "clusters": []any{"*"}, "namespaces": []any{"flux-system"},
			"auth":    map[string]any{"username": "drift-bot", "passwordEnv": "GITEA_TOKEN"},
			"forge":   map[string]any{"type": "gitea", "baseURL": f.wall.URL, "tokenEnv": "GITEA_TOKEN"},
			"webhook": map[string]any{"name": "fleet", "secretFile": "hook-secret"},
		}},
		"signing": map[string]any{"keyFile": "key", "name": "Holdfast", "email": "holdfast@example.test"},
		"serve":   map[string]any{"listen": f.address, "grace": "5s"},
	})
	f.env = []string{"GITEA_TOKEN=" + f.token, clockAhead + "=" + ahead.String()}
}

// follow lets both engines fetch main, and waits until they have applied it.
func (f *fleet) follow() {
	f.t.Helper()
	head := "main@sha1:" + f.Head(f.t, "main")
	for _, cluster := range f.clusters {
		cluster.Reconcile(f.t, lab.FluxObject{Kind: "GitRepository", Namespace: "flux-system", Name: "fleet"})
		eventually(f.t, "Flux has applied "+head, func() bool {
			return cluster.Kubectl(f.t, lab.Admin, "", "get", "kustomization/shop", "--namespace=flux-system", "-o", "jsonpath={.status.lastAppliedRevision}") == head
		})
	}
}

// threads gives what the bot has on the forge, by title.
func (f *fleet) held(kind bot.Kind) map[string]bot.Thread {
	f.t.Helper()
	threads, err := f.forge.Threads(f.t.Context(), kind)
	if err != nil {
		f.t.Fatal(err)
	}
	out := map[string]bot.Thread{}
	for _, thread := range threads {
		if other, twice := out[thread.Title]; twice {
			f.t.Fatalf("%s and %s are both %q\n%s", other.URL, thread.URL, thread.Title, f.log)
		}
		out[thread.Title] = thread
	}
	return out
}

// waits until a thread of a kind and title is in a state, and gives it.
func (f *fleet) waits(kind bot.Kind, title string, state bot.State) (found bot.Thread) {
	f.t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if found = f.held(kind)[title]; found.State == state {
			return found
		}
		select {
		case err := <-f.ended:
			f.t.Fatalf("the service ended: %v\n%s", err, f.log)
		default:
		}
	}
	f.t.Fatalf("%s %q does not become %s: %+v\n%s", kind, title, state, f.held(kind), f.log)
	return found
}

const (
	codifyTitle = "Codify 2 changes of shop on 2 clusters"
	revertTitle = "Revert Deployment shop/api image of shop on north to Git"
)

// TestServeOnGitea is the service's whole job on two real clusters and a real forge, past what goes wrong meanwhile: drift
// by kubectl becomes signed pull requests, people review and merge them there, the engines apply them, the issues are
// closed with evidence, and the ledger is whole.
func TestServeOnGitea(t *testing.T) {
	f := newFleet(t)
	f.start()
	f.ready()
	if pulls, issues := f.held(bot.AsPullRequest), f.held(bot.AsIssue); len(pulls)+len(issues) > 0 {
		t.Fatalf("before any drift: %+v, %+v", pulls, issues)
	}

	f.wall.refusals.Store(9) // a forge that answers 500, 403 and 429 for a while
	for _, cluster := range f.clusters {
		cluster.Kubectl(t, lab.Alice, "", "--namespace=shop", "scale", "deployment/web", "--replicas=5")
	}
	f.clusters[0].Kubectl(t, lab.Alice, "", "--namespace=shop", "set", "image", "deployment/api", "api=registry.example.test/shop/api:2.4.2")
	f.waits(bot.AsIssue, "Drift: Deployment shop/web on 2 clusters", bot.Open)
	if err := f.cmd.Process.Kill(); err != nil { // wherever it is
		t.Fatal(err)
	}
	<-f.ended //nolint:errcheck // killed: that is an error
	f.start()
	codify, revert := f.waits(bot.AsPullRequest, codifyTitle, bot.Open), f.waits(bot.AsPullRequest, revertTitle, bot.Open)
	if f.wall.refused.Load() < 9 {
		t.Errorf("the forge refused %d requests only", f.wall.refused.Load())
	}

	south := f.clusters[1]
	south.Outage(t, func() {
		f.log = &lockedBuffer{}
		before := f.metric(`holdfast_round_duration_seconds_count{cluster="south",outcome="failure"}`)
		f.eventually("a round of south fails", func() bool {
			return f.metric(`holdfast_round_duration_seconds_count{cluster="south",outcome="failure"}`) != before
		})
	})
	issues := f.held(bot.AsIssue)
	for title, issue := range issues {
		if issue.State != bot.Open {
			t.Errorf("while a cluster did not answer, %q became %s", title, issue.State)
		}
	}
	if len(issues) != 3 || issues["Drift dashboard"].Number == 0 || issues["Drift: Deployment shop/api on north"].Number == 0 {
		t.Errorf("issues: %+v", issues)
	}

	f.checkBranches(codify, revert)
	for _, pull := range []bot.Thread{codify, revert} {
		if err := f.Merge(t, lab.Bob, pull.Number); err == nil {
			t.Errorf("%q is merged without an approval", pull.Title)
		}
		f.Approve(t, lab.Alice, pull.Number)
		if err := f.Merge(t, lab.Bob, pull.Number); err != nil {
			t.Fatal(err)
		}
	}
	f.follow()
	for _, title := range []string{"Drift: Deployment shop/web on 2 clusters", "Drift: Deployment shop/api on north"} {
		issue := f.waits(bot.AsIssue, title, bot.Closed)
		said, err := f.forge.Comments(t.Context(), bot.AsIssue, issue.Number, time.Time{})
		if err != nil || len(said) != 1 || !strings.Contains(said[0].Body, "the cluster and Git agree") || !strings.Contains(said[0].Body, "holdfast/ledger") {
			t.Errorf("%q says %+v, %v: want once that the cluster and Git agree, and where the ledger stood", title, said, err)
		}
	}
	if got := f.clusters[0].Kubectl(t, lab.Admin, "", "--namespace=shop", "get", "deployment/api", "-o", "jsonpath={.spec.template.spec.containers[0].image}"); got != "registry.example.test/shop/api:2.4.0" {
		t.Errorf("after the revert the image is %s", got)
	}
	f.eventually("the dashboard says that nothing is open", func() bool { return strings.Contains(f.held(bot.AsIssue)["Drift dashboard"].Body, "Nothing is open") })
	if pulls := f.held(bot.AsPullRequest); len(pulls) != 2 {
		t.Errorf("%d pull requests, want the two that were merged: %+v", len(pulls), pulls)
	}
	if got := f.metric(`holdfast_jobs{kind="event",state="completed"}`); got == "" || got == "0" {
		t.Errorf("%q webhooks were worked", got)
	}
	if err := f.stop(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	if strings.Contains(f.log.String(), f.token) || strings.Contains(f.log.String(), hookSecret) {
		t.Error("a secret is logged")
	}
	f.verifies()
}

// checkBranches wants each pull request to be one signed commit, of the change to the base that both clusters share, and
// of a record.
func (f *fleet) checkBranches(codify, revert bot.Thread) {
	f.t.Helper()
	clone := f.clone()
	for _, pull := range []bot.Thread{codify, revert} {
		git(f.t, clone, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+filepath.Join(f.dir, "signers"), "verify-commit", "origin/"+pull.Branch)
	}
	diff := git(f.t, clone, "diff", "origin/main...origin/"+codify.Branch)
	if !strings.Contains(diff, "+++ b/apps/shop/base/web.yaml\n") || !strings.Contains(diff, "+  replicas: 5 # enough on a weekday\n") || strings.Count(diff, "\n+") != 2 {
		f.t.Errorf("the codify changes:\n%s", diff)
	}
	names := strings.Fields(git(f.t, clone, "diff", "--name-only", "origin/main...origin/"+revert.Branch))
	if len(names) != 1 || !strings.HasPrefix(names[0], ".holdfast/reverts/") {
		f.t.Errorf("the revert changes %q", names)
	}
}

func (f *fleet) clone() string {
	f.t.Helper()
	dir := f.t.TempDir()
	git(f.t, dir, "clone", "--quiet", strings.Replace(f.URL(), "://", "://drift-bot:"+f.token+"@", 1), ".")
	return dir
}

// verifies wants the ledger whole, and in it what became of the drifts.
func (f *fleet) verifies() {
	f.t.Helper()
	clone := f.clone()
	git(f.t, clone, "branch", "holdfast/ledger", "origin/holdfast/ledger")
	var out bytes.Buffer
	streams := testStreams(&out, &out)
	streams.now = func() time.Time { return time.Now().Add(ahead) }
	trail := filepath.Join(f.dir, "trail.csv")
	if code := run(f.t.Context(), []string{"verify", "--git", clone, "--allowed-signers", filepath.Join(f.dir, "signers"), "--export", "csv=" + trail}, streams); code != 0 {
		f.t.Errorf("verify: exit %d\n%s", code, out.String())
	}
	text, err := os.ReadFile(trail)
	if err != nil {
		f.t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		f.t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, row := range rows {
		kinds[row[2]]++
	}
	merge := f.Head(f.t, "main")
	for kind, want := range map[string]int{"merge": 2, "converged": 3, "closed": 2} {
		if kinds[kind] != want {
			f.t.Errorf("the trail has %d records of %s, want %d:\n%s", kinds[kind], kind, want, text)
		}
	}
	if !strings.Contains(string(text), merge) || !strings.Contains(string(text), "bob") {
		f.t.Errorf("the trail does not tell the merge %s, or by whom it was:\n%s", merge, text)
	}
}
