package serve_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/serve"
	"holdfast/bot/store"
)

// listener is a serve.Events that notes what it is given, and asks for a round each time.
type listener struct {
	mu      sync.Mutex
	handled []string
	// now are the threads that are being acted on; twice says that one was, two times at once.
	now   map[int]int
	twice bool
	slow  time.Duration
}

func (l *listener) Handle(_ context.Context, d store.Delivery) (bool, error) {
	e := d.Event
	l.mu.Lock()
	l.now[e.Number]++
	l.twice = l.twice || l.now[e.Number] > 1
	l.mu.Unlock()
	time.Sleep(l.slow)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now[e.Number]--
	l.handled = append(l.handled, fmt.Sprintf("%s %s by %s", e.Kind, e.Action, e.Sender.Login))
	return true, nil
}

func (l *listener) got() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.handled))
}

func TestWhichEventsAreActedOn(t *testing.T) {
	l := &listener{now: map[int]int{}}
	s := run(t, newFleet(), func(o *serve.Options) { o.Events = l })
	s.ready(t)
	renovate, alice := bot.Actor{Login: "renovate", Bot: true}, bot.Actor{Login: "alice"}
	send := func(i int, e bot.Event) {
		t.Helper()
		if code, text := s.post(t, "shop", fmt.Sprint(i), event(t, e), ""); code != 202 {
			t.Fatalf("%d %s", code, text)
		}
	}
	for i, e := range []bot.Event{
		{Kind: bot.EventPullRequest, Action: "opened", Sender: renovate, Number: 1}, // its status check is wanted too
		{Kind: bot.EventComment, Action: "created", Sender: renovate, Number: 1},
		{Kind: bot.EventReview, Action: "submitted", Sender: renovate, Number: 1},
	} {
		send(i, e)
	}
	want := []string{"pull-request opened by renovate"}
	eventually(t, "what a bot did is acted on", func() bool { return slices.Equal(l.got(), want) })
	time.Sleep(500 * time.Millisecond)
	if got := l.got(); !slices.Equal(got, want) || s.count("north") != 1 {
		t.Errorf("acted on %q, and %d rounds of north; want %q and the first round", got, s.count("north"), want)
	}
	send(9, bot.Event{Kind: bot.EventComment, Action: "created", Sender: alice, Number: 1})
	eventually(t, "a person's comment makes a round", func() bool { return s.count("north") == 2 })
	if got := strings.Join(l.got(), ", "); !strings.Contains(got, "comment created by alice") {
		t.Errorf("acted on %s", got)
	}
}

func TestAThreadIsActedOnOnceAtATime(t *testing.T) {
	l := &listener{now: map[int]int{}, slow: 100 * time.Millisecond}
	s := run(t, newFleet(), func(o *serve.Options) { o.Events = l })
	s.ready(t)
	for i := range 8 {
		e := bot.Event{Kind: bot.EventComment, Action: "created", Sender: bot.Actor{Login: "alice"}, Thread: bot.AsIssue, Number: 1 + i%2}
		e.Comment.ID = int64(i)
		if code, text := s.post(t, "shop", fmt.Sprint(i), event(t, e), ""); code != 202 {
			t.Fatalf("%d %s", code, text)
		}
	}
	eventually(t, "all are acted on", func() bool { return len(l.got()) == 8 })
	if l.twice {
		t.Error("a thread was acted on twice at the same time")
	}
}
