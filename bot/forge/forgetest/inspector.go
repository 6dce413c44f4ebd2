package forgetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
)

var inspectorTests = []test{
	{"a pull request tells its files, with both names of renamed ones", testFiles},
	{"a pull request with hundreds of files tells all", testManyFiles},
	{"a merged pull request tells commit, person and time", testMergeFacts},
	{"a pull request from a fork is told apart", testFork},
	{"all open pull requests are listed, newest first", testOpenPullRequests},
	{"what is not there is told", testInspectNotFound},
	{"a renamed default branch is seen", testDefaultBranch},
	{"protection of a branch is seen", testProtection},
}

func testFiles(t *testing.T, s suite) {
	inspector := role[forge.Inspector](t, s.Forge)
	need(t, "Commit", s.Commit != nil)
	s.Commit(t, "main", Change{Write: map[string]string{
		"apps/a.yaml": "replicas: 3\nname: a\nimage: shop/a:1\nport: 80\n", "apps/b.yaml": "replicas: 3\nname: b\nimage: shop/b:1\nport: 81\n", "apps/c.yaml": "c: 1\n",
	}})
	head := s.Commit(t, "holdfast/x", Change{
		Write:  map[string]string{"apps/a.yaml": "replicas: 5\nname: a\nimage: shop/a:1\nport: 80\n", "new ü/d e.yaml": "x: 1\n"},
		Remove: []string{"apps/c.yaml"},
		Rename: map[string]string{"apps/b.yaml": "moved/b.yaml"},
	})
	c := content(1, "drift")
	opened, err := s.Forge.OpenPullRequest(s.ctx, "holdfast/x", "main", c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := inspector.PullRequest(s.ctx, opened.Number)
	if err != nil {
		t.Fatal(err)
	}
	want := bot.PullRequest{
		Thread: normal(opened), Base: "main", SameRepository: true,
		Files: []string{"apps/a.yaml", "apps/b.yaml", "apps/c.yaml", "moved/b.yaml", "new ü/d e.yaml"},
	}
	got.Thread = normal(got.Thread)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pull request (-want +got):\n%s", diff)
	}
	if got.Head != head {
		t.Errorf("head is %q, want %q", got.Head, head)
	}
}

func testManyFiles(t *testing.T, s suite) {
	inspector := role[forge.Inspector](t, s.Forge)
	need(t, "Commit", s.Commit != nil)
	change := Change{Write: map[string]string{}}
	var want []string
	for n := range 230 {
		want = append(want, fmt.Sprintf("apps/%03d.yaml", n))
		change.Write[want[n]] = fmt.Sprintf("n: %d\n", n)
	}
	s.Commit(t, "holdfast/x", change)
	opened, err := s.Forge.OpenPullRequest(s.ctx, "holdfast/x", "main", content(1))
	if err != nil {
		t.Fatal(err)
	}
	got, err := inspector.PullRequest(s.ctx, opened.Number)
	if err != nil || got.FilesCut {
		t.Errorf("error is %v, cut is %v", err, got.FilesCut)
	}
	if diff := cmp.Diff(want, got.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func testMergeFacts(t *testing.T, s suite) {
	inspector := role[forge.Inspector](t, s.Forge)
	opened := s.open(t, "holdfast/x", content(1))
	before, err := inspector.PullRequest(s.ctx, opened.Number)
	if err != nil || before.MergeCommit != "" || before.MergedBy.Login != "" || !before.MergedAt.IsZero() {
		t.Errorf("an open pull request is %+v, %v; want nothing of a merge", before, err)
	}
	s.Merge(t, opened.Number)
	after, err := inspector.PullRequest(s.ctx, opened.Number)
	if err != nil || after.State != bot.Merged || len(after.MergeCommit) < 7 || after.MergedBy.Login == "" || after.MergedAt.IsZero() {
		t.Errorf("a merged pull request is %+v, %v; want commit, person and time", after, err)
	}
	if after.MergeCommit == opened.Head {
		t.Errorf("the merge commit is the head %s", opened.Head)
	}
}

func testFork(t *testing.T, s suite) {
	inspector := role[forge.Inspector](t, s.Forge)
	need(t, "Fork", s.Fork != nil)
	// The branch has the name and the body the marker of one of the bot's own.
	own := s.open(t, "holdfast/x", content(1, "drift"))
	number := s.Fork(t, "holdfast/x", content(1, "drift"))
	got, err := inspector.PullRequest(s.ctx, number)
	if err != nil || got.SameRepository || got.Branch != "holdfast/x" || got.Author == s.Account {
		t.Errorf("the fork's pull request is %+v, %v; want another repository", got, err)
	}
	if found := s.only(t); found.Number != own.Number {
		t.Errorf("found %d among the bot's own, want %d", found.Number, own.Number)
	}
	open, err := inspector.OpenPullRequests(s.ctx)
	if err != nil || !slices.Contains(open, number) {
		t.Errorf("open pull requests are %v, %v; want %d among them", open, err, number)
	}
}

func testOpenPullRequests(t *testing.T, s suite) {
	inspector := role[forge.Inspector](t, s.Forge)
	var want []int
	for n := range s.many() {
		want = append(want, s.open(t, fmt.Sprint("holdfast/", n), content(n)).Number)
	}
	if err := s.setOpen(s.Forge, want[5], false); err != nil {
		t.Fatal(err)
	}
	want = slices.Delete(want, 5, 6)
	if s.Foreign != nil {
		want = append(want, s.Foreign(t, bot.AsPullRequest, forge.Content{Title: "of somebody else", Body: "text"}))
	}
	slices.Reverse(want)
	got, err := inspector.OpenPullRequests(s.ctx)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; numbers, newest first (-want +got):\n%s", err, diff)
	}
}

func testInspectNotFound(t *testing.T, s suite) {
	inspector := role[forge.Inspector](t, s.Forge)
	_, pullErr := inspector.PullRequest(s.ctx, 4711)
	_, branchErr := inspector.Protection(s.ctx, "no/such-branch-4711")
	for what, err := range map[string]error{"pull request": pullErr, "branch": branchErr} {
		if !errors.Is(err, forge.ErrNotFound) || !strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v, want ErrNotFound that names 4711", what, err)
		}
	}
	if authority, ok := s.Forge.(forge.Authority); ok {
		if _, err := authority.Approvals(s.ctx, 4711); !errors.Is(err, forge.ErrNotFound) || !strings.Contains(err.Error(), "4711") {
			t.Errorf("approvals: %v, want ErrNotFound that names 4711", err)
		}
	}
}

func testDefaultBranch(t *testing.T, s suite) {
	inspector := role[forge.Inspector](t, s.Forge)
	got, err := inspector.Repository(s.ctx)
	if err != nil || got.DefaultBranch != "main" || got.Archived || got.URL == "" || got.CloneURL == "" {
		t.Errorf("the repository is %+v, %v", got, err)
	}
	need(t, "RenameDefault", s.RenameDefault != nil)
	s.RenameDefault(t, "trunk")
	got, err = inspector.Repository(s.ctx)
	if err != nil || got.DefaultBranch != "trunk" {
		t.Errorf("after it was renamed, the default branch is %q, %v", got.DefaultBranch, err)
	}
	if s.Branch != nil {
		s.Branch(t, "holdfast/x")
	}
	if _, err := s.Forge.OpenPullRequest(s.ctx, "holdfast/x", "trunk", content(1)); err != nil {
		t.Errorf("a pull request to the renamed branch: %v", err)
	}
}

func testProtection(t *testing.T, s suite) {
	inspector := role[forge.Inspector](t, s.Forge)
	got, err := inspector.Protection(s.ctx, "main")
	if want := (bot.BranchProtection{Known: true, AllowsForce: true, AllowsGone: true}); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v; a branch without protection (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	need(t, "Protect", s.Protect != nil)
	want := s.Protect(t)
	got, err = inspector.Protection(s.ctx, "main")
	if diff := cmp.Diff(want, got); diff != "" || err != nil || !got.Protected {
		t.Errorf("%v; a protected branch (-want +got):\n%s", err, diff)
	}
}
