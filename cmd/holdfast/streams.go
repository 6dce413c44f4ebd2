package main

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// streams are the ends that a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// color and progress say whether out and err are terminals; width is the terminal's, 0 elsewhere.
	color, progress bool
	width           int
	now             func() time.Time
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
	s := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now}
	s.color = term.IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	s.progress = term.IsTerminal(err)
	if w, _, e := term.GetSize(out); e == nil && term.IsTerminal(out) {
		s.width = w
	}
	return s
}
