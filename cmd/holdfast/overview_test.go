package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/bot"
)

// titled gives the one thread of a title.
func (s *smallShop) titled(kind bot.Kind, title string) bot.Thread {
	s.t.Helper()
	all := s.held(kind)
	if n := len(slices.DeleteFunc(slices.Clone(all), func(t bot.Thread) bool { return t.Title != title })); n != 1 {
		s.t.Fatalf("%d threads are %q, want one: %+v", n, title, all)
	}
	return all[slices.IndexFunc(all, func(t bot.Thread) bool { return t.Title == title })]
}

// set changes a thread's state as a person does.
func (s *smallShop) set(thread bot.Thread, state bot.State) {
	s.t.Helper()
	data, err := os.ReadFile(thread.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	changed := strings.Replace(string(data), "\nstate: "+string(thread.State)+"\n", "\nstate: "+string(state)+"\n", 1)
	if err := os.WriteFile(thread.URL, []byte(changed), 0o600); err != nil || changed == string(data) {
		s.t.Fatalf("%s is not %s: %v", thread.URL, thread.State, err)
	}
}

// TestServeKeepsADashboardAndProposesAPolicy: both once, and not again once a person closed them.
func TestServeKeepsADashboardAndProposesAPolicy(t *testing.T) {
	s := newSmallShop(t, "{file: queue.db}")
	work := filepath.Join(s.dir, "work")
	git(t, work, "rm", "--quiet", policyFile)
	git(t, work, "commit", "--quiet", "--message=No policy")
	git(t, work, "push", "--quiet", "../fleet.git", "main")
	s.live("30s", "fast")
	s.settles(nil)
	dashboard, onboarding := s.titled(bot.AsIssue, "Drift dashboard"), s.titled(bot.AsPullRequest, "Add a policy for drift")
	for _, thread := range slices.Concat(s.held(bot.AsPullRequest), s.held(bot.AsIssue)) {
		if thread.Title != dashboard.Title && !strings.Contains(dashboard.Body, "["+thread.Title+"]("+thread.URL+")") {
			t.Errorf("the dashboard does not list %q:\n%s", thread.Title, dashboard.Body)
		}
	}
	files := git(t, s.dir, "--git-dir", "fleet.git", "diff", "--name-status", "main...holdfast/onboarding")
	if strings.TrimSpace(files) != "A\t"+policyFile || !strings.Contains(git(t, s.dir, "--git-dir", "fleet.git", "show", "holdfast/onboarding:"+policyFile), "\nextends: production\n") {
		t.Errorf("the onboarding pull request changes %q", files)
	}
	head := git(t, s.dir, "--git-dir", "fleet.git", "rev-parse", "holdfast/onboarding")
	s.settles(nil)
	if again := s.titled(bot.AsIssue, "Drift dashboard"); again.Body != dashboard.Body || head != git(t, s.dir, "--git-dir", "fleet.git", "rev-parse", "holdfast/onboarding") {
		t.Errorf("a further round changes them:\n%s", again.Body)
	}

	s.set(onboarding, bot.Closed)
	s.live("5s", "safe") // the engine corrects all
	s.settles(nil)
	now := s.titled(bot.AsIssue, "Drift dashboard")
	if s.titled(bot.AsPullRequest, onboarding.Title).State != bot.Closed || now.State != bot.Open || !strings.Contains(now.Body, "Nothing is open") {
		t.Errorf("after the drift is gone: %+v, and the onboarding is %s", now, s.titled(bot.AsPullRequest, onboarding.Title).State)
	}
	s.set(now, bot.Closed)
	s.live("30s", "fast")
	s.settles(nil)
	last := s.titled(bot.AsIssue, "Drift dashboard")
	if last.State != bot.Closed || last.Body != now.Body {
		t.Errorf("a dashboard that a person closed is %s again:\n%s", last.State, last.Body)
	}
	if s.titled(bot.AsPullRequest, onboarding.Title).State != bot.Closed {
		t.Error("a policy that nobody wanted is proposed again")
	}

	t.Run("neither where the configuration says so", func(t *testing.T) {
		s := newSmallShop(t, "{file: queue.db}")
		s.t = t
		file := filepath.Join(s.dir, "holdfast.yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), "    forge:", "    dashboardIssue: false\n    onboarding: false\n    forge:", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		git(t, filepath.Join(s.dir, "work"), "rm", "--quiet", policyFile)
		git(t, filepath.Join(s.dir, "work"), "commit", "--quiet", "--message=No policy")
		git(t, filepath.Join(s.dir, "work"), "push", "--quiet", "../fleet.git", "main")
		s.live("30s", "fast")
		s.settles(nil)
		for _, thread := range slices.Concat(s.held(bot.AsPullRequest), s.held(bot.AsIssue)) {
			if thread.Title == dashboard.Title || thread.Title == onboarding.Title {
				t.Errorf("there is %q", thread.Title)
			}
		}
	})
}
