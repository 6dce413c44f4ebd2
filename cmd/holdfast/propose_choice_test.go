package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// twoRepositories are two Applications with a source each, whose objects both drifted.
const twoRepositories = `
-- live.yaml --
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop}, data: {color: green}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: shop}, data: {color: green}}
-- one/apps/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: shop}
data: {color: red}
-- two/apps/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: shop}
data: {color: blue}
-- one.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: one, namespace: shop}
spec: {engine: none, managers: [deployer], repo: "https://git.test/one.git", path: apps}
-- two.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: two, namespace: shop}
spec: {engine: none, managers: [deployer], repo: "https://git.test/two.git", path: apps}
`

func TestAPatchIsOfOneRepository(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), twoRepositories)
	input := []string{
		"--live", filepath.Join(dir, "live.yaml"),
		"--git", "https://git.test/one.git=" + filepath.Join(dir, "one"), "--git", "https://git.test/two.git=" + filepath.Join(dir, "two"),
		"--application", filepath.Join(dir, "one.yaml"), "--application", filepath.Join(dir, "two.yaml"),
	}
	patch := slices.Concat([]string{"propose", "--dry-run", "--disposition", "codify", "-o", "patch"}, input)
	out, told, code := runAll(t, patch...)
	if code != 2 || out != "" {
		t.Errorf("both: exit %d, printed %q", code, out)
	}
	for _, want := range []string{"https://git.test/one.git, https://git.test/two.git", "--repository URL", "--finding ID"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q does not name %s", told, want)
		}
	}

	out, told, code = runAll(t, append(slices.Clone(patch), "--repository", "https://git.test/two.git")...)
	if code != 1 || !strings.Contains(out, "+data: {color: green}") {
		t.Fatalf("one: exit %d, %s\n%s", code, told, out)
	}
	cmd := exec.CommandContext(t.Context(), "git", "apply", "--check", "-")
	cmd.Dir, cmd.Stdin = filepath.Join(dir, "two"), strings.NewReader(out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("git apply: %v: %s", err, said)
	}

	var scanned scanJSON
	text, _, _ := runAll(t, slices.Concat([]string{"scan", "-o", "json"}, input)...)
	if err := json.Unmarshal([]byte(text), &scanned); err != nil || len(scanned.Findings) != 2 {
		t.Fatalf("%v, %d findings", err, len(scanned.Findings))
	}
	out, told, code = runAll(t, append(slices.Clone(patch), "--finding", scanned.Findings[0].ID)...)
	if code != 1 || strings.Count(out, "diff --git") != 1 {
		t.Errorf("by finding: exit %d, %s\n%s", code, told, out)
	}

	_, told, code = runAll(t, append(slices.Clone(patch), "--repository", "https://git.test/three.git")...)
	if code != 2 || !strings.Contains(told, "no Application has this source; there are https://git.test/one.git, https://git.test/two.git") {
		t.Errorf("an unknown one: exit %d, %s", code, told)
	}
}
