package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs the real client in a folder, without anyone's settings.
func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Bob", "GIT_AUTHOR_EMAIL=bob@example.test", "GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.test"}
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestGitServer(t *testing.T) {
	tests := []struct {
		name        string
		options     GitOptions
		credentials string // user:password@ of the client
		clones      bool
		pushes      bool
	}{
		{"everyone reads and pushes when no credentials are set", GitOptions{}, "", true, true},
		{"a push without credentials is refused, a read is not", GitOptions{Username: "bot", Password: "s3cret"}, "", true, false},
		{"a push with credentials passes", GitOptions{Username: "bot", Password: "s3cret"}, "bot:s3cret@", true, true},
		{"a push with a wrong password is refused", GitOptions{Username: "bot", Password: "s3cret"}, "bot:wrong@", true, false},
		{"a private repository needs credentials to be read", GitOptions{Username: "bot", Password: "s3cret", Private: true}, "", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := GitServer(t, test.options)
			url := server.Create(t, "shop", map[string]string{"a/b.yaml": "a: 1\n"})
			url = strings.Replace(url, "http://", "http://"+test.credentials, 1)
			home := t.TempDir()
			out, err := git(t, home, "-c", "credential.helper=", "clone", "--quiet", url, "clone")
			if (err == nil) != test.clones {
				t.Fatalf("clone: %v\n%s", err, out)
			}
			if !test.clones {
				return
			}
			clone := filepath.Join(home, "clone")
			// more than http.postBuffer (1 MiB), so that git sends the pack in chunks
			big := make([]byte, 3<<20)
			for i := range big {
				big[i] = byte(i * i >> 7)
			}
			if err := os.WriteFile(filepath.Join(clone, "big"), big, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"add", "big"}, {"commit", "--quiet", "-m", "Add"}} {
				if out, err := git(t, clone, args...); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			out, err = git(t, clone, "-c", "core.compression=0", "push", "--quiet", "origin", "HEAD:refs/heads/proposal")
			if (err == nil) != test.pushes {
				t.Errorf("push: %v\n%s", err, out)
			}
		})
	}
}

func TestCommit(t *testing.T) {
	server := GitServer(t, GitOptions{})
	server.Create(t, "shop", Files("-- a.yaml --\na: 1\n-- dir/b.yaml --\nb: 1\n"))
	first := server.Git(t, "shop", "rev-parse", "main")
	hash := server.Commit(t, "shop", "staging", "Change a\n\nand say why", map[string]string{"a.yaml": "a: 2\n", "with blank.yaml": ""}, "dir")
	if got := server.Git(t, "shop", "rev-parse", hash+"^"); got != first {
		t.Errorf("the new branch starts at %s, not at main's %s", got, first)
	}
	if got := server.Git(t, "shop", "ls-tree", "-r", "--name-only", "staging"); got != "a.yaml\nwith blank.yaml" {
		t.Errorf("files: %q", got)
	}
	if got := server.Git(t, "shop", "show", "staging:a.yaml"); got != "a: 2" {
		t.Errorf("a.yaml: %q", got)
	}
	if got := server.Git(t, "shop", "rev-parse", "main"); got != first {
		t.Errorf("main moved to %s", got)
	}
}
