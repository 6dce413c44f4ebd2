// Package repotest gives tests real Git repositories, a real Git server and real signing keys. The git, gpg and
// ssh-keygen of the machine are the judges of what Holdfast writes.
package repotest

import (
	"bytes"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Git runs git in dir, away from the user's own configuration, and gives its output without the last line
// break. A failure ends the test.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := TryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

// TryGit is Git for commands that may fail; the output is of both streams.
func TryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=alice", "GIT_AUTHOR_EMAIL=alice@example.com",
		"GIT_COMMITTER_NAME=alice", "GIT_COMMITTER_EMAIL=alice@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Init makes a repository with a worktree on branch main.
func Init(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	Git(t, dir, "init", "-q", "-b", "main")
	return dir
}

// Write puts files into a worktree.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Commit writes files, adds everything and commits; it gives the commit.
func Commit(t testing.TB, dir, message string, files map[string]string) string {
	t.Helper()
	Write(t, dir, files)
	Git(t, dir, "add", "-A")
	Git(t, dir, "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", message)
	return Git(t, dir, "rev-parse", "HEAD")
}

// Bare makes a bare repository whose branch main holds files in one commit.
func Bare(t testing.TB, files map[string]string) (dir string) {
	t.Helper()
	work := Init(t)
	Commit(t, work, "first", files)
	return BareOf(t, work)
}

// BareOf makes a bare copy with all branches and tags.
func BareOf(t testing.TB, work string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "repo.git")
	Git(t, work, "clone", "-q", "--bare", "--no-hardlinks", work, dir)
	return dir
}

// Serve serves the repositories below root over smart HTTP on loopback, and takes pushes. With a password, user
// "bot" must authenticate.
func Serve(t testing.TB, root, password string) (url string) {
	t.Helper()
	execPath := Git(t, root, "--exec-path")
	backend := &cgi.Handler{
		Path:   filepath.Join(execPath, "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bot", "GIT_CONFIG_GLOBAL=/dev/null"},
		Stderr: &bytes.Buffer{},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, ok := r.BasicAuth(); password != "" && given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			if ok {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
