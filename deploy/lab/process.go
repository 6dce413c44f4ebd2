package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// supervisor starts programs and stops exactly those.
//
// All programs are started from one operating system thread that lives as long as the supervisor: Linux ties "die
// with the parent" to the thread that started the child, and Go may end any other thread at any time.
type supervisor struct {
	dir    string
	starts chan func()

	mu        sync.Mutex
	processes []*process
	stopped   bool
}

// process is one running program.
type process struct {
	name string
	log  string // path of its output
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended; read it after done
}

func newSupervisor(dir string) *supervisor {
	s := &supervisor{dir: dir, starts: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		for start := range s.starts {
			start()
		}
	}()
	return s
}

// start runs a program with exactly the environment given. Its output goes to <dir>/<name>.log.
func (s *supervisor) start(name, path string, env []string, args ...string) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, fmt.Errorf("start %s: the lab is stopped", name)
	}
	logFile := filepath.Join(s.dir, name+".log")
	output, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer output.Close() // the child has its own copy
	p := &process{name: name, log: logFile, done: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir = s.dir
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	s.starts <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	s.processes = append(s.processes, p)
	return p, nil
}

// stop kills the programs, the last started first, and waits for each. The data is throw-away, so no program is asked
// to end by itself: an API server takes seconds for that.
func (s *supervisor) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	s.stopped = true
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].kill()
	}
	close(s.starts)
}

func (s *supervisor) pids() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []int
	for _, p := range s.processes {
		if p.running() {
			ids = append(ids, p.cmd.Process.Pid)
		}
	}
	return ids
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the program's process group and waits. It signals only while the program has not been waited for, so
// its id cannot belong to anyone else. The signal fails only for a program that ends at this very moment.
func (p *process) kill() {
	if p.running() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
	<-p.done
}

// await calls probe until it succeeds. It gives up when the program ends, the context does, or timeout has passed,
// and then tells what the probe said last and the end of the program's log.
func (p *process) await(ctx context.Context, what string, timeout time.Duration, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		last := probe(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended (%v) before %s\n%s", p.name, p.err, what, p.tail())
		case <-ctx.Done():
			why := fmt.Errorf("waited %s", timeout)
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				why = ctx.Err()
			}
			return fmt.Errorf("%s: not %s: %w; last answer: %v\n%s", p.name, what, why, last, p.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tail returns the end of the program's log, for failure messages.
func (p *process) tail() string {
	const lines = 15
	content, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return fmt.Sprintf("end of %s:\n%s", p.log, strings.Join(all[max(0, len(all)-lines):], "\n"))
}
