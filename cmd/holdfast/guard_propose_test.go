package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// guardRepository is a repository with a folder as its forge, and the arguments with which guard proposes to it.
func guardRepository(t *testing.T, files map[string]string) (bare, work string, args []string) {
	t.Helper()
	const url = "https://git.example.test/fleet.git"
	dir := t.TempDir()
	all := map[string]string{"key": newKey(t), "holdfast.yaml": `apiVersion: holdfast/v1
kind: Config
clusters: [{name: north}]
repositories:
  - url: ` + url + `
    clusters: [north]
    namespaces: ['*']
    forge: {type: folder, path: forge}
signing: {keyFile: key, name: Holdfast, email: holdfast@example.test}
`}
	for name, text := range files {
		all["work/"+name] = text
	}
	for name, text := range all {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	work, bare = filepath.Join(dir, "work"), filepath.Join(dir, "fleet.git")
	git(t, work, "init", "--quiet", "--initial-branch=main")
	git(t, work, "add", "--all")
	git(t, work, "commit", "--quiet", "--message=Start")
	git(t, dir, "clone", "--quiet", "--bare", "work", "fleet.git")
	args = append([]string{"guard", "--config", filepath.Join(dir, "holdfast.yaml"), "--git", url + "=" + bare}, guardDump(t, dumpedRoles, dumpedWeb, alicesBinding)...)
	return bare, work, args
}

func TestGuardProposesWhatItPrints(t *testing.T) {
	bare, work, args := guardRepository(t, map[string]string{"clusters/north/kustomization.yaml": "resources: [shop.yaml]\n", "clusters/north/shop.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\n"})
	printed, _ := holdfast(t, append(args, "-o", "yaml")...)
	propose := append(args, "--propose", "clusters/north/guard.yaml")
	out, code := holdfast(t, propose...)
	if code != 1 || !strings.HasPrefix(out, "open ") || !strings.Contains(out, "Guard what is applied from Git on north") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	branch := strings.TrimSpace(git(t, bare, "for-each-ref", "--format=%(refname:short)", "refs/heads/holdfast/guard-*"))
	if got := git(t, bare, "show", branch+":clusters/north/guard.yaml"); strings.TrimSpace(got) != strings.TrimSpace(printed) || printed == "" {
		t.Errorf("the branch %s has\n%s\nand not what -o yaml prints", branch, got)
	}
	if got := git(t, bare, "log", "-1", "--format=%an %GK %B", branch); !strings.Contains(got, "Holdfast-Key: ") {
		t.Errorf("the commit: %s", got)
	}
	if got := git(t, bare, "cat-file", "commit", branch); !strings.Contains(got, "BEGIN SSH SIGNATURE") {
		t.Errorf("the commit is not signed: %s", got)
	}
	var body string
	forge := filepath.Join(filepath.Dir(bare), "forge")
	if err := filepath.WalkDir(forge, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			data, err := os.ReadFile(name)
			body += string(data)
			return err
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"User alice", "clusters/north/kustomization.yaml lists the files of this folder", "holdfast/break-glass", "Ways to change them past the pipeline that are open to people: 1."} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the pull request", want)
		}
	}
	if out, code := holdfast(t, propose...); code != 1 || !strings.HasPrefix(out, "nothing ") {
		t.Errorf("a second time: exit %d\n%s", code, out)
	}
	git(t, work, "fetch", "--quiet", bare, branch)
	git(t, work, "merge", "--quiet", "FETCH_HEAD")
	git(t, work, "push", "--quiet", bare, "HEAD:main")
	if out, code := holdfast(t, propose...); code != 1 || !strings.Contains(out, "has them already") {
		t.Errorf("once merged: exit %d\n%s", code, out)
	}
}

func TestGuardRefusesToProposeElsewhere(t *testing.T) {
	_, _, args := guardRepository(t, map[string]string{"README.md": "Fleet\n"})
	for _, c := range []struct{ flag, want string }{
		{"--propose=../guard.yaml", "want a .yaml file in the repository"},
		{"--propose=/etc/guard.yaml", "want a .yaml file in the repository"},
		{"--propose=.github/workflows/guard.yaml", "want a .yaml file in the repository"},
		{"--propose=guard.sh", "want a .yaml file in the repository"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append(args, c.flag), testStreams(&out, &errs)); code != 2 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d\n%s%s", c.flag, code, out.String(), errs.String())
		}
	}
}
