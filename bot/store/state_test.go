package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot/store"
)

func TestALockHasOneHolder(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		a, b := open(t, o), open(t, o)
		first, second := start(t, a, store.Work{}), start(t, b, store.Work{})
		release, err := first.Lock(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range map[string]*store.Worker{"the holder": first, "another": second} {
			if _, err := w.Lock(t.Context(), "shop"); !errors.Is(err, store.ErrBusy) {
				t.Errorf("%s gets a lock that is held: %v", name, err)
			}
		}
		if free, err := second.Lock(t.Context(), "fleet"); err != nil {
			t.Errorf("a lock of another name: %v", err)
		} else {
			free()
		}
		release()
		if release, err = second.Lock(t.Context(), "shop"); err != nil {
			t.Fatalf("a lock that was released: %v", err)
		}
		stop(t, second)
		if _, err := first.Lock(t.Context(), "shop"); err != nil {
			t.Errorf("the lock of a worker that stopped: %v", err)
		}
		release() // is not the holder any more
		if _, err := first.Lock(t.Context(), "shop"); !errors.Is(err, store.ErrBusy) {
			t.Errorf("a stranger's release freed the lock: %v", err)
		}
	})
}

func TestStopLetsAJobEndOrGivesItBack(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		begun := make(chan bool, 2)
		w := start(t, s, store.Work{Grace: 300 * time.Millisecond, Event: func(ctx context.Context, d store.Delivery) error {
			begun <- true
			if d.Event.Delivery == "quick" {
				time.Sleep(50 * time.Millisecond)
				return nil
			}
			<-ctx.Done()
			return errors.New("the scan was interrupted")
		}})
		deliver(t, s, "quick")
		deliver(t, s, "slow")
		<-begun
		<-begun
		stop(t, w)
		if done, waits := depth(t, s, "event", "completed"), depth(t, s, "event", "available"); done != 1 || waits != 1 {
			t.Errorf("%d done and %d given back, want one each", done, waits)
		}
		var attempt atomic.Int32
		start(t, s, store.Work{Event: func(_ context.Context, d store.Delivery) error {
			attempt.Store(int32(d.Attempt))
			return nil
		}})
		eventually(t, "the next start works what was given back", func() bool { return depth(t, s, "event", "completed") == 2 })
		if n := attempt.Load(); n != 1 {
			t.Errorf("attempt %d, want 1: an interruption is no failure", n)
		}
	})
}

func TestOfSeveralProcessesOneAsksForADueRound(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		a, b := open(t, o), open(t, o)
		hourly := []store.Schedule{{Cluster: "north", Every: time.Hour}, {Cluster: "south", Every: time.Hour}}
		if err := a.Settle(t.Context(), hourly); err != nil {
			t.Fatal(err)
		}
		var asked atomic.Int32
		var wait sync.WaitGroup
		for i := range 10 {
			wait.Go(func() {
				due, err := []*store.Store{a, b}[i%2].AskDue(t.Context(), hourly)
				if err != nil {
					t.Error(err)
				}
				asked.Add(int32(len(due)))
			})
		}
		wait.Wait()
		if asked.Load() != 2 || depth(t, a, "round", "available") != 2 {
			t.Errorf("%d rounds were asked for, %d wait; want 2", asked.Load(), depth(t, a, "round", "available"))
		}
		// A shorter interval holds at once.
		often := []store.Schedule{{Cluster: "north", Every: 50 * time.Millisecond}}
		if err := a.Settle(t.Context(), often); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		if due, err := a.AskDue(t.Context(), often); err != nil || !slices.Equal(due, []string{"north"}) {
			t.Errorf("after its interval was shortened: %v, %v", due, err)
		}
	})
}

func TestScansAreKeptUntilTheClusterGoes(t *testing.T) {
	type scan struct{ Drifts []string }
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		big := scan{slices.Repeat([]string{"Deployment shop/web"}, 100_000)}
		for cluster, what := range map[string]scan{"north": {[]string{"old"}}, "south": big} {
			if err := s.SaveScan(t.Context(), cluster, what); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.SaveScan(t.Context(), "north", scan{[]string{"new"}}); err != nil {
			t.Fatal(err)
		}
		read := func() map[string]scan {
			out := map[string]scan{}
			stored, err := s.Scans(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, each := range stored {
				var one scan
				if err := each.Decode(&one); err != nil {
					t.Fatal(err)
				}
				out[each.Cluster] = one
			}
			return out
		}
		if diff := cmp.Diff(map[string]scan{"north": {[]string{"new"}}, "south": big}, read()); diff != "" {
			t.Error(diff)
		}
		if err := s.Settle(t.Context(), []store.Schedule{{Cluster: "north", Every: time.Hour}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]scan{"north": {[]string{"new"}}}, read()); diff != "" {
			t.Errorf("south is not configured any more: %s", diff)
		}
	})
}

func TestAKnownScanIsNotReadAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		known := map[string]store.Stamp{}
		// changed lists the clusters whose scans are read, and gets to know them all.
		changed := func() (out []string) {
			t.Helper()
			stored, err := s.Scans(t.Context(), known)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range stored {
				if one.Decode != nil {
					out = append(out, one.Cluster)
				}
				known[one.Cluster] = one.Stamp
			}
			return out
		}
		save := func(cluster string) {
			t.Helper()
			if err := s.SaveScan(t.Context(), cluster, "found"); err != nil {
				t.Fatal(err)
			}
		}
		save("north")
		save("south")
		if got := changed(); !slices.Equal(got, []string{"north", "south"}) {
			t.Errorf("at first %q are read, want both", got)
		}
		for range 20 { // within one millisecond of the database's clock, some of them
			if got := changed(); got != nil {
				t.Fatalf("%q are read again, and nothing changed", got)
			}
			save("south")
			if got := changed(); !slices.Equal(got, []string{"south"}) {
				t.Fatalf("%q are read, want south, which was kept anew", got)
			}
		}
	})
}

func TestSeveralProcessesMayStartAtTheSameTime(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				s, err := store.Open(t.Context(), o)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if err := s.Ping(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options store.Options
		want    string
	}{
		"neither place":            {store.Options{}, "either a SQLite file or a PostgreSQL URL"},
		"both places":              {store.Options{File: "a", URL: "b"}, "either a SQLite file or a PostgreSQL URL"},
		"a folder that is missing": {store.Options{File: filepath.Join(dir, "none", "holdfast.db")}, "does not exist: make it"},
		"a file of another kind":   {store.Options{File: text}, "not a database"},
		"a folder":                 {store.Options{File: dir}, "no regular file"},
		"a URL that is none":       {store.Options{URL: "postgres://u:hunter2@host:port/x"}, "no PostgreSQL connection string"},
		"nobody listens":           {store.Options{URL: "postgres://u:hunter2@127.0.0.1:1/x"}, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), c.options)
			if err == nil {
				s.Close()
				t.Fatal("it opens")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v; want one that says %q, without the password", err, c.want)
			}
		})
	}
}

func TestASQLiteFileMayHaveAnyNameAndIsPrivate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b?c=1&d#e%20.db")
	s := open(t, store.Options{File: file})
	if err := s.Ask(t.Context(), "north", "push"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Name(), filepath.Base(file)) || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode().Perm())
		}
	}
}
