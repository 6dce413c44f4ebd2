package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"holdfast/bot"
	"holdfast/bot/forge/folder"
	"holdfast/deploy/lab"
)

// fluxLab is one cluster with the real Flux for all tests that need it; each keeps to a namespace,
// a repository and a Kustomization of its own, and takes the Kustomization away at its end.
var fluxLab struct {
	lab.Shared
	once sync.Once
}

func TestMain(m *testing.M) { os.Exit(fluxLab.Run(m)) }

func fluxCluster(t *testing.T) *lab.Cluster {
	t.Helper()
	c := fluxLab.Get(t).Clusters[0]
	fluxLab.once.Do(func() {
		c.StartFlux(t, lab.FluxOptions{})
		reader, err := os.ReadFile(filepath.Join("..", "..", "deploy", "rbac", "reader.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(t, lab.Admin, "kubectl", string(reader))
		c.Grant(t, lab.Bot, "holdfast-reader")
	})
	return c
}

// fluxShop is a shop that the real Flux applies from a real Git server, and a bot that is configured for it.
type fluxShop struct {
	*lab.Cluster
	git  *lab.Git
	name string // of the namespace, the repository, the GitRepository and the Kustomization

	config, forge, signers string
	// ahead is how far the bot's clock is before the cluster's.
	ahead time.Duration
	// interval is the Kustomization's.
	interval time.Duration
}

const fluxRepository = "fleet"

// shopInterval is far longer than a test: Flux corrects when it is asked to, and only then.
const shopInterval = time.Hour

// newFluxShop gives a shop that Flux has applied, and corrects when asked to. policy is the repository's; empty
// for none.
func newFluxShop(t *testing.T, name, policy string) *fluxShop {
	t.Helper()
	return newFluxShopAt(t, name, policy, shopInterval)
}

func newFluxShopAt(t *testing.T, name, policy string, interval time.Duration) *fluxShop {
	t.Helper()
	s := &fluxShop{Cluster: fluxCluster(t), git: lab.GitServer(t, lab.GitOptions{}), name: name, interval: interval}
	archive, err := txtar.ParseFile(filepath.Join("testdata", "flux-shop.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	if policy != "" {
		files[policyFile] = policy
	}
	s.git.Create(t, fluxRepository, files)
	s.configure(t)
	s.Kubectl(t, lab.Admin, "", "create", "namespace", name)
	s.Kubectl(t, lab.Admin, s.fluxObjects(), "apply", "-f", "-")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own has ended
		defer cancel()
		for _, kind := range []string{"kustomization", "gitrepository"} {
			if _, err := s.Exec(ctx, lab.Admin, "", "delete", kind+"/"+name, "--namespace=flux-system", "--timeout=60s"); err != nil {
				t.Error(err)
			}
		}
	})
	s.follow(t)
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds: what follows is later
	return s
}

func (s *fluxShop) fluxObjects() string {
	return fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: flux-system}
spec: {interval: 1h, url: %[2]q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: flux-system}
spec:
  interval: %[3]s
  path: ./apps/shop/production
  prune: true
  targetNamespace: %[1]s
  sourceRef: {kind: GitRepository, name: %[1]s}
`, s.name, s.git.URL(fluxRepository), s.interval)
}

// configure writes holdfast.yaml with a throw-away signing key, a forge in a folder, and the bot's own,
// read-only user.
func (s *fluxShop) configure(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	s.config, s.forge, s.signers = filepath.Join(dir, "holdfast.yaml"), filepath.Join(dir, "forge"), filepath.Join(dir, "signers")
	key := filepath.Join(dir, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.signers, append([]byte("holdfast@example.test "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	writeYAMLFile(t, s.config, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Config",
		"clusters": []any{map[string]any{"name": "north", "kubeconfig": s.Kubeconfig(lab.Bot), "tier": "production"}},
		"repositories": []any{map[string]any{
			"url": s.git.URL(fluxRepository), "clusters": []any{"north"}, "namespaces": []any{"flux-system"},
			"forge": map[string]any{"type": "folder", "path": "forge"},
		}},
		"signing": map[string]any{"keyFile": "key", "name": "Holdfast", "email": "holdfast@example.test"},
	})
}

// alice changes the cluster past Git.
func (s *fluxShop) alice(t *testing.T, args ...string) {
	t.Helper()
	s.Kubectl(t, lab.Alice, "", append([]string{"--namespace=" + s.name}, args...)...)
}

// get prints one field of an object of the shop.
func (s *fluxShop) get(t *testing.T, object, path string) string {
	t.Helper()
	return s.Kubectl(t, lab.Admin, "", "--namespace="+s.name, "get", object, "-o", "jsonpath="+path)
}

// heal makes Flux apply what it has again, as it does at each interval.
func (s *fluxShop) heal(t *testing.T) {
	t.Helper()
	s.Reconcile(t, lab.FluxObject{Kind: "Kustomization", Namespace: "flux-system", Name: s.name})
}

// follow makes Flux fetch the branch, as a webhook does, and waits until its newest commit is applied: the
// Kustomization is not asked, a new revision is enough.
func (s *fluxShop) follow(t *testing.T) {
	t.Helper()
	s.Reconcile(t, lab.FluxObject{Kind: "GitRepository", Namespace: "flux-system", Name: s.name})
	head := "main@sha1:" + s.git.Git(t, fluxRepository, "rev-parse", "refs/heads/main")
	eventually(t, "Flux has applied "+head, func() bool {
		return s.Kubectl(t, lab.Admin, "", "get", "kustomization/"+s.name, "--namespace=flux-system", "-o", "jsonpath={.status.lastAppliedRevision}") == head
	})
}

// run runs the command as the bot, and gives all that it says.
func (s *fluxShop) run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := testStreams(&stdout, &stderr)
	streams.now = func() time.Time { return time.Now().Add(s.ahead) }
	code = run(t.Context(), append(args, "--config", s.config), streams)
	t.Logf("%s: exit %d\n%s%s", strings.Join(args, " "), code, stdout.String(), stderr.String())
	return stdout.String() + stderr.String(), code
}

// propose runs the command and wants an exit code.
func (s *fluxShop) propose(t *testing.T, want int, args ...string) string {
	t.Helper()
	out, code := s.run(t, append([]string{"propose"}, args...)...)
	if code != want {
		t.Fatalf("propose: exit %d, want %d", code, want)
	}
	return out
}

// threads gives the pull requests or issues on the forge, newest first.
func (s *fluxShop) threads(t *testing.T, kind bot.Kind) []bot.Thread {
	t.Helper()
	f, err := folder.New(s.forge, folderAccount)
	if err != nil {
		t.Fatal(err)
	}
	threads, err := f.Threads(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	return threads
}

// files gives every file of the forge, byte for byte.
func (s *fluxShop) files(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(s.forge, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		out[strings.TrimPrefix(name, s.forge+"/")] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// refs gives every branch and where it stands.
func (s *fluxShop) refs(t *testing.T) string {
	t.Helper()
	return s.git.Git(t, fluxRepository, "for-each-ref", "--format=%(refname) %(objectname)")
}

// still wants that a number of further runs change nothing, on the forge or in Git.
func (s *fluxShop) still(t *testing.T, code int) {
	t.Helper()
	files, refs := s.files(t), s.refs(t)
	for range 2 {
		s.propose(t, code)
		now := s.files(t)
		for name := range maps.Keys(now) {
			if now[name] != files[name] {
				t.Errorf("%s changed, and nothing had happened:\n%s\nwas\n%s", name, now[name], files[name])
			}
		}
		if got := s.refs(t); got != refs {
			t.Errorf("the branches moved, and nothing had happened:\n%s\nwas\n%s", got, refs)
		}
	}
}

// clone gives a person's checkout.
func (s *fluxShop) clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "clone", "--quiet", s.git.URL(fluxRepository), ".")
	git(t, dir, "config", "user.name", "Bob")
	git(t, dir, "config", "user.email", "bob@example.test")
	return dir
}

// merge merges a pull request's branch into main with git, as a forge does, and says so on the forge.
func (s *fluxShop) merge(t *testing.T, thread bot.Thread) {
	t.Helper()
	dir := s.clone(t)
	git(t, dir, "merge", "--quiet", "--no-ff", "--message=Merge "+thread.Branch, "origin/"+thread.Branch)
	git(t, dir, "push", "--quiet", "origin", "main")
	s.set(t, thread, bot.Merged)
}

// close closes an open thread as a person does.
func (s *fluxShop) close(t *testing.T, thread bot.Thread) {
	t.Helper()
	s.set(t, thread, bot.Closed)
}

func (s *fluxShop) set(t *testing.T, thread bot.Thread, state bot.State) {
	t.Helper()
	data, err := os.ReadFile(thread.URL)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), "\nstate: open\n", "\nstate: "+string(state)+"\n", 1)
	if changed == string(data) {
		t.Fatalf("%s is not open", thread.URL)
	}
	if err := os.WriteFile(thread.URL, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// verify checks the signature of a commit with git, and gives the files that it changes.
func (s *fluxShop) verify(t *testing.T, branch string) []string {
	t.Helper()
	commit := "refs/heads/" + branch
	s.git.Git(t, fluxRepository, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+s.signers, "verify-commit", commit)
	return strings.Split(s.git.Git(t, fluxRepository, "diff-tree", "--no-commit-id", "--name-status", "-r", commit), "\n")
}
