// Package forgetest is the one suite that every forge passes. A forge's own test hands Run a function that makes an
// empty repository; what the suite sees is all that Holdfast relies on.
package forgetest

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// test is one behaviour that every forge has.
type test struct {
	name string
	run  func(*testing.T, suite)
}

// Run runs the suite; each subtest gets a new repository. What a forge has no role for is skipped and says so.
func Run(t *testing.T, make func(t *testing.T) Harness) {
	run := func(prefix string, kind bot.Kind, tests []test) {
		for _, c := range tests {
			t.Run(prefix+c.name, func(t *testing.T) { c.run(t, suite{make(t), kind, t.Context()}) })
		}
	}
	for _, kind := range []bot.Kind{bot.AsIssue, bot.AsPullRequest} {
		prefix := string(kind) + ": "
		run(prefix, kind, publisherTests)
		run(prefix, kind, conversationTests)
		run(prefix, kind, faultTests)
	}
	run("", bot.AsPullRequest, pullRequestTests)
	run("", bot.AsPullRequest, authorityTests)
	run("", bot.AsPullRequest, inspectorTests)
	run("", bot.AsPullRequest, checkerTests)
}

var publisherTests = []test{
	{"a thread that was opened is found as it was written", testOpen},
	{"a thread without labels is opened and found", testNoLabels},
	{"labels are made once and those of people stay", testLabels},
	{"a body is kept to the byte", testBodies},
	{"the longest body is kept and a longer one refused", testLongest},
	{"an update changes the thread in place", testUpdate},
	{"a thread is closed and reopened", testCloseReopen},
	{"a comment is added and the body stays", testComment},
	{"threads of others and without a marker are not found", testSearch},
	{"issues and pull requests are told apart", testKinds},
	{"more threads than a page has are found, newest first", testMany},
	{"a thread that is not there is told", testNotFound},
	{"a right that is missing is told", testForbidden},
	{"a context that is done stops the search", testDone},
	{"an archived repository is told", testArchived},
}

var pullRequestTests = []test{
	{"a merged pull request is found as merged and stays so", testMerged},
	{"a pull request from a branch that is not there is refused", testNoBranch},
	{"a pull request whose branch was deleted is still found", testDeletedBranch},
}

// role gives a role that the forge may have, and skips the test where it has not.
func role[R any](t *testing.T, f forge.Publisher) R {
	t.Helper()
	r, ok := f.(R)
	if !ok {
		t.Skipf("this forge has no %s", reflect.TypeFor[R]().Name())
	}
	return r
}

// need skips the test where the harness cannot do something.
func need(t *testing.T, what string, can bool) {
	t.Helper()
	if !can {
		t.Skipf("the harness of this forge has no %s", what)
	}
}

// suite writes to threads of one kind, so that each test reads the same for both.
type suite struct {
	Harness
	kind bot.Kind
	ctx  context.Context
}

func (s suite) open(t *testing.T, branch string, c forge.Content) bot.Thread {
	t.Helper()
	if s.kind == bot.AsPullRequest && s.Branch != nil {
		s.Branch(t, branch)
	}
	thread, err := s.openWith(s.Forge, branch, c)
	if err != nil {
		t.Fatal(err)
	}
	return thread
}

func (s suite) openWith(f forge.Publisher, branch string, c forge.Content) (bot.Thread, error) {
	if s.kind == bot.AsPullRequest {
		return f.OpenPullRequest(s.ctx, branch, "main", c)
	}
	return f.OpenIssue(s.ctx, c)
}

func (s suite) update(f forge.Publisher, number int, c forge.Content) (bot.Thread, error) {
	if s.kind == bot.AsPullRequest {
		return f.UpdatePullRequest(s.ctx, number, c)
	}
	return f.UpdateIssue(s.ctx, number, c)
}

func (s suite) setOpen(f forge.Publisher, number int, open bool) error {
	if s.kind == bot.AsPullRequest {
		return f.SetPullRequestOpen(s.ctx, number, open)
	}
	return f.SetIssueOpen(s.ctx, number, open)
}

func (s suite) threads(t *testing.T) []bot.Thread {
	t.Helper()
	threads, err := s.Forge.Threads(s.ctx, s.kind)
	if err != nil {
		t.Fatal(err)
	}
	return threads
}

func (s suite) only(t *testing.T) bot.Thread {
	t.Helper()
	threads := s.threads(t)
	if len(threads) != 1 {
		t.Fatalf("%d threads, want 1: %v", len(threads), threads)
	}
	return threads[0]
}

// many is how many threads need more than one page.
func (s suite) many() int {
	if s.Many > 0 {
		return s.Many
	}
	return 105
}

// content is what a proposal would say; n tells one from another.
func content(n int, labels ...string) forge.Content {
	return forge.Content{
		Title:  fmt.Sprintf("Drift %d: Deployment shop/web", n),
		Body:   fmt.Sprintf("Replicas are **5**, Git says 3.\n\n%s", bot.Marker(fmt.Sprintf("%08x", n), "aa")),
		Labels: labels,
	}
}
