package repo_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
)

func TestATreeHasEveryFileAsCommitted(t *testing.T) {
	inner := repotest.Init(t)
	repotest.Commit(t, inner, "inner", map[string]string{"x": "x"})
	work := repotest.Init(t)
	repotest.Write(t, work, map[string]string{
		"apps/shop/deploy.yaml": "a: 1\r\nb: 2\r\n",
		"apps/empty.yaml":       "",
		"no newline":            "x",
		"über/naïve \t名前.yaml":  "ok\n",
		"run.sh":                "#!/bin/sh\n",
	})
	if err := os.Chmod(filepath.Join(work, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../run.sh", filepath.Join(work, "apps/link")); err != nil {
		t.Fatal(err)
	}
	repotest.Git(t, work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "vendored")
	repotest.Git(t, work, "rm", "-q", "--cached", ".gitmodules")
	if err := os.Remove(filepath.Join(work, ".gitmodules")); err != nil {
		t.Fatal(err)
	}
	repotest.Commit(t, work, "all", nil)

	r := open(t, repo.Options{URL: work})
	tree, err := r.Tree("")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]gitops.File{
		"apps/shop/deploy.yaml": {Data: []byte("a: 1\r\nb: 2\r\n")},
		"apps/empty.yaml":       {Data: []byte{}},
		"no newline":            {Data: []byte("x")},
		"über/naïve \t名前.yaml":  {Data: []byte("ok\n")},
		"run.sh":                {Mode: gitops.Executable, Data: []byte("#!/bin/sh\n")},
		"apps/link":             {Mode: gitops.Symlink, Data: []byte("../run.sh")},
	}
	if diff := cmp.Diff(want, files(tree)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}

	// A folder without a repository reads the same, from the working files.
	if err := os.RemoveAll(filepath.Join(work, "vendored")); err != nil {
		t.Fatal(err)
	}
	folder, err := repo.Folder(work, repo.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, files(folder)); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
}

func TestRevisionsResolve(t *testing.T) {
	work := repotest.Init(t)
	first := repotest.Commit(t, work, "first", map[string]string{"a": "1"})
	repotest.Git(t, work, "tag", "light")
	repotest.Git(t, work, "tag", "-a", "-m", "annotated", "v1.0.0")
	second := repotest.Commit(t, work, "second", map[string]string{"a": "2"})
	repotest.Git(t, work, "checkout", "-q", "-b", "feature/x")
	feature := repotest.Commit(t, work, "feature", map[string]string{"a": "3"})
	repotest.Git(t, work, "checkout", "-q", "--detach", first)
	aside := repotest.Commit(t, work, "no branch has this", map[string]string{"a": "4"})
	repotest.Git(t, work, "tag", "aside")
	aside2 := repotest.Commit(t, work, "nor this", map[string]string{"a": "5"})
	repotest.Git(t, work, "tag", "-a", "-m", "annotated", "aside2")
	pull := repotest.Commit(t, work, "nor this", map[string]string{"a": "6"})
	repotest.Git(t, work, "update-ref", "refs/pull/7/head", pull)
	repotest.Git(t, work, "checkout", "-q", "main")
	bare := repotest.BareOf(t, work)
	repotest.Git(t, work, "push", "-q", bare, "refs/pull/7/head")
	base := repotest.Serve(t, filepath.Dir(bare), "")

	for _, where := range []struct{ name, url string }{
		{"of a folder", work}, {"of a file URL", "file://" + bare}, {"over http", base + "/repo.git"},
	} {
		t.Run(where.name, func(t *testing.T) {
			// A depth of one, so that most of them have to be fetched.
			r := open(t, repo.Options{URL: where.url, Depth: 1})
			for _, c := range []struct{ name, rev, want string }{
				{"nothing is HEAD", "", second},
				{"HEAD", "HEAD", second},
				{"a branch", "main", second},
				{"another branch with a slash", "feature/x", feature},
				{"a full ref", "refs/heads/feature/x", feature},
				{"a light tag", "light", first},
				{"an annotated tag", "v1.0.0", first},
				{"a tag as a full ref", "refs/tags/v1.0.0", first},
				{"a full commit", first, first},
				{"a commit that only a tag holds", aside, aside},
				{"an annotated tag whose commit no branch holds", "aside2", aside2},
				{"a commit that only an annotated tag holds", aside2, aside2},
				{"a ref that is neither branch nor tag", "refs/pull/7/head", pull},
				{"a short commit", second[:9], second},
				{"what Flux applied from a branch", "main@sha1:" + first, first},
				{"what Flux applied from a tag", "v1.0.0@sha1:" + first, first},
				{"what Flux applied from a commit", "sha1:" + first, first},
				{"what old Flux applied", "main/" + first, first},
				{"what old Flux applied from a branch with a slash", "feature/x/" + feature, feature},
			} {
				got, err := r.Resolve(c.rev)
				if err != nil || got != c.want {
					t.Errorf("%s: Resolve(%q) = %s, %v; want %s", c.name, c.rev, got, err, c.want)
				}
				if _, err := r.Tree(c.rev); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			for _, c := range []struct{ name, rev string }{
				{"an unknown branch", "nope"},
				{"a commit that is nowhere", strings.Repeat("ab", 20)},
				{"a short commit that is nowhere", "abcdef1"},
				{"an OCI digest", "latest@sha256:" + strings.Repeat("ab", 32)},
			} {
				if got, err := r.Resolve(c.rev); !errors.Is(err, repo.ErrNotFound) || !strings.Contains(err.Error(), c.rev) {
					t.Errorf("%s: Resolve(%q) = %s, %v; want ErrNotFound that names it", c.name, c.rev, got, err)
				}
			}
			if got, err := r.DefaultBranch(); got != "main" || err != nil {
				t.Errorf("default branch is %q, %v", got, err)
			}
			if got, err := r.Head("feature/x"); got != feature || err != nil {
				t.Errorf("head of feature/x is %q, %v", got, err)
			}
			if _, err := r.Head("nope"); !errors.Is(err, repo.ErrNotFound) || !strings.Contains(err.Error(), "feature/x, main") {
				t.Errorf("error is %v, want ErrNotFound with the branches that there are", err)
			}
		})
	}
}

func TestHistoryIsThatOfGit(t *testing.T) {
	work := repotest.Init(t)
	repotest.Commit(t, work, "1", map[string]string{"apps/a/x": "1", "apps/b/x": "1"})
	repotest.Commit(t, work, "2", map[string]string{"apps/b/x": "2"})
	repotest.Commit(t, work, "3", map[string]string{"apps/a/deep/er/y": "1"})
	repotest.Git(t, work, "checkout", "-q", "-b", "side")
	repotest.Commit(t, work, "side 1", map[string]string{"apps/a/x": "side"})
	repotest.Commit(t, work, "side 2", map[string]string{"apps/a/x": "side 2"})
	repotest.Git(t, work, "checkout", "-q", "main")
	repotest.Commit(t, work, "4", map[string]string{"other": "1"})
	repotest.Git(t, work, "merge", "-q", "--no-ff", "-m", "merge", "side")
	repotest.Git(t, work, "mv", "apps/a/deep/er/y", "apps/b/y")
	repotest.Commit(t, work, "moved away", nil)
	repotest.Git(t, work, "rm", "-q", "apps/a/x")
	repotest.Commit(t, work, "removed", nil)
	repotest.Commit(t, work, "a file becomes a folder", map[string]string{"apps/a/x/z": "1"})

	for _, depth := range []int{0, 2} {
		r := open(t, repo.Options{URL: work, Depth: depth})
		for _, below := range []string{"apps/a", "apps/b", "other", "none"} {
			want := strings.Fields(repotest.Git(t, work, "log", "--first-parent", "--format=%H", "--", below))
			got, err := r.History("main", func(p string) bool { return p == below || strings.HasPrefix(p, below+"/") }, 20)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, append([]string{}, got...)); diff != "" {
				t.Errorf("depth %d, history of %s (-git +got):\n%s", depth, below, diff)
			}
		}
		got, err := r.History("main", func(string) bool { return true }, 2)
		if err != nil || len(got) != 2 {
			t.Errorf("a limit of 2 gives %d commits, %v", len(got), err)
		}
	}
}

func TestHistoryOfARemoteEndsWithItsDepth(t *testing.T) {
	work := repotest.Init(t)
	for _, v := range []string{"1", "2", "3", "4", "5"} {
		repotest.Commit(t, work, v, map[string]string{"a": v})
	}
	bare := repotest.BareOf(t, work)
	r := open(t, repo.Options{URL: repotest.Serve(t, filepath.Dir(bare), "") + "/repo.git", Depth: 3})
	got, err := r.History("main", func(string) bool { return true }, 20)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(repotest.Git(t, work, "log", "--format=%H", "-2"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestAShallowCheckoutIsRead(t *testing.T) {
	work := repotest.Init(t)
	repotest.Commit(t, work, "1", map[string]string{"a": "1"})
	second := repotest.Commit(t, work, "2", map[string]string{"a": "2"})
	shallow := filepath.Join(t.TempDir(), "shallow")
	repotest.Git(t, work, "clone", "-q", "--depth", "1", "file://"+work, shallow)
	r := open(t, repo.Options{URL: shallow})
	if got, err := r.Resolve("main"); got != second || err != nil {
		t.Errorf("main is %s, %v; want %s", got, err, second)
	}
	if _, err := r.History("main", func(string) bool { return true }, 20); err != nil {
		t.Errorf("history: %v", err)
	}
}

func TestWhatCannotBeOpenedIsTold(t *testing.T) {
	empty := repotest.Init(t)
	plain := t.TempDir()
	repotest.Write(t, plain, map[string]string{"file": "x"})
	bare := repotest.Bare(t, map[string]string{"a": "1"})
	root := filepath.Dir(bare)
	open := repotest.Serve(t, root, "")
	guarded := repotest.Serve(t, root, "s3cret-token")
	page := serveText(t, "<html>s3cret</html>")
	sha256 := filepath.Join(t.TempDir(), "sha256")
	repotest.Git(t, plain, "init", "-q", "-b", "main", "--object-format=sha256", sha256)
	repotest.Commit(t, sha256, "1", map[string]string{"a": "1"})

	for _, c := range []struct {
		name    string
		options repo.Options
		want    error
		says    []string
	}{
		{"a folder that is no repository", repo.Options{URL: plain}, repo.ErrNotRepository, []string{plain, "git init"}},
		{"a file", repo.Options{URL: filepath.Join(plain, "file")}, repo.ErrNotRepository, []string{"it is a file"}},
		{"a missing folder", repo.Options{URL: filepath.Join(plain, "none")}, repo.ErrNotFound, []string{"none", "no such folder"}},
		{"an empty repository", repo.Options{URL: empty}, repo.ErrEmpty, []string{empty, "push a first commit"}},
		{"a missing branch", repo.Options{URL: bare, Branch: "nope"}, repo.ErrNotFound, []string{"nope", "the repository has main"}},
		{"a missing repository over http", repo.Options{URL: open + "/none.git"}, repo.ErrNotFound, []string{open + "/none.git", "check the URL"}},
		{"no credentials", repo.Options{URL: guarded + "/repo.git"}, repo.ErrDenied, []string{"configure a user name and token"}},
		{"wrong credentials", repo.Options{URL: guarded + "/repo.git", Auth: repo.Auth{Password: "s3cret-wrong"}}, repo.ErrDenied, []string{"lack the right"}},
		{"wrong credentials in the URL", repo.Options{URL: strings.Replace(guarded, "://", "://s3cret-user:s3cret-pass@", 1) + "/repo.git"}, repo.ErrDenied, []string{"/repo.git"}},
		{"credentials in a URL that cannot be parsed", repo.Options{URL: "https://s3cret-user:s3cret%zz@host/x"}, nil, []string{"host/x"}},
		{"credentials and nobody listening", repo.Options{URL: "http://s3cret-user:s3cret-pass@127.0.0.1:1/x.git"}, nil, []string{"127.0.0.1:1/x.git", "cannot be reached", "refused"}},
		{"an unknown scheme", repo.Options{URL: "ftp://s3cret-user:s3cret-pass@host/x"}, nil, []string{"ftp", "use a path, file, http"}},
		{"a file URL with two slashes", repo.Options{URL: "file://srv/git"}, nil, []string{"three slashes"}},
		{"nothing", repo.Options{}, nil, []string{"no URL"}},
		{"ssh without a key", repo.Options{URL: "git@127.0.0.1:x.git"}, repo.ErrDenied, []string{"private key"}},
		{"too many bytes", repo.Options{URL: bare, MaxBytes: 10}, repo.ErrTooLarge, []string{"10 bytes", "raise the limit"}},
		{"a SHA-256 repository", repo.Options{URL: sha256}, nil, []string{sha256, "SHA-256, which is not supported"}},
		{"a web page", repo.Options{URL: page}, nil, []string{"not Git's protocol"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := repo.Open(context.Background(), c.options)
			if err == nil {
				t.Fatal("it opens")
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
			for _, says := range c.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("error does not say %q: %v", says, err)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error shows credentials: %v", err)
			}
			t.Log(err)
		})
	}
}

func TestASilentServerIsLeftAfterTheTimeLimit(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = repo.Open(context.Background(), repo.Options{URL: "http://" + listener.Addr().String() + "/x.git", Timeout: 300 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "time limit") {
		t.Errorf("error is %v, want a deadline", err)
	}
}

func TestATokenOpensAGuardedRepository(t *testing.T) {
	bare := repotest.Bare(t, map[string]string{"a": "1"})
	base := repotest.Serve(t, filepath.Dir(bare), "token")
	for _, o := range []repo.Options{
		{URL: base + "/repo.git", Auth: repo.Auth{Password: "token"}},
		{URL: base + "/repo.git", Auth: repo.Auth{Username: "bot", Password: "token"}},
		{URL: strings.Replace(base, "://", "://bot:token@", 1) + "/repo.git"},
	} {
		r := open(t, o)
		if strings.Contains(r.URL(), "token") {
			t.Errorf("the URL shows credentials: %s", r.URL())
		}
	}
}

func TestSizesAreBoundedBeforeAnythingIsUnpacked(t *testing.T) {
	work := repotest.Init(t)
	zeros := strings.Repeat("0", 4<<20)
	repotest.Commit(t, work, "a bomb", map[string]string{"a": zeros})
	repotest.Commit(t, work, "a delta bomb", map[string]string{"a": zeros, "b": zeros + "1"})
	repotest.Git(t, work, "gc", "-q")
	if _, err := repo.Open(context.Background(), repo.Options{URL: work, MaxBytes: 5 << 20}); !errors.Is(err, repo.ErrTooLarge) {
		t.Errorf("error is %v, want ErrTooLarge", err)
	}
	open(t, repo.Options{URL: work, MaxBytes: 10 << 20})
	many := repotest.Init(t)
	repotest.Commit(t, many, "three files", map[string]string{"a": "1", "b": "2", "c/d": "3"})
	if _, err := open(t, repo.Options{URL: many, MaxFiles: 2}).Tree("main"); !errors.Is(err, repo.ErrTooLarge) || !strings.Contains(err.Error(), "2 files") {
		t.Errorf("error is %v, want ErrTooLarge with the limit", err)
	}
	if _, err := repo.Folder(many, repo.Limits{Files: 2}); !errors.Is(err, repo.ErrTooLarge) {
		t.Errorf("error is %v, want ErrTooLarge", err)
	}
	if _, err := repo.Folder(work, repo.Limits{Bytes: 5 << 20}); !errors.Is(err, repo.ErrTooLarge) {
		t.Errorf("error is %v, want ErrTooLarge", err)
	}
}

func TestAFolderThatIsNoneIsTold(t *testing.T) {
	dir := t.TempDir()
	repotest.Write(t, dir, map[string]string{"file": "x"})
	for _, name := range []string{"none", "file"} {
		if _, err := repo.Folder(filepath.Join(dir, name), repo.Limits{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Folder(%s): %v, want an error that names it", name, err)
		}
	}
}

func serveText(t *testing.T, text string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func open(t *testing.T, o repo.Options) *repo.Repository {
	t.Helper()
	r, err := repo.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func files(tree gitops.Tree) map[string]gitops.File {
	out := map[string]gitops.File{}
	for _, name := range tree.Paths(".") {
		out[name], _ = tree.File(name)
	}
	return out
}
