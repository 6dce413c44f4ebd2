package store

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"
)

func TestANewerStoreIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "holdfast.db")
	s, err := Open(t.Context(), Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	change(t, s, "INSERT INTO holdfast_migration (version) VALUES ($1)", len(migrations())+1)
	s.Close()
	if _, err := Open(t.Context(), Options{File: file}); err == nil || !strings.Contains(err.Error(), "made by a newer holdfast") {
		t.Errorf("%v; want one that says that a newer holdfast made it", err)
	}
}

func TestOldDeliveriesAreForgotten(t *testing.T) {
	s, err := Open(t.Context(), Options{File: filepath.Join(t.TempDir(), "holdfast.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range []string{"old", "new"} {
		if _, err := s.Deliver(t.Context(), Delivery{Hook: "shop"}, id); err != nil {
			t.Fatal(err)
		}
	}
	change(t, s, "UPDATE holdfast_delivery SET at = {now} - $1 WHERE id = 'old'", (Retention + time.Minute).Milliseconds())
	if err := s.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"old": true, "new": false} {
		if fresh, err := s.Deliver(t.Context(), Delivery{Hook: "shop"}, id); fresh != want || err != nil {
			t.Errorf("%s is fresh: %v, %v", id, fresh, err)
		}
	}
}

func TestWaitsGrowUpToALimitAndDiffer(t *testing.T) {
	for attempt, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 4: 40 * time.Second, 7: longestWait, 8: longestWait, 100: longestWait} {
		seen := map[time.Duration]bool{}
		for range 20 {
			wait := time.Until(retries{5 * time.Second}.NextRetry(&rivertype.JobRow{Attempt: attempt})).Round(time.Millisecond)
			if wait < want*79/100 || wait > want*121/100 {
				t.Errorf("after attempt %d: %s, want about %s", attempt, wait, want)
			}
			seen[wait] = true
		}
		if len(seen) < 10 {
			t.Errorf("after attempt %d, 20 jobs wait %d different times: jitter is missing", attempt, len(seen))
		}
	}
}

func change(t *testing.T, s *Store, statement string, arguments ...any) {
	t.Helper()
	err := s.transact(t.Context(), func(tx transaction) error {
		_, err := tx.exec(t.Context(), statement, arguments...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
