package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/store"
	"holdfast/bot/store/storetest"
)

// onBoth runs the same test on a SQLite file and on a PostgreSQL database, each empty.
func onBoth(t *testing.T, test func(t *testing.T, o store.Options)) {
	t.Run("SQLite", func(t *testing.T) {
		test(t, store.Options{File: filepath.Join(t.TempDir(), "holdfast.db")})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		if testing.Short() {
			t.Skip("starts a PostgreSQL")
		}
		server, err := postgres.start()
		if err != nil {
			t.Fatal(err)
		}
		test(t, store.Options{URL: server.Database(t)})
	})
}

// postgres is one server for all tests, started by the first that needs it.
var postgres shared

type shared struct {
	once   sync.Once
	server *storetest.Server
	err    error
}

func (s *shared) start() (*storetest.Server, error) {
	s.once.Do(func() { s.server, s.err = storetest.Start() })
	return s.server, s.err
}

func (s *shared) stop() {
	if s.server != nil {
		s.server.Stop()
	}
}

func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// start works jobs until the test ends.
func start(t *testing.T, s *store.Store, work store.Work) *store.Worker {
	t.Helper()
	if work.Round == nil {
		work.Round = func(context.Context, store.Round) error { return nil }
	}
	if work.Event == nil {
		work.Event = func(context.Context, store.Delivery) error { return nil }
	}
	w, err := s.Start(t.Context(), work)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, w) })
	return w
}

func stop(t *testing.T, w *store.Worker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := w.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

func delivery(id string) store.Delivery {
	return store.Delivery{Hook: "shop", Event: bot.Event{Delivery: id, Kind: bot.EventPush, Repo: "https://git.example.test/shop.git", Branch: "main"}}
}

func deliver(t *testing.T, s *store.Store, id string) bool {
	t.Helper()
	fresh, err := s.Deliver(t.Context(), delivery(id), id)
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

// depth counts the jobs of a kind in one of the states.
func depth(t *testing.T, s *store.Store, kind string, states ...string) int {
	t.Helper()
	all, err := s.Depths(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range all {
		if d.Kind == kind && slices.Contains(states, d.State) {
			n += d.Jobs
		}
	}
	return n
}

func TestADeliveryIsWorkedOnceHoweverOftenItComes(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		if !deliver(t, s, "1") || deliver(t, s, "1") || !deliver(t, s, "2") {
			t.Error("want the first of each to be fresh, and no other")
		}
		other := delivery("1")
		other.Hook = "other"
		if fresh, err := s.Deliver(t.Context(), other, "1"); !fresh || err != nil {
			t.Errorf("the same ID at another hook: %v, %v", fresh, err)
		}
		if fresh, err := s.Deliver(t.Context(), delivery("3"), "3", "2"); fresh || err != nil {
			t.Errorf("one of two IDs is known: fresh %v, %v", fresh, err)
		}
		if !deliver(t, s, "3") {
			t.Error("the ID of a delivery that was refused is taken")
		}
		var mu sync.Mutex
		var got []store.Delivery
		start(t, s, store.Work{Event: func(_ context.Context, d store.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, d)
			return nil
		}})
		eventually(t, "four events are worked", func() bool { return depth(t, s, "event", "completed") == 4 })
		mu.Lock()
		defer mu.Unlock()
		slices.SortFunc(got, func(a, b store.Delivery) int {
			return strings.Compare(a.Hook+a.Event.Delivery, b.Hook+b.Event.Delivery)
		})
		want := []store.Delivery{other, delivery("1"), delivery("2"), delivery("3")}
		for i := range want {
			want[i].Attempt = 1
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRequestsForARoundAreOneWhileItWaitsAndOneMoreWhileItRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		for i := range 10 {
			if err := s.Ask(t.Context(), "north", fmt.Sprintf("push %d", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Ask(t.Context(), "south", "its schedule"); err != nil {
			t.Fatal(err)
		}
		var north, atOnce, most atomic.Int32
		var reason atomic.Value
		begun, goOn := make(chan bool, 10), make(chan bool)
		start(t, s, store.Work{Round: func(_ context.Context, r store.Round) error {
			if r.Cluster != "north" {
				return nil
			}
			north.Add(1)
			reason.Store(r.Reason)
			most.Store(max(most.Load(), atOnce.Add(1)))
			defer atOnce.Add(-1)
			begun <- true
			<-goOn
			return nil
		}, Rounds: 4})
		<-begun
		if got := reason.Load(); got != "push 9" {
			t.Errorf("the round's reason is %q, want the last one", got)
		}
		var wait sync.WaitGroup
		for range 10 { // while it runs
			wait.Go(func() {
				if err := s.Ask(t.Context(), "north", "push"); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		goOn <- true
		<-begun
		goOn <- true
		eventually(t, "no round is left", func() bool { return depth(t, s, "round", "completed") == 3 })
		time.Sleep(time.Second) // nothing more comes
		if north.Load() != 2 || most.Load() != 1 {
			t.Errorf("%d rounds of north, up to %d at once; want 2, one at a time", north.Load(), most.Load())
		}
	})
}

func TestNoRequestIsLostBetweenTheEndOfARoundAndTheNext(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		var asked, seen atomic.Int64 // the newest request, and the newest that a round has begun after
		start(t, s, store.Work{Round: func(context.Context, store.Round) error {
			seen.Store(asked.Load())
			return nil
		}})
		for i := range int64(60) {
			asked.Store(i + 1)
			if err := s.Ask(t.Context(), "north", "push"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(i%7) * 5 * time.Millisecond)
		}
		eventually(t, "a round has begun after the last request", func() bool { return seen.Load() == 60 })
		eventually(t, "no round is left", func() bool { return depth(t, s, "round", "available", "running", "scheduled", "retryable") == 0 })
	})
}

func TestAFailedJobIsTriedAgainAndAPoisonedOneEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		var rounds, panics atomic.Int32
		var lost sync.Map
		start(t, s, store.Work{
			FirstWait: time.Millisecond,
			Round: func(_ context.Context, r store.Round) error {
				if rounds.Add(1) < 3 {
					return errors.New("no answer")
				}
				if r.Attempt != 3 {
					t.Errorf("attempt %d, want 3", r.Attempt)
				}
				return nil
			},
			Event: func(context.Context, store.Delivery) error {
				panics.Add(1)
				panic("always")
			},
			GivenUp: func(kind string) { lost.Store(kind, true) },
		})
		deliver(t, s, "poisoned")
		if err := s.Ask(t.Context(), "north", "push"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the round succeeds", func() bool { return depth(t, s, "round", "completed") == 1 })
		eventually(t, "the event is given up", func() bool { return depth(t, s, "event", "discarded") == 1 })
		if n := panics.Load(); n != 8 {
			t.Errorf("%d attempts at the poisoned event, want 8", n)
		}
		if _, told := lost.Load("event"); !told {
			t.Error("that the event was given up was not told")
		}
	})
}

func TestABusyJobWaitsWithoutCounting(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		var calls atomic.Int32
		start(t, s, store.Work{Round: func(_ context.Context, r store.Round) error {
			if calls.Add(1) == 1 {
				return fmt.Errorf("repository shop: %w", store.ErrBusy)
			}
			if r.Attempt != 1 {
				t.Errorf("attempt %d, want 1: waiting is no failure", r.Attempt)
			}
			return nil
		}})
		if err := s.Ask(t.Context(), "north", "push"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the round ends", func() bool { return depth(t, s, "round", "completed") == 1 })
	})
}

func TestManyDeliveriesAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		const senders, each = 20, 15
		var worked sync.Map
		var twice, events atomic.Int32
		start(t, s, store.Work{Events: 8, Event: func(_ context.Context, d store.Delivery) error {
			if _, again := worked.LoadOrStore(d.Event.Delivery, true); again {
				twice.Add(1)
			}
			events.Add(1)
			return s.Ask(t.Context(), "north", "push")
		}})
		var wait sync.WaitGroup
		for sender := range senders {
			wait.Go(func() {
				for i := range each {
					id := fmt.Sprintf("%d-%d", sender, i)
					for range 2 { // each is sent twice
						if _, err := s.Deliver(t.Context(), delivery(id), id); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wait.Wait()
		eventually(t, "all are worked", func() bool {
			return events.Load() == senders*each && depth(t, s, "event", "available", "running") == 0 && depth(t, s, "round", "available", "running") == 0
		})
		if twice.Load() > 0 {
			t.Errorf("%d events were worked twice", twice.Load())
		}
		if n := depth(t, s, "round", "completed"); n < 1 || n > senders*each/2 {
			t.Errorf("%d rounds for %d events: many events are to become few rounds", n, senders*each)
		}
	})
}
