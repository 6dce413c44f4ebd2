package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge/gitea"
	"holdfast/deploy/lab"
)

// giteaShop is a shop whose declared state lies on a real Gitea; its cluster is a dump.
type giteaShop struct {
	*lab.GiteaRepository
	server          *lab.Gitea
	forge           *gitea.Forge
	config, signers string
	dump            string
	token           string
}

// deployedWeb is what a cluster has of the shop: the engine applied it at a revision, and somebody scaled it by hand.
const deployedWeb = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 1m, url: "%[1]s", ref: {branch: main}}
status: {artifact: {revision: "main@sha1:%[2]s", digest: "sha256:0", lastUpdateTime: "2026-11-30T10:00:00Z", path: x, url: "http://source-controller/x"}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: flux-system}
spec: {interval: 10m, path: ./apps/shop, prune: true, sourceRef: {kind: GitRepository, name: fleet}}
status: {lastAppliedRevision: "main@sha1:%[2]s", conditions: [{type: Ready, status: "True", reason: ReconciliationSucceeded, lastTransitionTime: "2026-11-30T10:00:00Z"}]}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  namespace: shop
  uid: 00000000-0000-0000-0000-000000000001
  labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}
  managedFields:
    - manager: kustomize-controller
      operation: Apply
      apiVersion: v1
      time: "2026-11-30T10:00:00Z"
      fieldsType: FieldsV1
      fieldsV1: {"f:data": {"f:GREETING": {}}, "f:metadata": {"f:labels": {"f:kustomize.toolkit.fluxcd.io/name": {}, "f:kustomize.toolkit.fluxcd.io/namespace": {}}}}
    - manager: kubectl-edit
      operation: Update
      apiVersion: v1
      time: "2026-11-30T11:00:00Z"
      fieldsType: FieldsV1
      fieldsV1: {"f:data": {"f:TIMEOUT": {}}}
data: {GREETING: hello, TIMEOUT: 30s}
`

const keepTimeouts = `apiVersion: holdfast/v1
kind: Policy
extends: production
rules:
  - name: keep hotfixes
    cause: [manual]
    drift: true
    path: ["data.TIMEOUT"]
    disposition: codify
`

func newGiteaShop(t *testing.T) *giteaShop {
	t.Helper()
	g := lab.StartGitea(t)
	g.Organization(t, "shop")
	s := &giteaShop{server: g, GiteaRepository: g.Create(t, "shop", "fleet", map[string]string{
		"apps/shop/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  namespace: shop\ndata:\n  GREETING: hello\n  TIMEOUT: 5s # seconds are enough\n",
		policyFile:           keepTimeouts,
	})}
	s.Allow(t, lab.Bot, "write")
	s.Allow(t, lab.Alice, "write")
	s.Allow(t, lab.Bob, "write")
	s.Protect(t, "main", lab.GiteaProtection{Approvals: 1})
	s.token = g.Token(t, lab.Bot, "read:user", "write:repository", "write:issue")
	t.Setenv("GITEA_TOKEN", s.token)
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	s.config, s.signers, s.dump = filepath.Join(dir, "holdfast.yaml"), filepath.Join(dir, "signers"), filepath.Join(dir, "live.yaml")
	if err := os.WriteFile(s.signers, append([]byte("holdfast@example.test "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	writeYAMLFile(t, s.config, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Config",
		"clusters": []any{map[string]any{"name": "north", "tier": "production"}},
		"repositories": []any{map[string]any{
			"url": s.URL(), "clusters": []any{"north"}, "namespaces": []any{"flux-system"},
			"auth":  map[string]any{"username": "drift-bot", "passwordEnv": "GITEA_TOKEN"},
			"forge": map[string]any{"type": "gitea", "baseURL": g.URL(), "tokenEnv": "GITEA_TOKEN"},
		}},
		"signing": map[string]any{"keyFile": "key", "name": "Holdfast", "email": "holdfast@example.test"},
	})
	if s.forge, err = gitea.New(gitea.Options{BaseURL: g.URL(), Owner: s.Owner, Repo: s.Name, Token: s.token}); err != nil {
		t.Fatal(err)
	}
	s.applied(t)
	return s
}

// applied records the cluster after the engine has applied main; what was done by hand stays.
func (s *giteaShop) applied(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(s.dump, fmt.Appendf(nil, deployedWeb, s.URL(), s.Head(t, "main")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *giteaShop) propose(t *testing.T, want int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"propose", "--config", s.config, "--live", s.dump}, testStreams(&stdout, &stderr))
	said := stdout.String() + stderr.String()
	if code != want || strings.Contains(said, s.token) {
		t.Fatalf("propose: exit %d, want %d\n%s", code, want, said)
	}
}

func (s *giteaShop) threads(t *testing.T, kind bot.Kind) []bot.Thread {
	t.Helper()
	threads, err := s.forge.Threads(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	return threads
}

// TestProposeOnGitea is the main job on a real forge: a drift opens an issue and a signed pull request, people review
// and merge there, the engine applies, and the issue closes with what was seen.
func TestProposeOnGitea(t *testing.T) {
	s := newGiteaShop(t)
	s.propose(t, 1)
	pulls, issues := s.threads(t, bot.AsPullRequest), s.threads(t, bot.AsIssue)
	if len(pulls) != 1 || len(issues) != 1 {
		t.Fatalf("pull requests %+v and issues %+v, want one each", pulls, issues)
	}
	pull, issue := pulls[0], issues[0]
	if !slices.Contains(pull.Labels, "drift/codify") || pull.Author != "drift-bot" || issue.State != bot.Open {
		t.Errorf("pull request %+v, issue %+v", pull, issue)
	}

	clone := t.TempDir()
	git(t, clone, "clone", "--quiet", strings.Replace(s.URL(), "://", "://drift-bot:"+s.token+"@", 1), ".")
	git(t, clone, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+s.signers, "verify-commit", "origin/"+pull.Branch)
	diff := git(t, clone, "diff", "origin/main...origin/"+pull.Branch)
	if !strings.Contains(diff, "+  TIMEOUT: 30s # seconds are enough\n") || strings.Count(diff, "\n+") != 2 {
		t.Errorf("the branch changes:\n%s", diff)
	}

	s.propose(t, 1)
	if again := s.threads(t, bot.AsPullRequest); len(again) != 1 || again[0].Head != pull.Head || again[0].Body != pull.Body {
		t.Errorf("a second run changed the pull request to %+v", again)
	}
	if err := s.Merge(t, lab.Bob, pull.Number); err == nil {
		t.Error("merged without an approval")
	}
	s.Approve(t, lab.Alice, pull.Number)
	if err := s.Merge(t, lab.Bob, pull.Number); err != nil {
		t.Fatal(err)
	}

	s.applied(t)
	s.propose(t, 0)
	issues = s.threads(t, bot.AsIssue)
	if len(issues) != 1 || issues[0].State != bot.Closed {
		t.Fatalf("after the merge the issues are %+v, want one that is closed", issues)
	}
	said, err := s.forge.Comments(t.Context(), bot.AsIssue, issue.Number, time.Time{})
	if err != nil || len(said) != 1 || !strings.Contains(said[0].Body, "the cluster and Git agree") {
		t.Errorf("the issue says %+v, %v", said, err)
	}
	s.propose(t, 0)
	if again, err := s.forge.Comments(t.Context(), bot.AsIssue, issue.Number, time.Time{}); err != nil || len(again) != 1 {
		t.Errorf("a further run says %+v, %v", again, err)
	}
}
