package github_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot/forge"
	"holdfast/bot/forge/github"
	"holdfast/gitops"
)

func TestGitHubMakesCommitsThatItSigns(t *testing.T) {
	f := newFake(t)
	base := f.addCommit(f.branches["main"], map[string]file{
		"README.md": {"# Shop\n", "100644"}, "run.sh": {"#!/bin/sh\n", "100755"}, "old.yaml": {"x: 1\n", "100644"},
	})
	f.branches["main"] = base
	app := open(t, f, github.Options{App: &github.App{ID: 5, PrivateKey: appKey(t)}})
	commit := github.Commit{Branch: "holdfast/x", Base: base, Message: "codify: replicas\n", Edits: []gitops.Edit{
		{Path: "run.sh", Before: []byte("#!/bin/sh\n"), After: []byte("#!/bin/sh\nexit 0\n")},
		{Path: "apps/größer.yaml", After: []byte("replicas: 5\n\x00")},
		{Path: "old.yaml", Before: []byte("x: 1\n"), Remove: true},
	}}
	first, err := app.MakeCommit(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]file{"README.md": {"# Shop\n", "100644"}, "run.sh": {"#!/bin/sh\nexit 0\n", "100755"}, "apps/größer.yaml": {"replicas: 5\n\x00", "100644"}}
	if diff := cmp.Diff(want, f.trees[f.commits[first].tree], cmp.AllowUnexported(file{})); diff != "" || f.branches["holdfast/x"] != first || f.commits[first].parent != base {
		t.Errorf("branch is at %s, commit %s has parent %s, files (-want +got):\n%s", f.branches["holdfast/x"], first, f.commits[first].parent, diff)
	}

	// New content takes the place of the old, on the same base.
	commit.Head, commit.Message = first, "codify: more replicas\n"
	second, err := app.MakeCommit(t.Context(), commit)
	if err != nil || second == first || f.branches["holdfast/x"] != second {
		t.Errorf("second commit is %s, %v; branch is at %s", second, err, f.branches["holdfast/x"])
	}

	for name, c := range map[string]struct {
		change func(*github.Commit)
		says   string
	}{
		"a branch that somebody else moved":      {func(c *github.Commit) { c.Head = first }, "somebody moved it"},
		"a branch that is there already":         {func(c *github.Commit) { c.Head = "" }, "already exists"},
		"no edits":                               {func(c *github.Commit) { c.Edits = nil }, "no edits"},
		"a path that leaves the repository":      {func(c *github.Commit) { c.Edits = []gitops.Edit{{Path: "../x"}} }, "no path of a file"},
		"a removed file that is not there":       {func(c *github.Commit) { c.Edits = []gitops.Edit{{Path: "none", Remove: true}} }, "none is not in tree"},
		"a commit on a base that does not exist": {func(c *github.Commit) { c.Base = strings.Repeat("0", 40) }, "not found"},
	} {
		refused := commit
		refused.Head = second
		c.change(&refused)
		if _, err := app.MakeCommit(t.Context(), refused); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v, want one that says %q", name, err, c.says)
		}
		if f.branches["holdfast/x"] != second {
			t.Errorf("%s: the branch was moved", name)
		}
	}

	commit.Branch, commit.Head = "holdfast/y", ""
	_, err = open(t, f, github.Options{Token: "bot-token"}).MakeCommit(t.Context(), commit)
	if !errors.Is(err, forge.ErrForbidden) || f.branches["holdfast/y"] != "" {
		t.Errorf("with a token, whose commits GitHub does not sign: %v, and the branch is at %q", err, f.branches["holdfast/y"])
	}
}
