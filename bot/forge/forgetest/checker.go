package forgetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/forge"
)

var checkerTests = []test{
	{"each verdict is shown", testVerdicts},
	{"a report replaces the one before", testReplaced},
	{"remarks on lines are all shown", testNotes},
	{"a long title and summary are cut, not refused", testLongCheck},
	{"a check of a commit that is not there is told", testCheckNotFound},
	{"a right to report that is missing is told", testReportForbidden},
}

// reported starts a check: it gives the role and the head of a new pull request.
func (s suite) reported(t *testing.T) (forge.Checker, string) {
	t.Helper()
	checker := role[forge.Checker](t, s.Forge)
	need(t, "Checks", s.Checks != nil)
	return checker, s.open(t, "holdfast/x", content(1)).Head
}

// shown is what a forge shows of a check.
func (s suite) shown(c bot.Check) bot.Check {
	if s.NoNeutral && c.Verdict == bot.Neutral {
		c.Verdict = bot.Success
	}
	if s.NoNotes {
		c.Notes, c.Summary = nil, ""
	}
	return c
}

func testVerdicts(t *testing.T, s suite) {
	checker, head := s.reported(t)
	for _, v := range []bot.Verdict{bot.Pending, bot.Success, bot.Neutral, bot.Failure, bot.Pending, bot.Failure} {
		check := bot.Check{Commit: head, Verdict: v, Title: "proof: " + string(v), Summary: "**why**", URL: "https://holdfast.example.com/drift/1"}
		for range 2 { // the second changes nothing
			if err := checker.Report(s.ctx, check); err != nil {
				t.Fatal(err)
			}
			got := s.Checks(t, head)
			if len(got) == 0 {
				t.Fatalf("%s: the forge shows no check", v)
			}
			want := s.shown(check)
			if s.NoNeutral && v == bot.Neutral {
				// That it is neutral has to stand in the title then.
				if !strings.Contains(got[0].Title, "neutral") {
					t.Errorf("the title of a neutral check is %q", got[0].Title)
				}
				want.Title = got[0].Title
			}
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", v, diff)
			}
		}
		time.Sleep(s.Tick)
	}
}

func testReplaced(t *testing.T, s suite) {
	checker, head := s.reported(t)
	for _, before := range []bot.Verdict{bot.Pending, bot.Failure} {
		check := bot.Check{Commit: head, Verdict: before, Title: "as it was", Summary: "x", Notes: []bot.CheckNote{{Path: "a.yaml", Line: 3, Message: "here"}}}
		if err := checker.Report(s.ctx, check); err != nil {
			t.Fatal(err)
		}
		time.Sleep(s.Tick)
		check = bot.Check{Commit: head, Verdict: bot.Success, Title: "proven", Summary: "y"}
		if err := checker.Report(s.ctx, check); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.shown(check), s.Checks(t, head)[0]); diff != "" {
			t.Errorf("%s, then a success (-want +got):\n%s", before, diff)
		}
		time.Sleep(s.Tick)
	}
	if s.Commit == nil {
		return
	}
	next := s.Commit(t, "holdfast/x", Change{Write: map[string]string{"later.txt": "x"}})
	if got := s.Checks(t, next); len(got) != 0 {
		t.Errorf("the next commit has the checks %+v", got)
	}
}

func testNotes(t *testing.T, s suite) {
	checker, head := s.reported(t)
	if s.NoNotes {
		t.Skip("this forge shows no remarks on lines")
	}
	check := bot.Check{Commit: head, Verdict: bot.Neutral, Title: "overwrites open drifts", Summary: "x"}
	for n := range 120 {
		check.Notes = append(check.Notes, bot.CheckNote{Path: "apps/a.yaml", Line: n + 1, Message: fmt.Sprint("note ", n)})
	}
	for range 2 {
		if err := checker.Report(s.ctx, check); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(check, s.Checks(t, head)[0]); diff != "" {
			t.Errorf("check (-want +got):\n%s", diff)
		}
	}
}

func testLongCheck(t *testing.T, s suite) {
	checker, head := s.reported(t)
	check := bot.Check{Commit: head, Verdict: bot.Success, Title: strings.Repeat("ü", 500), Summary: strings.Repeat("ß", 70_000)}
	if err := checker.Report(s.ctx, check); err != nil {
		t.Fatal(err)
	}
	if got := s.Checks(t, head)[0]; !strings.HasPrefix(got.Title, strings.Repeat("ü", 50)) || !strings.HasSuffix(got.Title, "…") && got.Title != check.Title {
		t.Errorf("the title is %q", got.Title)
	}
}

func testCheckNotFound(t *testing.T, s suite) {
	checker, _ := s.reported(t)
	err := checker.Report(s.ctx, bot.Check{Commit: strings.Repeat("4711", 10), Verdict: bot.Success, Title: "x"})
	if !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrInvalid) || !strings.Contains(err.Error(), "4711") {
		t.Errorf("error is %v, want ErrNotFound or ErrInvalid that names the commit", err)
	}
}

func testReportForbidden(t *testing.T, s suite) {
	_, head := s.reported(t)
	if s.ReadOnly == nil {
		t.Skip(s.Why)
	}
	err := role[forge.Checker](t, s.ReadOnly).Report(s.ctx, bot.Check{Commit: head, Verdict: bot.Success, Title: "x"})
	if !errors.Is(err, forge.ErrForbidden) {
		t.Errorf("error is %v, want ErrForbidden", err)
	}
	if got := s.Checks(t, head); len(got) != 0 {
		t.Errorf("checks are %+v, want none", got)
	}
}
