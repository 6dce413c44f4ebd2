package ledger_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"holdfast/bot/ledger"
	"holdfast/gitops/repo/repotest"
)

// fill writes n records in batches of 100, in one push, and packs the repository.
func (w *world) fill(t testing.TB, n int) {
	t.Helper()
	var batches [][]ledger.Record
	for i := 0; i < n; i += 100 {
		var records []ledger.Record
		for j := i; j < min(i+100, n); j++ {
			records = append(records, seen(fmt.Sprint("web", j), "3"))
		}
		batches = append(batches, records)
	}
	w.batchesOf(t, batches)
	repotest.Git(t, w.dir, "gc", "-q")
}

func BenchmarkVerify(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			w.fill(b, n)
			b.ResetTimer()
			b.ReportAllocs()
			for range b.N {
				if report := w.verify(b); report.Records != n || report.Verdict != ledger.Unanchored {
					b.Fatalf("%d records, %s: %v", report.Records, report.Verdict, report.Problems)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "us/record")
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{0, 10_000} {
		b.Run(fmt.Sprint("1000 to ", n), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				w := newWorld(b)
				if n > 0 {
					w.fill(b, n)
				}
				var records []ledger.Record
				for i := range 1000 {
					records = append(records, seen(fmt.Sprint("new", i), "3"))
				}
				b.StartTimer()
				if _, written := w.append(b, records...); written != 1000 {
					b.Fatal(written)
				}
			}
		})
	}
}

// TestALargeLedger verifies as many records as HOLDFAST_LEDGER_RECORDS says, and prints time and memory.
func TestALargeLedger(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("HOLDFAST_LEDGER_RECORDS"))
	if err != nil {
		t.Skip("set HOLDFAST_LEDGER_RECORDS=100000 to measure")
	}
	w := newWorld(t)
	begin := time.Now()
	w.fill(t, n)
	t.Logf("written in %s", time.Since(begin).Round(time.Millisecond))
	var most uint64
	used := cpu(t)
	begin = time.Now()
	count := 0
	report := w.verify(t, func(in *ledger.Input) {
		in.Each = func(ledger.Entry) {
			if count++; count%10_000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
		}
	})
	if report.Records != n || report.Verdict != ledger.Unanchored {
		t.Errorf("%d records, %s: %v", report.Records, report.Verdict, report.Problems)
	}
	t.Logf("%d records verified in %s, %s of CPU, at most %d MiB of heap in use", n, time.Since(begin).Round(time.Millisecond), cpu(t)-used, most>>20)
}

// cpu is what the process has used so far.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Round(time.Millisecond)
}
