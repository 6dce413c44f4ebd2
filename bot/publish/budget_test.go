package publish

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/detect"
)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) time() time.Time { return c.now }

func TestABudgetIsNeverExceeded(t *testing.T) {
	c := &clock{closing()}
	b := NewBudget(c.time, false, GitHubLimits()...)
	var done []time.Time
	for range 7200 { // two hours in which critical findings never end
		if b.take("a", 1, true).IsZero() {
			done = append(done, c.now)
		}
		c.now = c.now.Add(time.Second)
	}
	for _, l := range GitHubLimits() {
		for i, at := range done {
			if n := i - slices.IndexFunc(done, func(d time.Time) bool { return at.Sub(d) < l.Within }) + 1; n > l.Most {
				t.Fatalf("%d within %s before %s, want at most %d", n, l.Within, at, l.Most)
			}
		}
	}
	if len(done) != 1000 {
		t.Errorf("%d in two hours, want the 1000 that there is room for", len(done))
	}
}

func TestABudgetIsShared(t *testing.T) {
	c := &clock{closing()}
	greedy := func(b *Budget, who string, critical bool) (n int) {
		for b.take(who, 1, critical).IsZero() {
			n++
		}
		return n
	}
	alone := NewBudget(c.time, false, Limit{100, time.Hour})
	if n := greedy(alone, "a", false); n != 80 {
		t.Errorf("alone it takes %d of 100, want 80: the rest is for critical findings", n)
	}
	if n := greedy(alone, "a", true); n != 20 {
		t.Errorf("critical findings take %d more, want the 20 that were left for them", n)
	}
	shared := NewBudget(c.time, true, Limit{100, time.Hour})
	first, second, third := greedy(shared, "a", false), greedy(shared, "b", false), greedy(shared, "c", false)
	if first != 40 || second != 20 || third != 10 {
		t.Errorf("one after the other takes %d, %d and %d, want 40, 20 and 10: each leaves as much as it has", first, second, third)
	}
	if until := shared.take("a", 1, false); !until.Equal(c.now.Add(time.Hour)) {
		t.Errorf("the next has room at %s, want in an hour", until)
	}
	c.now = c.now.Add(time.Hour)
	if until := shared.take("a", 1, false); !until.IsZero() {
		t.Errorf("after an hour it still waits, until %s", until)
	}
}

func TestWhatHasNoRoomWaits(t *testing.T) {
	f, commits := newFolder(t), &fakeCommits{}
	c := &clock{closing()}
	x := Publishing{Forge: f, Commits: commits, Now: c.now, Claimant: "shop", Budget: NewBudget(c.time, false, Limit{5, time.Minute})}
	var wanted []bot.Proposal
	for i := range 6 {
		p := proposal(bot.AsIssue, fmt.Sprintf("north/flux-system/%d", i), "aa")
		p.Title, p.Risk = fmt.Sprintf("Drift %d", i), detect.Low
		if i == 5 {
			p.Risk = detect.Critical
		}
		wanted = append(wanted, p)
	}
	for run, want := range []int{4, 6} { // four fifths, the critical one among them; the others a minute later
		threads, err := f.Threads(t.Context(), bot.AsIssue)
		if err != nil {
			t.Fatal(err)
		}
		waiting := 0
		for i, o := range x.Apply(t.Context(), Fair(Plan(wanted, threads, Seen{}))) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			if run == 0 && i == 0 && (o.Thread.Title != "Drift 5" || !o.Waits.IsZero()) {
				t.Errorf("first is %+v, want the critical one", o)
			}
			if !o.Waits.IsZero() {
				waiting++
			}
		}
		now, err := f.Threads(t.Context(), bot.AsIssue)
		if err != nil || len(now) != want || waiting != 6-want {
			t.Errorf("run %d: %d issues, %d wait, %v; want %d issues", run, len(now), waiting, err, want)
		}
		c.now = c.now.Add(time.Minute)
	}
}

func TestOneApplicationDoesNotHoldUpTheOthers(t *testing.T) {
	var actions []Action
	add := func(scope string, risk detect.Risk, n int) {
		for i := range n {
			actions = append(actions, Action{Verb: Open, Proposal: bot.Proposal{Key: bot.Key(scope, fmt.Sprint(i)), Title: fmt.Sprint(scope, i), Risk: risk}})
		}
	}
	add("crowded", detect.High, 3)
	add("quiet", detect.High, 1)
	add("quiet", detect.Critical, 1)
	var got []string
	for _, a := range Fair(actions) {
		got = append(got, a.Proposal.Title)
	}
	if want := []string{"quiet0", "crowded0", "quiet0", "crowded1", "crowded2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAClosingThatWasKilledIsEndedOnce: whatever a closing got to, the next run ends it and says nothing twice.
func TestAClosingThatWasKilledIsEndedOnce(t *testing.T) {
	for _, kind := range []bot.Kind{bot.AsIssue, bot.AsPullRequest} {
		for survived := range 3 {
			t.Run(fmt.Sprintf("%s after %d effects", kind, survived), func(t *testing.T) {
				f, commits := newFolder(t), &fakeCommits{}
				want := complete(proposal(kind, scope, "aa"))
				want.Labels = []string{"drift", "drift/revert"}
				round(t, f, commits, want)
				thread, err := f.Threads(t.Context(), kind)
				if err != nil {
					t.Fatal(err)
				}
				died := Publishing{Forge: &mortal{Forge: f, left: survived}, Now: closing()}
				died.Apply(t.Context(), Plan(nil, thread, Seen{Scopes: map[string]bool{bot.ScopeMark(scope): true}}))
				round(t, f, commits)
				now, err := f.Threads(t.Context(), kind)
				if err != nil || len(now) != 1 || now[0].State != bot.Closed {
					t.Fatalf("threads %+v, %v; want one, closed", now, err)
				}
				said, err := f.Comments(t.Context(), kind, now[0].Number, time.Time{})
				if err != nil || len(said) != 1 {
					t.Errorf("%d comments, %v; want one: %+v", len(said), err, said)
				}
			})
		}
	}
}
