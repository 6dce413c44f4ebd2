package lab

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Branches makes many branches as Admin, each with a commit of its own on the default branch, by one push: Gitea runs
// its hooks, a process each, for every push.
func (r *GiteaRepository) Branches(t testing.TB, names ...string) {
	t.Helper()
	dir := t.TempDir()
	git := func(stdin string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		command.Env = append(r.gitea.environment(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0")
		command.Stdin = strings.NewReader(stdin)
		var errs bytes.Buffer
		command.Stderr = &errs
		out, err := command.Output()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, errs.String())
		}
		return strings.TrimSpace(string(out))
	}
	url := strings.Replace(r.URL(), "://", "://root:"+r.gitea.Token(t, Admin, "write:repository")+"@", 1)
	git("", "init", "--quiet", "--bare")
	git("", "fetch", "--quiet", "--depth=1", url, "HEAD")
	head := git("", "rev-parse", "FETCH_HEAD")
	var stream strings.Builder
	for _, name := range names {
		fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter Alice <alice@example.test> 1 +0000\ndata 6\nChange\nfrom %s\nM 100644 inline change.txt\ndata %d\n%s\n",
			name, head, len(name), name)
	}
	git(stream.String(), "fast-import", "--quiet")
	git("", "push", "--quiet", url, "refs/heads/*:refs/heads/*")
}
