package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/bot/store"
)

// The environment of a worker process: this test binary, started again.
const (
	childFile = "HOLDFAST_STORE_FILE"
	childURL  = "HOLDFAST_STORE_URL"
	childHold = "HOLDFAST_STORE_HOLD"
)

// lease is short, so that tests need not wait long for a dead worker's jobs.
const lease = time.Second

func TestMain(m *testing.M) {
	if os.Getenv(childFile)+os.Getenv(childURL) != "" {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	postgres.stop()
	os.Exit(code)
}

// child works jobs until it is killed. It says on stdout what it begins and ends, and never goes on where hold
// names the place: "begin x" before the effect of x, "end x" after it and before the queue knows.
func child() error {
	s, err := store.Open(context.Background(), store.Options{File: os.Getenv(childFile), URL: os.Getenv(childURL), Lease: lease})
	if err != nil {
		return err
	}
	hold := strings.Split(os.Getenv(childHold), ",")
	var mu sync.Mutex
	say := func(line string) {
		mu.Lock()
		fmt.Println(line)
		mu.Unlock()
		if slices.Contains(hold, line) {
			select {}
		}
	}
	work := func(name string) error {
		say("begin " + name)
		say("end " + name)
		return nil
	}
	_, err = s.Start(context.Background(), store.Work{
		Round: func(_ context.Context, r store.Round) error { return work(r.Cluster) },
		Event: func(_ context.Context, d store.Delivery) error { return work(d.Event.Delivery) },
	})
	if err != nil {
		return err
	}
	select {}
}

// process is a worker process and what it has said.
type process struct {
	cmd   *exec.Cmd
	mu    sync.Mutex
	lines []string
}

func startProcess(t *testing.T, o store.Options, hold ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), childFile+"="+o.File, childURL+"="+o.URL, childHold+"="+strings.Join(hold, ","))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan bool)
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		p.kill()
		<-read
	})
	return p
}

// kill is kill -9: nothing of the process runs after it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) && !strings.Contains(err.Error(), "already called") && !strings.Contains(err.Error(), "file already closed") {
		panic(err)
	}
}

func (p *process) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

func count(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

func TestAKilledWorkerLosesNothingAndDoublesNoMore(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		// One event dies before its effect, one after it; a round dies in its middle, and one after its end.
		for _, id := range []string{"done-before", "dies-before-effect", "dies-after-effect", "waits-1", "waits-2"} {
			deliver(t, s, id)
		}
		for _, cluster := range []string{"round-dies-before", "round-dies-after"} {
			if err := s.Ask(t.Context(), cluster, "push"); err != nil {
				t.Fatal(err)
			}
		}
		first := startProcess(t, o, "begin dies-before-effect", "end dies-after-effect", "begin round-dies-before", "end round-dies-after")
		eventually(t, "the first process is in the middle of four jobs", func() bool {
			said := first.said()
			return count(said, "begin dies-before-effect") == 1 && count(said, "end dies-after-effect") == 1 &&
				count(said, "begin round-dies-before") == 1 && count(said, "end round-dies-after") == 1 &&
				depth(t, s, "event", "completed") == 3
		})
		// Requests that come while a round runs must outlive its process.
		if err := s.Ask(t.Context(), "round-dies-after", "push"); err != nil {
			t.Fatal(err)
		}
		first.kill()
		second := startProcess(t, o)
		eventually(t, "all is done", func() bool {
			return depth(t, s, "event", "completed") == 5 && depth(t, s, "round", "completed") >= 2 &&
				depth(t, s, "event", "available", "running", "retryable", "scheduled")+depth(t, s, "round", "available", "running", "retryable", "scheduled") == 0
		})
		said := append(first.said(), second.said()...)
		for line, want := range map[string]int{
			"end done-before": 1, "end waits-1": 1, "end waits-2": 1,
			"end dies-before-effect": 1,
			"end dies-after-effect":  2, // the queue could not know: at least once
			"end round-dies-before":  1,
			"end round-dies-after":   2, // the second answers the later request as well
		} {
			if got := count(said, line); got != want {
				t.Errorf("%q %d times, want %d\nfirst: %q\nsecond: %q", line, got, want, first.said(), second.said())
			}
		}
	})
}

func TestWorkersKilledAtAnyMomentLoseNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		const kills, each = 4, 25
		var said []string
		for k := range kills {
			for i := range each {
				deliver(t, s, fmt.Sprintf("%d-%d", k, i))
			}
			p := startProcess(t, o)
			// At another moment each time: at once, among the jobs, or at their end.
			eventually(t, "the process has begun", func() bool { return len(p.said()) >= k*15 })
			p.kill()
			said = append(said, p.said()...)
		}
		p := startProcess(t, o)
		eventually(t, "all is done", func() bool {
			return depth(t, s, "event", "completed") == kills*each && depth(t, s, "event", "discarded", "available", "running", "retryable") == 0
		})
		said = append(said, p.said()...)
		extra := 0
		for k := range kills {
			for i := range each {
				n := count(said, fmt.Sprintf("end %d-%d", k, i))
				if n == 0 {
					t.Errorf("%d-%d is lost", k, i)
				}
				extra += max(n-1, 0)
			}
		}
		if most := kills * 4; extra > most { // those that were between their effect and the commit of their end
			t.Errorf("%d events were worked again after %d kills, want %d at most: one for each that is worked at the same time", extra, kills, most)
		}
	})
}

func TestAJobThatKillsItsProcessIsGivenUp(t *testing.T) {
	onBoth(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		if err := s.Ask(t.Context(), "deadly", "push"); err != nil {
			t.Fatal(err)
		}
		for attempt := 1; attempt <= 5; attempt++ {
			p := startProcess(t, o, "begin deadly")
			eventually(t, fmt.Sprintf("attempt %d begins", attempt), func() bool { return count(p.said(), "begin deadly") == 1 })
			p.kill()
		}
		p := startProcess(t, o, "begin deadly")
		eventually(t, "it is given up", func() bool { return depth(t, s, "round", "discarded") == 1 })
		time.Sleep(2 * lease)
		if n := count(p.said(), "begin deadly"); n != 0 {
			t.Errorf("it was begun %d times after its last attempt", n)
		}
	})
}

func TestTheNextStartOnAFileTakesOverAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "holdfast.db")
	s := open(t, store.Options{File: file})
	deliver(t, s, "1")
	p := startProcess(t, store.Options{File: file}, "begin 1")
	eventually(t, "the process is in its job", func() bool { return count(p.said(), "begin 1") == 1 })
	p.kill()
	began := time.Now()
	w := start(t, s, store.Work{}) // whose lease is the long default
	eventually(t, "the job is done", func() bool { return depth(t, s, "event", "completed") == 1 })
	if took := time.Since(began); took > store.DefaultLease/3 {
		t.Errorf("it took %s", took)
	}
	// A second worker beside the first waits for its lease instead.
	deliver(t, s, "2")
	second := startProcess(t, store.Options{File: file})
	time.Sleep(500 * time.Millisecond)
	if release, err := w.Lock(t.Context(), "shop"); err != nil {
		t.Errorf("the first worker was taken for dead: %v", err)
	} else {
		release()
	}
	second.kill()
}

func TestWorkIsInterruptedBeforeOthersTakeItOver(t *testing.T) {
	file := t.TempDir() + "/holdfast.db"
	s := open(t, store.Options{File: file, Lease: lease})
	begun, ended := make(chan bool), make(chan error, 1)
	var once sync.Once
	w := start(t, s, store.Work{Grace: time.Second, Event: func(ctx context.Context, _ store.Delivery) error {
		first := false
		once.Do(func() { first = true })
		if !first {
			return nil
		}
		begun <- true
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	}})
	deliver(t, s, "1")
	<-begun
	release := blockFile(t, file)
	select {
	case cause := <-ended:
		if !strings.Contains(cause.Error(), "out of reach") {
			t.Errorf("interrupted by %v", cause)
		}
	case <-time.After(10 * lease):
		t.Error("the work goes on although the database is out of reach")
	}
	release()
	stop(t, w)
}
