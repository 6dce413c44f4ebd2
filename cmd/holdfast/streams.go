package main

import (
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"holdfast/bot/publish"
)

// streams are the ends that a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// color and progress say whether out and err are terminals; width is the terminal's, 0 elsewhere.
	color, progress bool
	width           int
	now             func() time.Time
	// grace, when set, is how long the process may take to end after a signal, in nanoseconds; a command that needs
	// longer than most says so here.
	grace *atomic.Int64
	// effects, when set, is told of each outside effect; tests end the process at them.
	effects publish.Watch
}

// checked remembers the first failure to write, so that a full disk does not pass for an empty answer.
type checked struct {
	io.Writer
	err error
}

func (c *checked) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

func standardStreams() streams {
	out, err := int(os.Stdout.Fd()), int(os.Stderr.Fd())
	s := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, grace: new(atomic.Int64)}
	s.grace.Store(int64(graceTime))
	s.color = term.IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	s.progress = term.IsTerminal(err)
	if w, _, e := term.GetSize(out); e == nil && term.IsTerminal(out) {
		s.width = w
	}
	return s
}
