package repo_test

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
	"holdfast/gitops/repo/sign"
)

var when = time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 2*3600))

func TestGitAcceptsEverySignature(t *testing.T) {
	bare := repotest.Bare(t, map[string]string{"a": "1"})
	ring := repotest.NewKeyring(t)
	for _, c := range []struct{ format, kind, passphrase string }{
		{"ssh", "ed25519", ""},
		{"ssh", "ecdsa", ""},
		{"ssh", "rsa", ""},
		{"ssh", "ed25519", "correct horse"},
		{"openpgp", "ed25519", ""},
		{"openpgp", "nistp256", ""},
		{"openpgp", "rsa2048", ""},
		{"openpgp", "rsa2048", "correct horse"},
	} {
		t.Run(strings.TrimSpace(c.format+" "+c.kind+" "+c.passphrase), func(t *testing.T) {
			var key []byte
			var judge func(commit string) (string, error)
			if c.format == "ssh" {
				private, public := repotest.SSHKey(t, c.kind, c.passphrase)
				key, judge = private, func(commit string) (string, error) { return repotest.VerifySSH(t, bare, commit, public) }
			} else {
				id := ring.Generate(t, strings.ReplaceAll(c.kind+"-"+c.passphrase, " ", "-"), c.kind, "0", c.passphrase)
				key, judge = ring.Private(t, id, c.passphrase), func(commit string) (string, error) { return ring.Verify(t, bare, commit) }
			}
			signer, err := sign.Load(key, []byte(c.passphrase))
			if err != nil {
				t.Fatal(err)
			}
			r := open(t, repo.Options{URL: bare})
			branch := strings.ReplaceAll(t.Name(), " ", "-")
			commit := commit(t, r, repo.Commit{Signer: signer, Edits: []gitops.Edit{{Path: "b", After: []byte(t.Name())}}})
			push(t, r, branch, commit, "")
			if out, err := judge(commit); err != nil {
				t.Errorf("git verify-commit refuses: %v\n%s", err, out)
			}
			if got := repotest.Git(t, bare, "log", "-1", "--format=%an <%ae> %aI|%cn <%ce> %cI|%s", branch); got != "bot <bot@example.com> 2026-03-04T05:06:07+02:00|bot <bot@example.com> 2026-03-04T05:06:07+02:00|change" {
				t.Errorf("the commit reads %s", got)
			}
		})
	}
	if out, err := repotest.TryGit(bare, "fsck", "--strict", "--full"); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

func TestOnlyTheTreesOnTheWayAreRewritten(t *testing.T) {
	work := repotest.Init(t)
	repotest.Write(t, work, map[string]string{"apps/run.sh": "old\n", "apps/gone/only": "x", "apps/a.yaml": "a\r\n", "apps/a/b": "b", "other/deep/er": "y", "swap": "file", "paws/x": "x"})
	if err := os.Chmod(filepath.Join(work, "apps/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.yaml", filepath.Join(work, "apps/link")); err != nil {
		t.Fatal(err)
	}
	repotest.Commit(t, work, "first", nil)
	bare := repotest.BareOf(t, work)
	r := open(t, repo.Options{URL: bare})
	before, err := r.Tree("main")
	if err != nil {
		t.Fatal(err)
	}
	edits := []gitops.Edit{
		{Path: "apps/run.sh", Before: []byte("old\n"), After: []byte("new\n")},
		{Path: "apps/gone/only", Before: []byte("x"), Remove: true},
		{Path: "apps/link", Remove: true},
		{Path: "apps/a.yaml", Before: []byte("a\r\n"), After: []byte("a\r\nb\r\n")},
		{Path: ".holdfast/reverts/größe.md", After: []byte("# ü\n")},
		{Path: "apps/zero", After: []byte{}},
		{Path: "swap", Before: []byte("file"), Remove: true},
		{Path: "swap/in", After: []byte("folder")},
		{Path: "paws/x", Before: []byte("x"), Remove: true},
		{Path: "paws", After: []byte("now a file")},
	}
	made := commit(t, r, repo.Commit{Edits: edits})
	push(t, r, "change", made, "")
	if out, err := repotest.TryGit(bare, "fsck", "--strict", "--full"); err != nil {
		t.Fatalf("git fsck: %v\n%s", err, out)
	}
	want := strings.Join([]string{
		"A\t.holdfast/reverts/größe.md", "M\tapps/a.yaml", "D\tapps/gone/only", "D\tapps/link", "M\tapps/run.sh", "A\tapps/zero",
		"A\tpaws", "D\tpaws/x", "D\tswap", "A\tswap/in",
	}, "\n")
	got := repotest.Git(t, bare, "-c", "core.quotePath=false", "diff-tree", "-r", "--no-renames", "--name-status", "main", "change")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
	if got := repotest.Git(t, bare, "ls-tree", "change", "apps/run.sh"); !strings.HasPrefix(got, "100755") {
		t.Errorf("the executable became %s", got)
	}
	// Commit, root tree, apps, .holdfast, reverts, swap, and the six files with content of their own.
	if got := repotest.Git(t, bare, "rev-list", "--objects", "--no-object-names", "change", "^main"); len(strings.Fields(got)) != 12 {
		t.Errorf("%d new objects, want 12:\n%s", len(strings.Fields(got)), got)
	}
	after, err := r.Tree(made)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files(before.With(edits)), files(after)); diff != "" {
		t.Errorf("tree after (-Tree.With +committed):\n%s", diff)
	}
}

func TestACommitThatDoesNotFitIsRefused(t *testing.T) {
	work := repotest.Init(t)
	repotest.Write(t, work, map[string]string{"apps/a": "a"})
	if err := os.Symlink("apps", filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	repotest.Commit(t, work, "first", nil)
	r := open(t, repo.Options{URL: work})
	edit := func(path, before, after string) gitops.Edit {
		e := gitops.Edit{Path: path, After: []byte(after)}
		if before != "" {
			e.Before = []byte(before)
		}
		return e
	}
	for _, c := range []struct {
		name   string
		commit repo.Commit
		want   error
		says   string
	}{
		{"a file that changed since", repo.Commit{Edits: []gitops.Edit{edit("apps/a", "other", "b")}}, repo.ErrConflict, "apps/a"},
		{"a new file that exists", repo.Commit{Edits: []gitops.Edit{edit("apps/a", "", "b")}}, repo.ErrConflict, "exists already"},
		{"a changed file that is gone", repo.Commit{Edits: []gitops.Edit{edit("apps/none", "x", "b")}}, repo.ErrConflict, "no such file"},
		{"a removed file that is gone", repo.Commit{Edits: []gitops.Edit{{Path: "none/none", Remove: true}}}, repo.ErrConflict, "none/none"},
		{"a file that is a folder", repo.Commit{Edits: []gitops.Edit{edit("apps", "", "b")}}, repo.ErrConflict, "but a folder"},
		{"a folder that is a file", repo.Commit{Edits: []gitops.Edit{edit("apps/a/b", "", "b")}}, repo.ErrConflict, "apps/a: "},
		{"a symbolic link", repo.Commit{Edits: []gitops.Edit{edit("link", "apps", "b")}}, repo.ErrConflict, "symbolic link"},
		{"through a symbolic link", repo.Commit{Edits: []gitops.Edit{edit("link/a", "a", "b")}}, repo.ErrConflict, "symbolic link"},
		{"one file twice", repo.Commit{Edits: []gitops.Edit{edit("apps/a", "a", "b"), edit("apps/a", "a", "c")}}, repo.ErrConflict, "two edits"},
		{"a path out of the tree", repo.Commit{Edits: []gitops.Edit{edit("../a", "", "b")}}, repo.ErrConflict, "../a"},
		{"an absolute path", repo.Commit{Edits: []gitops.Edit{edit("/a", "", "b")}}, repo.ErrConflict, "/a"},
		{"git's own folder", repo.Commit{Edits: []gitops.Edit{edit("x/.Git/hooks/a", "", "b")}}, repo.ErrConflict, ".Git"},
		{"no change", repo.Commit{Edits: []gitops.Edit{edit("apps/a", "a", "a")}}, nil, "nothing to commit"},
		{"an unknown parent", repo.Commit{Parent: "nope", Edits: []gitops.Edit{edit("b", "", "b")}}, repo.ErrNotFound, "nope"},
		{"no date", repo.Commit{When: time.Unix(0, 0), Edits: []gitops.Edit{edit("b", "", "b")}}, nil, "date"},
		{"no message", repo.Commit{Message: " \n", Edits: []gitops.Edit{edit("b", "", "b")}}, nil, "message"},
		{"an author with a bracket", repo.Commit{Author: repo.Person{Name: "a <b", Email: "a@example.com"}, Edits: []gitops.Edit{edit("b", "", "b")}}, nil, "author"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.Commit(filled(t, c.commit))
			if err == nil || !strings.Contains(err.Error(), c.says) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
	unsigned := filled(t, repo.Commit{Edits: []gitops.Edit{edit("b", "", "b")}})
	unsigned.Signer = nil
	if _, err := r.Commit(unsigned); !errors.Is(err, repo.ErrUnsigned) {
		t.Errorf("error is %v, want ErrUnsigned", err)
	}
}

func TestPushIsCompareAndSwap(t *testing.T) {
	bare := repotest.Bare(t, map[string]string{"a": "1"})
	base := repotest.Serve(t, filepath.Dir(bare), "token")
	for _, where := range []repo.Options{
		{URL: bare}, {URL: "file://" + bare}, {URL: base + "/repo.git", Auth: repo.Auth{Password: "token"}, Depth: 1},
	} {
		t.Run(where.URL[:4], func(t *testing.T) {
			ctx, branch := context.Background(), "holdfast/"+strings.ReplaceAll(t.Name(), "/", "-")
			r := open(t, where)
			first := commit(t, r, repo.Commit{Edits: []gitops.Edit{{Path: "b", After: []byte("1")}}})
			if err := r.Push(ctx, branch, first, strings.Repeat("ab", 20)); !errors.Is(err, repo.ErrMoved) {
				t.Errorf("push to a branch that is not there as expected: %v, want ErrMoved", err)
			}
			push(t, r, branch, first, "")
			second := commit(t, r, repo.Commit{Message: "second", Edits: []gitops.Edit{{Path: "b", After: []byte("2")}}})
			if err := r.Push(ctx, branch, second, ""); !errors.Is(err, repo.ErrMoved) {
				t.Errorf("push to a branch that exists, expected absent: %v, want ErrMoved", err)
			}
			if got := repotest.Git(t, bare, "rev-parse", branch); got != first {
				t.Errorf("a refused push moved the branch to %s", got)
			}
			// Not a descendant: the branch is replaced.
			push(t, r, branch, second, first)
			// The same again is no second effect.
			push(t, r, branch, second, first)
			stacked := commit(t, r, repo.Commit{Parent: second, Edits: []gitops.Edit{{Path: "c", After: []byte("3")}}})
			stacked = commit(t, r, repo.Commit{Parent: stacked, Edits: []gitops.Edit{{Path: "d", After: []byte("4")}}})
			push(t, r, branch, stacked, second)
			if got, err := r.Head(branch); got != stacked || err != nil {
				t.Errorf("Head is %s, %v; want %s", got, err, stacked)
			}
			if got := repotest.Git(t, bare, "log", "--format=%s", branch, "^main"); got != "change\nchange\nsecond" {
				t.Errorf("the branch holds %q", got)
			}
			orphan := commit(t, r, repo.Commit{Orphan: true, Edits: []gitops.Edit{{Path: "ledger", After: []byte("1")}}})
			push(t, r, branch+"-orphan", orphan, "")
			if got := repotest.Git(t, bare, "rev-list", branch+"-orphan"); got != orphan {
				t.Errorf("the orphan's history is %s", got)
			}
			if out, err := repotest.TryGit(bare, "fsck", "--strict", "--full"); err != nil {
				t.Errorf("git fsck: %v\n%s", err, out)
			}
		})
	}
}

func TestOfConcurrentPushesExactlyOneWins(t *testing.T) {
	bare := repotest.Bare(t, map[string]string{"a": "1"})
	base := repotest.Serve(t, filepath.Dir(bare), "")
	for round, start := range []string{"", "existing"} {
		branch, expected := fmt.Sprintf("race-%d", round), ""
		if start != "" {
			repotest.Git(t, bare, "branch", branch, "main")
			expected = repotest.Git(t, bare, "rev-parse", "main")
		}
		const pushers = 6
		var wait sync.WaitGroup
		ready := make(chan struct{})
		errs := make([]error, pushers)
		commits := make([]string, pushers)
		for i := range pushers {
			url := bare
			if i%2 == 0 {
				url = base + "/repo.git"
			}
			r := open(t, repo.Options{URL: url})
			commits[i] = commit(t, r, repo.Commit{Edits: []gitops.Edit{{Path: "b", After: fmt.Append(nil, i)}}})
			wait.Go(func() {
				<-ready
				errs[i] = r.Push(context.Background(), branch, commits[i], expected)
			})
		}
		close(ready)
		wait.Wait()
		var winners []string
		for i, err := range errs {
			if err == nil {
				winners = append(winners, commits[i])
			} else if !errors.Is(err, repo.ErrMoved) {
				t.Errorf("a loser's error is %v, want ErrMoved", err)
			}
		}
		if len(winners) != 1 {
			t.Fatalf("%d pushes won, want 1", len(winners))
		}
		if got := repotest.Git(t, bare, "rev-parse", branch); got != winners[0] {
			t.Errorf("the branch is at %s, the winner is %s", got, winners[0])
		}
	}
}

func TestARefusedPushSaysWhy(t *testing.T) {
	bare := repotest.Bare(t, map[string]string{"a": "1"})
	hook := filepath.Join(bare, "hooks", "update")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho 'branch main is protected' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := open(t, repo.Options{URL: bare})
	head, _ := r.Head("main")
	made := commit(t, r, repo.Commit{Edits: []gitops.Edit{{Path: "b", After: []byte("1")}}})
	err := r.Push(context.Background(), "main", made, head)
	if err == nil || errors.Is(err, repo.ErrMoved) || !strings.Contains(err.Error(), "branch main is protected") {
		t.Errorf("error is %v, want what the hook says", err)
	}
	if got := repotest.Git(t, bare, "rev-parse", "main"); got != head {
		t.Errorf("main moved to %s", got)
	}
}

func TestACheckedOutBranchIsNotPushedTo(t *testing.T) {
	work := repotest.Init(t)
	repotest.Commit(t, work, "first", map[string]string{"a": "1"})
	r := open(t, repo.Options{URL: work})
	head, _ := r.Head("main")
	made := commit(t, r, repo.Commit{Edits: []gitops.Edit{{Path: "b", After: []byte("1")}}})
	if err := r.Push(context.Background(), "main", made, head); err == nil || !strings.Contains(err.Error(), "checked out") {
		t.Errorf("error is %v, want one that says that the branch is checked out", err)
	}
	push(t, r, "holdfast/change", made, "")
}

func TestANameThatIsNoBranchIsRefused(t *testing.T) {
	r := open(t, repo.Options{URL: repotest.Bare(t, map[string]string{"a": "1"})})
	head, _ := r.Head("main")
	for _, branch := range []string{"", "a..b", "-x", "a b", "a.lock", "a/"} {
		if err := r.Push(context.Background(), branch, head, ""); err == nil {
			t.Errorf("%q was taken for a branch", branch)
		}
	}
	if err := r.Push(context.Background(), "x", "main", ""); err == nil || !strings.Contains(err.Error(), "full commit hash") {
		t.Errorf("error is %v, want one that asks for a full hash", err)
	}
}

func filled(t *testing.T, c repo.Commit) repo.Commit {
	t.Helper()
	if c.Signer == nil {
		c.Signer = anySigner(t)
	}
	if c.Message == "" {
		c.Message = "change"
	}
	if c.Author == (repo.Person{}) {
		c.Author = repo.Person{Name: "bot", Email: "bot@example.com"}
	}
	if c.When.IsZero() {
		c.When = when
	}
	return c
}

// anySigner makes a key in memory, for commits whose signature is not what is tested.
func anySigner(t testing.TB) sign.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := sign.Load(pem.EncodeToMemory(block), nil)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func commit(t *testing.T, r *repo.Repository, c repo.Commit) string {
	t.Helper()
	hash, err := r.Commit(filled(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func push(t *testing.T, r *repo.Repository, branch, commit, expected string) {
	t.Helper()
	if err := r.Push(context.Background(), branch, commit, expected); err != nil {
		t.Fatal(err)
	}
}
