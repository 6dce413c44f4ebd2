package repo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
	"holdfast/gitops/repo/sign"
)

// steps reads a whole lineage.
func steps(t *testing.T, location, branch string) []repo.Step {
	t.Helper()
	l, err := repo.OpenLineage(t.Context(), repo.LineageOptions{Location: location, Branch: branch, MaxFile: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out []repo.Step
	for s := range l.Steps() {
		out = append(out, s)
	}
	if len(out) != l.Len() || out[len(out)-1].Commit.Hash != l.Head() {
		t.Errorf("%d steps of %d, the last %s, head %s", len(out), l.Len(), out[len(out)-1].Commit.Hash, l.Head())
	}
	return out
}

func TestALineageTellsWhatEachCommitDid(t *testing.T) {
	work := repotest.Init(t)
	repotest.Commit(t, work, "one", map[string]string{"a.txt": "1", "d/b.txt": "1", "d/e/c.txt": "1"})
	repotest.Commit(t, work, "two", map[string]string{"a.txt": "2", "d/e/f.txt": "1", "big.txt": strings.Repeat("x", 2000)})
	repotest.Git(t, work, "rm", "-q", "d/b.txt")
	if err := os.Symlink("a.txt", filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	repotest.Commit(t, work, "three", nil)
	bare := repotest.BareOf(t, work)
	packed := repotest.BareOf(t, work)
	repotest.Git(t, packed, "gc", "-q")
	url := repotest.Serve(t, filepath.Dir(bare), "")

	type change struct {
		Path string
		Kind repo.ChangeKind
		Mode gitops.Mode
		Data string
	}
	want := [][]change{
		{{"a.txt", repo.Added, 0, "1"}, {"d/b.txt", repo.Added, 0, "1"}, {"d/e/c.txt", repo.Added, 0, "1"}},
		{{"a.txt", repo.Modified, 0, ""}, {"big.txt", repo.Added, 0, "too large"}, {"d/e/f.txt", repo.Added, 0, "1"}},
		{{"d/b.txt", repo.Removed, 0, ""}, {"link", repo.Added, gitops.Symlink, "a.txt"}},
	}
	for name, location := range map[string]string{
		"a folder with a worktree": work, "a bare folder": bare, "a packed folder": packed, "its .git": filepath.Join(work, ".git"), "a URL": url + "/" + filepath.Base(bare),
	} {
		t.Run(name, func(t *testing.T) {
			var got [][]change
			for _, s := range steps(t, location, "main") {
				if s.Err != nil || s.First {
					t.Errorf("%s: %v", s.Commit.Hash, s.Err)
				}
				var changes []change
				for _, c := range s.Changes {
					data := string(c.Data)
					if errors.Is(c.Err, repo.ErrTooLarge) {
						data = "too large"
					}
					changes = append(changes, change{c.Path, c.Kind, c.Mode, data})
				}
				got = append(got, changes)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALineageFollowsFirstParents(t *testing.T) {
	work := repotest.Init(t)
	repotest.Commit(t, work, "one", map[string]string{"a": "1"})
	repotest.Git(t, work, "checkout", "-q", "-b", "side")
	repotest.Commit(t, work, "side", map[string]string{"b": "1"})
	repotest.Git(t, work, "checkout", "-q", "main")
	repotest.Commit(t, work, "two", map[string]string{"c": "1"})
	repotest.Git(t, work, "merge", "-q", "--no-ff", "-m", "merge", "side")
	all := steps(t, work, "main")
	if len(all) != 3 || len(all[2].Commit.Parents) != 2 {
		t.Fatalf("%d steps, want 3, the last with two parents", len(all))
	}
	// A branch that a clone has from its origin is found too.
	clone := filepath.Join(t.TempDir(), "clone")
	repotest.Git(t, work, "clone", "-q", work, clone)
	if got := steps(t, clone, "side"); len(got) != 2 {
		t.Errorf("%d steps of the origin's branch, want 2", len(got))
	}
}

func TestALineageThatCannotBeReadIsTold(t *testing.T) {
	work := repotest.Init(t)
	repotest.Commit(t, work, "one", map[string]string{"a": "1"})
	repotest.Commit(t, work, "two", map[string]string{"a": "2"})
	shallow := filepath.Join(t.TempDir(), "shallow")
	repotest.Git(t, work, "clone", "-q", "--depth=1", "file://"+work, shallow)
	for _, c := range []struct{ name, location, branch, want string }{
		{"no such folder", filepath.Join(work, "none"), "main", "no such folder"},
		{"a folder that is no repository", t.TempDir(), "main", "not a Git repository"},
		{"no such branch", work, "ledger", "no such branch"},
		{"a name that is no branch", work, "../x", "no valid branch name"},
		{"a shallow clone", shallow, "main", "unshallow"},
		{"an empty repository", repotest.Init(t), "main", "no such branch"},
		{"nothing", "", "main", "no URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := repo.OpenLineage(t.Context(), repo.LineageOptions{Location: c.location, Branch: c.branch, MaxFile: 100})
			if err == nil {
				l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestALineageNamesAMissingObject(t *testing.T) {
	work := repotest.Init(t)
	repotest.Commit(t, work, "one", map[string]string{"a": "1"})
	two := repotest.Commit(t, work, "two", map[string]string{"b": "1"})
	repotest.Commit(t, work, "three", map[string]string{"c": "1"})
	repotest.Commit(t, work, "four", map[string]string{"d": "1"})
	remove := func(object string) {
		h := repotest.Git(t, work, "rev-parse", object)
		if err := os.Remove(filepath.Join(work, ".git", "objects", h[:2], h[2:])); err != nil {
			t.Fatal(err)
		}
	}
	errs := func() (out []string) {
		for _, s := range steps(t, work, "main") {
			text := "good"
			if s.Err != nil {
				text = s.Err.Error()
			}
			out = append(out, text)
		}
		return out
	}
	remove(two + "^{tree}")
	got := errs()
	if len(got) != 4 || got[0] != "good" || !strings.Contains(got[1], "not found") || !strings.Contains(got[2], "not known") || got[3] != "good" {
		t.Errorf("without the second tree: %q", got)
	}
	remove(two)
	got = errs()
	if len(got) != 2 || !strings.Contains(got[0], two) || got[1] != "good" {
		t.Errorf("without the second commit: %q", got)
	}
}

func TestACommitIsReadAsItIsStored(t *testing.T) {
	private, public := repotest.SSHKey(t, "ed25519", "")
	dir := repotest.Bare(t, map[string]string{"a.txt": "1\n"})
	r := open(t, repo.Options{URL: dir})
	head, err := r.Head("")
	if err != nil {
		t.Fatal(err)
	}
	commit, err := r.Commit(repo.Commit{
		Parent: head, Message: "Subject\n\nBody with  blanks \n\n\n", Author: holdfast, When: when, Signer: signerOf(t, private),
		Edits: []gitops.Edit{{Path: "b.txt", After: []byte("x")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Push(t.Context(), "main", commit, head); err != nil {
		t.Fatal(err)
	}
	all := steps(t, dir, "main")
	c := all[1].Commit
	if c.Hash != commit || c.Committer != holdfast || !c.When.Equal(when) || c.Parents[0] != head {
		t.Errorf("commit %+v", c)
	}
	// What verify-commit checks is what Payload holds.
	if out, err := repotest.VerifySSH(t, dir, commit, public); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw := repotest.Git(t, dir, "cat-file", "commit", commit) + "\n"
	if !strings.HasPrefix(c.Signature, "-----BEGIN SSH SIGNATURE-----\n") || strings.Contains(string(c.Payload), "SIGNATURE") || !strings.HasSuffix(raw, "\n\n"+c.Message) {
		t.Errorf("signature %q, payload %q", c.Signature, c.Payload)
	}
}

func TestARangeOfCommits(t *testing.T) {
	work := repotest.Init(t)
	one := repotest.Commit(t, work, "one", map[string]string{"a": "1"})
	repotest.Git(t, work, "tag", "v1")
	two := repotest.Commit(t, work, "two", map[string]string{"a": "2"})
	three := repotest.Commit(t, work, "three", map[string]string{"a": "3"})
	for _, c := range []struct {
		name, revisions string
		want            []string
	}{
		{"from a tag to a branch", "v1..main", []string{three, two}},
		{"to HEAD", "v1..", []string{three, two}},
		{"all that lead to a commit", two, []string{two, one}},
		{"none", "main..main", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := repo.Range(work, c.revisions)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range all {
				got = append(got, one.Hash)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, bad := range []string{"none..main", "main...v1", "v9"} {
		if _, err := repo.Range(work, bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestABranchStartsInARepositoryThatHasNone(t *testing.T) {
	private, public := repotest.SSHKey(t, "ed25519", "")
	empty := filepath.Join(t.TempDir(), "empty.git")
	repotest.Git(t, t.TempDir(), "init", "-q", "--bare", "-b", "main", empty)
	full := repotest.Bare(t, map[string]string{"a.txt": "1\n"})
	for name, dir := range map[string]string{"an empty one": empty, "one with another branch": full} {
		for _, over := range []string{"file", "http"} {
			t.Run(name+" over "+over, func(t *testing.T) {
				location, branch := dir, "holdfast/"+over
				if over == "http" {
					location = repotest.Serve(t, filepath.Dir(dir), "") + "/" + filepath.Base(dir)
					repotest.Git(t, dir, "config", "http.receivepack", "true")
				}
				options := repo.Options{URL: location, Branch: branch, OrNone: true, NamesOnly: true, Depth: 1}
				r := open(t, options)
				if r.Exists(branch) {
					t.Fatal("the branch is there already")
				}
				first, err := r.Commit(repo.Commit{Orphan: true, Message: "first", Author: holdfast, When: when, Signer: signerOf(t, private), Edits: []gitops.Edit{{Path: "x/1", After: []byte("1")}}})
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Push(t.Context(), branch, first, ""); err != nil {
					t.Fatal(err)
				}
				r = open(t, options)
				second, err := r.Commit(repo.Commit{Parent: branch, Message: "second", Author: holdfast, When: when, Signer: signerOf(t, private), Edits: []gitops.Edit{{Path: "x/2", After: []byte("2")}}})
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Push(t.Context(), branch, second, first); err != nil {
					t.Fatal(err)
				}
				if out, err := repotest.VerifySSH(t, dir, second, public); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				repotest.Git(t, dir, "fsck", "--strict", "--full")
				names, err := open(t, options).Names(branch)
				if diff := cmp.Diff([]string{"x/1", "x/2"}, names); diff != "" || err != nil {
					t.Error(diff, err)
				}
			})
		}
	}
}

// TestNamesAreReadWithoutContent: a server that filters sends no file, and what is committed on top is whole.
func TestNamesAreReadWithoutContent(t *testing.T) {
	private, _ := repotest.SSHKey(t, "ed25519", "")
	dir := repotest.Bare(t, map[string]string{"d/a.txt": strings.Repeat("content ", 1000), "d/b.txt": "b"})
	repotest.Git(t, dir, "config", "uploadpack.allowFilter", "true")
	repotest.Git(t, dir, "config", "http.receivepack", "true")
	url := repotest.Serve(t, filepath.Dir(dir), "") + "/" + filepath.Base(dir)
	r := open(t, repo.Options{URL: url, NamesOnly: true, Depth: 1})
	if _, err := r.Tree("main"); err == nil {
		t.Error("the content was read")
	}
	head, err := r.Head("main")
	if err != nil {
		t.Fatal(err)
	}
	commit, err := r.Commit(repo.Commit{Parent: head, Message: "more", Author: holdfast, When: when, Signer: signerOf(t, private), Edits: []gitops.Edit{{Path: "d/c.txt", After: []byte("c")}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Push(t.Context(), "main", commit, head); err != nil {
		t.Fatal(err)
	}
	if got := repotest.Git(t, dir, "ls-tree", "-r", "--name-only", "main"); got != "d/a.txt\nd/b.txt\nd/c.txt" {
		t.Errorf("files %q", got)
	}
	repotest.Git(t, dir, "fsck", "--strict", "--full")
}

var holdfast = repo.Person{Name: "Holdfast", Email: "holdfast@example.com"}

func signerOf(t *testing.T, private []byte) sign.Signer {
	t.Helper()
	s, err := sign.Load(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
