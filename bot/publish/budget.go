package publish

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"holdfast/bot"
	"holdfast/detect"
)

// Limit is how many requests that create content a forge takes within a time.
type Limit struct {
	Most   int
	Within time.Duration
}

// GitHubLimits are what GitHub allows of requests that create content ("Rate limits for the REST API",
// docs.github.com).
func GitHubLimits() []Limit { return []Limit{{80, time.Minute}, {500, time.Hour}} }

// Budget shares out what one account may create on a forge among claimants. Critical findings may use all of a
// limit. The rest leaves a fifth of it free, and of several claimants each takes at most as much as it leaves to the
// others (the rule by which switches share a buffer), so that whoever comes next finds room. It is safe for use by
// several goroutines.
type Budget struct {
	now    func() time.Time
	limits []Limit
	shared bool

	mu    sync.Mutex
	spent []spending
}

type spending struct {
	at  time.Time
	who string
	n   int
}

// NewBudget gives a budget; shared says that there are several claimants.
func NewBudget(now func() time.Time, shared bool, limits ...Limit) *Budget {
	return &Budget{now: now, limits: limits, shared: shared}
}

// take spends n for a claimant. Where there is no room it spends nothing and gives when some frees up.
func (b *Budget) take(who string, n int, critical bool) (until time.Time) {
	if n == 0 {
		return time.Time{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	longest := slices.MaxFunc(b.limits, func(x, y Limit) int { return cmp.Compare(x.Within, y.Within) }).Within
	b.spent = slices.DeleteFunc(b.spent, func(s spending) bool { return now.Sub(s.at) >= longest })
	for _, l := range b.limits {
		if at := b.room(l, who, n, critical, now); at.After(until) {
			until = at
		}
	}
	if until.IsZero() {
		b.spent = append(b.spent, spending{now, who, n})
	}
	return until
}

// room is zero where a limit has room for n more, else when its oldest spending is forgotten.
func (b *Budget) room(l Limit, who string, n int, critical bool, now time.Time) time.Time {
	var all, own int
	oldest := now
	for _, s := range b.spent {
		if now.Sub(s.at) >= l.Within {
			continue
		}
		if s.at.Before(oldest) {
			oldest = s.at
		}
		all += s.n
		if s.who == who {
			own += s.n
		}
	}
	fits := all+n <= l.Most
	if !critical {
		free := l.Most*4/5 - all
		fits = n <= free && (!b.shared || own+n <= free)
	}
	if fits || all == 0 { // a limit that is smaller than one action holds nothing up for good
		return time.Time{}
	}
	return oldest.Add(l.Within)
}

// cost is how many requests an action makes at most that create or change content.
func cost(a Action) int {
	issue := a.Thread.Kind == bot.AsIssue || a.Proposal.Kind == bot.AsIssue
	switch a.Verb {
	case Open, Update:
		if issue {
			return 1
		}
		return 2 // and its labels
	case Reopen, Close:
		return 3
	case Healed, Changed:
		return 1
	}
	return 0
}

// Fair orders actions: by risk, and of one risk each Application's first, then each one's second, and so on, so that one
// with many drifts does not use up what the others need. What it says nothing about keeps its order.
func Fair(actions []Action) []Action {
	turn, turns := map[string]int{}, map[string]int{}
	risk := func(a Action) detect.Risk { return a.Proposal.Risk }
	name := func(a Action) string {
		key := a.Proposal.Key
		if key == "" {
			key, _, _ = bot.ParseMarker(a.Thread.Body)
		}
		return key
	}
	for _, a := range actions {
		if cost(a) > 0 {
			scope := bot.ScopeOf(name(a)) + risk(a).String()
			turn[name(a)] = turns[scope]
			turns[scope]++
		}
	}
	out := slices.Clone(actions)
	slices.SortStableFunc(out, func(a, b Action) int {
		return cmp.Or(cmp.Compare(risk(b), risk(a)), cmp.Compare(turn[name(a)], turn[name(b)]))
	})
	return out
}

// Late splits actions in those that make wanted threads and those that say that a drift is over: what the latter rest
// on is put on record before they are carried out.
func Late(actions []Action) (first, late []Action) {
	for _, a := range actions {
		if a.Verb == Close || a.Verb == Healed || a.Verb == Changed {
			late = append(late, a)
		} else {
			first = append(first, a)
		}
	}
	return first, late
}
