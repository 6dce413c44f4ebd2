package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge/folder"
	"holdfast/deploy/lab"
)

// shop is a shop that a real engine applies from a real Git server, and a bot that is configured for it.
type shop struct {
	*lab.Cluster
	git  *lab.Git
	name string // of the namespace, the repository and the engine's object

	config, forge, signers string
	// flags are more flags of each command.
	flags []string
	// ahead is how far the bot's clock is before the cluster's.
	ahead time.Duration
}

const shopRepository = "fleet"

// newShopOf gives the repository of a shop, with a policy unless that is empty.
func newShopOf(t *testing.T, cluster *lab.Cluster, name, policy string) *shop {
	t.Helper()
	s := &shop{Cluster: cluster, git: lab.GitServer(t, lab.GitOptions{}), name: name}
	text, err := os.ReadFile(filepath.Join("testdata", "flux-shop.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := lab.Files(string(text))
	if policy != "" {
		files[policyFile] = policy
	}
	s.git.Create(t, shopRepository, files)
	return s
}

// configure writes holdfast.yaml for the engine in a namespace: with a throw-away signing key, a forge in a folder, and the bot's own,
// read-only user.
func (s *shop) configure(t *testing.T, namespace string) {
	t.Helper()
	s.sign(t, t.TempDir())
	writeYAMLFile(t, s.config, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Config",
		"clusters": []any{map[string]any{"name": "north", "kubeconfig": s.Kubeconfig(lab.Bot), "tier": "production"}},
		"repositories": []any{map[string]any{
			"url": s.git.URL(shopRepository), "clusters": []any{"north"}, "namespaces": []any{namespace},
			"forge": map[string]any{"type": "folder", "path": "forge"},
		}},
		"signing": map[string]any{"keyFile": "key", "name": "Holdfast", "email": "holdfast@example.test"},
	})
}

// sign makes a throw-away signing key in dir, beside which the configuration and the forge's folder lie.
func (s *shop) sign(t *testing.T, dir string) {
	t.Helper()
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
}

// alice changes the cluster past Git.
func (s *shop) alice(t *testing.T, args ...string) {
	t.Helper()
	s.Kubectl(t, lab.Alice, "", append([]string{"--namespace=" + s.name}, args...)...)
}

// get prints one field of an object of the shop.
func (s *shop) get(t *testing.T, object, path string) string {
	t.Helper()
	return s.Kubectl(t, lab.Admin, "", "--namespace="+s.name, "get", object, "-o", "jsonpath="+path)
}

// run runs the command as the bot, and gives all that it says.
func (s *shop) run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := testStreams(&stdout, &stderr)
	streams.now = func() time.Time { return time.Now().Add(s.ahead) }
	code = run(t.Context(), slices.Concat(args, []string{"--config", s.config}, s.flags), streams)
	t.Logf("%s: exit %d\n%s%s", strings.Join(args, " "), code, stdout.String(), stderr.String())
	return stdout.String() + stderr.String(), code
}

// propose runs the command and wants an exit code.
func (s *shop) propose(t *testing.T, want int, args ...string) string {
	t.Helper()
	out, code := s.run(t, append([]string{"propose"}, args...)...)
	if code != want {
		s.run(t, "scan", "-o", "json")
		t.Fatalf("propose: exit %d, want %d", code, want)
	}
	return out
}

// threads gives the pull requests or issues on the forge, newest first.
func (s *shop) threads(t *testing.T, kind bot.Kind) []bot.Thread {
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
func (s *shop) files(t *testing.T) map[string]string {
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
func (s *shop) refs(t *testing.T) string {
	t.Helper()
	return s.git.Git(t, shopRepository, "for-each-ref", "--format=%(refname) %(objectname)")
}

// still wants that a number of further runs change nothing, on the forge or in Git.
func (s *shop) still(t *testing.T, code int) {
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
func (s *shop) clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "clone", "--quiet", s.git.URL(shopRepository), ".")
	git(t, dir, "config", "user.name", "Bob")
	git(t, dir, "config", "user.email", "bob@example.test")
	return dir
}

// merge merges a pull request's branch into main with git, as a forge does, and says so on the forge.
func (s *shop) merge(t *testing.T, thread bot.Thread) {
	t.Helper()
	dir := s.clone(t)
	git(t, dir, "merge", "--quiet", "--no-ff", "--message=Merge "+thread.Branch, "origin/"+thread.Branch)
	git(t, dir, "push", "--quiet", "origin", "main")
	s.set(t, thread, bot.Merged)
}

// close closes an open thread as a person does.
func (s *shop) close(t *testing.T, thread bot.Thread) {
	t.Helper()
	s.set(t, thread, bot.Closed)
}

func (s *shop) set(t *testing.T, thread bot.Thread, state bot.State) {
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
func (s *shop) verify(t *testing.T, branch string) []string {
	t.Helper()
	commit := "refs/heads/" + branch
	s.git.Git(t, shopRepository, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+s.signers, "verify-commit", commit)
	return strings.Split(s.git.Git(t, shopRepository, "diff-tree", "--no-commit-id", "--name-status", "-r", commit), "\n")
}
