package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/bot"
	"holdfast/deploy/lab"
)

// movedFiles are a repository whose one ConfigMap drifts, and another file that people work on.
const movedFiles = `
-- .holdfast.yaml --
apiVersion: holdfast/v1
kind: Policy
rules: [{name: live wins, drift: true, disposition: codify}]
-- app/settings.yaml --
# Who we are.
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: shop
data:
  # seen by customers
  color: red
  size: "1"
  a: "1"
  b: "1"
  c: "1"
  d: "1"
-- app/other.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: shop}
data: {a: "1"}
`

const movedLive = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: settings
    namespace: shop
    managedFields:
    - {manager: deployer, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:size': {}}}}
    - {manager: kubectl-edit, operation: Update, apiVersion: v1, time: "2026-11-02T09:00:00Z", fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:color': {}}}}
  data: {color: green, size: "1", a: "1", b: "1", c: "1", d: "1"}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shop}, data: {a: "1"}}
`

// newMoved is a shop whose cluster is a dump.
func newMoved(t *testing.T) *shop {
	t.Helper()
	s := &shop{git: lab.GitServer(t, lab.GitOptions{}), name: "shop"}
	s.git.Create(t, shopRepository, lab.Files(movedFiles))
	dir := t.TempDir()
	s.sign(t, dir)
	writeYAMLFile(t, s.config, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Config", "clusters": []any{map[string]any{"name": "north", "tier": "production"}},
		"repositories": []any{map[string]any{
			"url": s.git.URL(shopRepository), "clusters": []any{"north"}, "namespaces": []any{"shop"}, "forge": map[string]any{"type": "folder", "path": "forge"},
		}},
		"signing": map[string]any{"keyFile": "key", "name": "Holdfast", "email": "holdfast@example.test"},
	})
	application, live := filepath.Join(dir, "application.yaml"), filepath.Join(dir, "live.yaml")
	writeYAMLFile(t, application, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Application", "metadata": map[string]any{"name": "shop", "namespace": "shop"},
		"spec": map[string]any{"engine": "none", "managers": []any{"deployer"}, "repo": s.git.URL(shopRepository), "path": "app"},
	})
	writeFile(t, live, movedLive)
	s.flags = []string{"--live", live, "--application", application}
	return s
}

// push makes a person's commit on a branch.
func (s *shop) push(t *testing.T, branch string, change func(dir string)) {
	t.Helper()
	dir := s.clone(t)
	git(t, dir, "checkout", "--quiet", branch)
	change(dir)
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message=More")
	git(t, dir, "push", "--quiet", "origin", branch)
}

// edit changes a text in a file.
func edit(t *testing.T, name, old, new string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s has no %q", name, old)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(data), old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) commit(t *testing.T, rev string) string {
	t.Helper()
	return strings.TrimSpace(s.git.Git(t, shopRepository, "rev-parse", rev))
}

func TestAPullRequestFollowsItsBase(t *testing.T) {
	s := newMoved(t)
	s.propose(t, 1)
	pulls := s.threads(t, bot.AsPullRequest)
	if len(pulls) != 1 {
		t.Fatalf("pull requests: %+v", pulls)
	}
	first := pulls[0]
	s.still(t, 1)

	rebuilt := func(t *testing.T, want string) {
		t.Helper()
		out := s.propose(t, 1)
		if !strings.Contains(out, "update") {
			t.Errorf("it does not say that it updates:\n%s", out)
		}
		pulls := s.threads(t, bot.AsPullRequest)
		if len(pulls) != 1 || pulls[0].Number != first.Number || pulls[0].State != bot.Open {
			t.Fatalf("pull requests: %+v", pulls)
		}
		if got := s.commit(t, first.Branch+"^"); got != s.commit(t, "main") {
			t.Errorf("the branch rests on %s, main is at %s", got, s.commit(t, "main"))
		}
		if !strings.Contains(pulls[0].Body, s.commit(t, "main")[:12]) {
			t.Errorf("the body does not name the commit that it was proven on:\n%s", pulls[0].Body)
		}
		if got := s.git.Git(t, shopRepository, "show", first.Branch+":app/settings.yaml"); !strings.Contains(got, want) {
			t.Errorf("the branch has\n%s\nwant in it\n%s", got, want)
		}
		s.verify(t, first.Branch)
		s.still(t, 1)
	}
	t.Run("nothing that it rests on changed", func(t *testing.T) {
		s.push(t, "main", func(dir string) {
			edit(t, filepath.Join(dir, "app", "other.yaml"), `data: {a: "1"}`, `data: {a: "1"} # one`)
		})
		s.still(t, 1)
	})
	t.Run("another file of the Application changed", func(t *testing.T) {
		s.push(t, "main", func(dir string) {
			edit(t, filepath.Join(dir, "app", "other.yaml"), `data: {a: "1"}`, `data: {a: "2"}`)
		})
		edit(t, s.flags[1], `data: {a: "1"}}`, `data: {a: "2"}}`)
		rebuilt(t, "  # seen by customers\n  color: green\n  size: \"1\"\n")
	})
	t.Run("the same file changed around it", func(t *testing.T) {
		s.push(t, "main", func(dir string) {
			edit(t, filepath.Join(dir, "app", "settings.yaml"), "  # seen by customers\n", "  # for customers\n  # and us\n")
		})
		rebuilt(t, "  # for customers\n  # and us\n  color: green\n  size: \"1\"\n")
	})
	t.Run("a person's push is never overwritten", func(t *testing.T) {
		made := s.commit(t, first.Branch)
		s.push(t, first.Branch, func(dir string) { writeFile(t, filepath.Join(dir, "NOTES.md"), "Ask Bob.\n") })
		mine := s.commit(t, first.Branch)
		s.push(t, "main", func(dir string) { edit(t, filepath.Join(dir, "app", "settings.yaml"), "# and us", "# and you") })
		out := s.propose(t, 2)
		if !strings.Contains(out, "was not made by Holdfast: it is left as it is") || s.commit(t, first.Branch) != mine {
			t.Errorf("the branch is at %s, not at %s:\n%s", s.commit(t, first.Branch), mine, out)
		}
		s.git.Git(t, shopRepository, "update-ref", "refs/heads/"+first.Branch, made)
		rebuilt(t, "color: green")
	})
	t.Run("the base has the value", func(t *testing.T) {
		s.push(t, "main", func(dir string) { edit(t, filepath.Join(dir, "app", "settings.yaml"), "color: red", "color: green") })
		s.propose(t, 0)
		pulls := s.threads(t, bot.AsPullRequest)
		if len(pulls) != 1 || pulls[0].State != bot.Closed || !strings.Contains(s.files(t)["pull-requests/1.md"], "the base branch has the value already") {
			t.Errorf("pull requests: %+v\n%v", pulls, s.files(t))
		}
		s.still(t, 0)
	})
}

func TestAPullRequestWhosePlaceIsGoneIsClosed(t *testing.T) {
	s := newMoved(t)
	s.propose(t, 1)
	s.push(t, "main", func(dir string) {
		if err := os.Remove(filepath.Join(dir, "app", "settings.yaml")); err != nil {
			t.Fatal(err)
		}
	})
	s.propose(t, 0)
	pulls := s.threads(t, bot.AsPullRequest)
	if len(pulls) != 1 || pulls[0].State != bot.Closed {
		t.Errorf("pull requests: %+v", pulls)
	}
	text := ""
	for _, data := range s.files(t) {
		text += data
	}
	if !strings.Contains(text, "the base branch went on, and what this changes does not read there any more") {
		t.Errorf("no reason is given:\n%s", text)
	}
	s.still(t, 0)
}
