package forgetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
)

var authorityTests = []test{
	{"the bot's account is known", testAccount},
	{"each member has a role, and others have none", testRoles},
	{"a login that is none has no role", testStrangeLogins},
	{"approvals are listed with their head", testApprovals},
	{"a reviewer's newest review counts", testNewestReview},
	{"approvals that were dismissed are left out", testDismissed},
	{"approvals of many reviewers' reviews are found on all pages", testManyReviews},
}

func testAccount(t *testing.T, s suite) {
	got, err := role[forge.Authority](t, s.Forge).Account(s.ctx)
	if want := (bot.Actor{Login: s.Account, Bot: true}); err != nil || got != want {
		t.Errorf("account is %+v, %v; want %+v", got, err, want)
	}
}

func testRoles(t *testing.T, s suite) {
	authority := role[forge.Authority](t, s.Forge)
	need(t, "members", len(s.Members) > 0)
	for want, login := range s.Members {
		if got, err := authority.Role(s.ctx, login); err != nil || got != want {
			t.Errorf("role of %s is %d, %v; want %d", login, got, err, want)
		}
	}
}

func testStrangeLogins(t *testing.T, s suite) {
	authority := role[forge.Authority](t, s.Forge)
	admin := s.Members[bot.Administrator]
	for _, login := range []string{"", "nobody-of-that-name", "a b", "x/../" + admin, "../" + admin, "x?y", "x%2f" + admin, "x#", "-", "ü"} {
		if got, err := authority.Role(s.ctx, login); err != nil || got != bot.NoRole {
			t.Errorf("role of %q is %d, %v; want none", login, got, err)
		}
	}
}

// reviewers are two people who may review.
func (s suite) reviewers(t *testing.T) (string, string) {
	t.Helper()
	need(t, "Review", s.Review != nil)
	for _, r := range []bot.Role{bot.Keeper, bot.Administrator} {
		if s.Members[r] != "" {
			return s.writer(t), s.Members[r]
		}
	}
	t.Skip("the harness of this forge has no second reviewer")
	return "", ""
}

func (s suite) approvals(t *testing.T, number int) []bot.Approval {
	t.Helper()
	got, err := role[forge.Authority](t, s.Forge).Approvals(s.ctx, number)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// verdicts says who approved and who asked for changes, in order.
func verdicts(approvals []bot.Approval) []string {
	var out []string
	for _, a := range approvals {
		if a.Rejected {
			out = append(out, a.By.Login+" asks for changes")
		} else {
			out = append(out, a.By.Login+" approves")
		}
	}
	return out
}

func testApprovals(t *testing.T, s suite) {
	role[forge.Authority](t, s.Forge)
	first, second := s.reviewers(t)
	pull := s.open(t, "holdfast/x", content(1))
	if got := s.approvals(t, pull.Number); len(got) != 0 {
		t.Errorf("a new pull request has the approvals %+v", got)
	}
	s.Review(t, pull.Number, first, Approve)
	time.Sleep(s.Tick)
	want := []string{pull.Head, pull.Head}
	if s.Commit != nil {
		want[1] = s.Commit(t, "holdfast/x", Change{Write: map[string]string{"later.txt": "x"}})
	}
	s.Review(t, pull.Number, second, Approve)
	got := s.approvals(t, pull.Number)
	if diff := cmp.Diff([]string{first + " approves", second + " approves"}, verdicts(got)); diff != "" {
		t.Fatalf("approvals, oldest first (-want +got):\n%s", diff)
	}
	for i, a := range got {
		if s.HeadUnknown {
			want[i] = ""
		}
		if a.Commit != want[i] {
			t.Errorf("%s approved %q, want %q", a.By.Login, a.Commit, want[i])
		}
		if a.By.Bot || a.URL == "" {
			t.Errorf("approval %+v is a bot's, or has no URL", a)
		}
	}
}

func testNewestReview(t *testing.T, s suite) {
	role[forge.Authority](t, s.Forge)
	first, second := s.reviewers(t)
	pull := s.open(t, "holdfast/x", content(1))
	for _, step := range []struct {
		login  string
		review Review
		want   []string
	}{
		{first, Approve, []string{first + " approves"}},
		{first, Remark, []string{first + " approves"}},
		{first, RequestChanges, []string{first + " asks for changes"}},
		{second, Remark, []string{first + " asks for changes"}},
		{second, Approve, []string{first + " asks for changes", second + " approves"}},
		{first, Approve, []string{first + " approves", second + " approves"}},
	} {
		s.Review(t, pull.Number, step.login, step.review)
		time.Sleep(s.Tick)
		got := verdicts(s.approvals(t, pull.Number))
		slices.Sort(got)
		slices.Sort(step.want)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("after %s of %s (-want +got):\n%s", step.review, step.login, diff)
		}
	}
}

func testDismissed(t *testing.T, s suite) {
	role[forge.Authority](t, s.Forge)
	first, second := s.reviewers(t)
	pull := s.open(t, "holdfast/x", content(1))
	s.Review(t, pull.Number, first, Approve)
	s.Review(t, pull.Number, second, Approve)
	time.Sleep(s.Tick)
	s.Review(t, pull.Number, first, Dismiss)
	if diff := cmp.Diff([]string{second + " approves"}, verdicts(s.approvals(t, pull.Number))); diff != "" {
		t.Errorf("approvals (-want +got):\n%s", diff)
	}
}

func testManyReviews(t *testing.T, s suite) {
	role[forge.Authority](t, s.Forge)
	first, second := s.reviewers(t)
	pull := s.open(t, "holdfast/x", content(1))
	for range 101 {
		s.Review(t, pull.Number, first, Remark)
	}
	s.Review(t, pull.Number, second, Approve)
	if diff := cmp.Diff([]string{second + " approves"}, verdicts(s.approvals(t, pull.Number))); diff != "" {
		t.Errorf("approvals (-want +got):\n%s", diff)
	}
}
