package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/bot"
	"holdfast/bot/forge/github"
	"holdfast/cmd/holdfast/config"
	"holdfast/gitops"
	"holdfast/gitops/repo"
)

// madeByGitHub makes commits in a bare repository as GitHub does for an App: by its login, with GitHub as committer.
type madeByGitHub struct {
	t    *testing.T
	bare string
	made []github.Commit
}

func (m *madeByGitHub) MakeCommit(_ context.Context, c github.Commit) (string, error) {
	m.made = append(m.made, c)
	dir := m.t.TempDir()
	git(m.t, dir, "clone", "--quiet", m.bare, ".")
	git(m.t, dir, "checkout", "--quiet", "--detach", c.Base)
	for _, e := range c.Edits {
		if err := os.WriteFile(filepath.Join(dir, e.Path), e.After, 0o600); err != nil {
			return "", err
		}
	}
	git(m.t, dir, "add", "--all")
	commit := exec.Command("git", "-C", dir, "commit", "--quiet", "--message="+c.Message)
	commit.Env = append(os.Environ(), "GIT_AUTHOR_NAME=holdfast-app[bot]", "GIT_AUTHOR_EMAIL=1+holdfast-app[bot]@users.noreply.github.com",
		"GIT_COMMITTER_NAME=GitHub", "GIT_COMMITTER_EMAIL=noreply@github.com")
	if out, err := commit.CombinedOutput(); err != nil {
		m.t.Fatalf("git commit: %v\n%s", err, out)
	}
	git(m.t, dir, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+c.Branch)
	return strings.TrimSpace(git(m.t, dir, "rev-parse", "HEAD")), nil
}

// TestTheForgeMakesTheCommitsOfPullRequests: the first, the next in its place, none where nothing changed, and none over
// what a person made.
func TestTheForgeMakesTheCommitsOfPullRequests(t *testing.T) {
	dir := t.TempDir()
	work, bare := filepath.Join(dir, "work"), filepath.Join(dir, "fleet.git")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "web.yaml"), []byte("replicas: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, work, "init", "--quiet", "--initial-branch=main")
	git(t, work, "add", "--all")
	git(t, work, "commit", "--quiet", "--message=Start")
	git(t, dir, "clone", "--quiet", "--bare", "work", "fleet.git")
	base := strings.TrimSpace(git(t, work, "rev-parse", "HEAD"))
	maker := &madeByGitHub{t: t, bare: bare}
	push := func(replicas string) (string, error) {
		t.Helper()
		sources, err := newSources([]string{fleetURL + "=" + bare}, &config.Config{}) // each run reads anew
		if err != nil {
			t.Fatal(err)
		}
		c := commits{sources: sources, author: repo.Person{Name: "Holdfast", Email: "holdfast@example.test"}}
		c.maker = func(context.Context, string) (commitMaker, string, error) { return maker, "holdfast-app[bot]", nil }
		return c.Push(t.Context(), bot.Proposal{Key: "aa", Repo: fleetURL, Branch: "holdfast/codify/web", Base: "main", BaseCommit: base, Message: "Codify\n\nHoldfast-Key: aa\n"},
			[]gitops.Edit{{Path: "web.yaml", Before: []byte("replicas: 2\n"), After: []byte("replicas: " + replicas + "\n")}})
	}
	first, err := push("5")
	if err != nil || len(maker.made) != 1 || maker.made[0].Head != "" || maker.made[0].Base != base {
		t.Fatalf("%v, made %+v", err, maker.made)
	}
	if again, err := push("5"); err != nil || again != first || len(maker.made) != 1 {
		t.Errorf("the same again: %s, %v, made %+v", again, err, maker.made)
	}
	second, err := push("6")
	if err != nil || len(maker.made) != 2 || maker.made[1].Head != first {
		t.Fatalf("%v, made %+v", err, maker.made)
	}
	clone := filepath.Join(dir, "clone")
	git(t, dir, "clone", "--quiet", "--branch=holdfast/codify/web", bare, clone)
	git(t, clone, "-c", "user.name=Alice", "-c", "user.email=alice@example.test", "commit", "--quiet", "--amend", "--no-edit", "--reset-author")
	git(t, clone, "push", "--quiet", "--force", "origin", "HEAD")
	if _, err := push("7"); err == nil || !strings.Contains(err.Error(), "was not made by Holdfast") || len(maker.made) != 2 {
		t.Errorf("over a person's commit on %s: %v, made %+v", second, err, maker.made)
	}
}
