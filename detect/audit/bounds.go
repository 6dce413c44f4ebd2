package audit

import (
	"errors"
	"io"
	"slices"
)

// bounds limits what is read of a log, in bytes once unpacked, and what is kept of it, in writes and in bytes of their
// bodies. Zero bounds limit nothing.
type bounds struct {
	read          int64
	writes, bytes int
}

// usual is a day of a large cluster.
func usual() bounds { return bounds{read: 4 << 30, writes: 200_000, bytes: 512 << 20} }

// errTooMuch is told of a log that is longer than the bounds.
var errTooMuch = errors.New("longer than 4 GiB once unpacked: cut it to the days in question")

// cappedReader fails once more than left bytes were read.
type cappedReader struct {
	r    io.Reader
	left int64
}

func (c *cappedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p[:min(int64(len(p)), c.left+1)])
	if c.left -= int64(n); c.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}

func (e Event) size() int { return len(e.request) + len(e.response) }

// trim drops the oldest writes, until a quarter of the bounds is free again.
func (l *Log) trim() {
	all := make([]Event, 0, l.kept)
	for _, events := range l.events {
		all = append(all, events...)
	}
	slices.SortFunc(all, func(a, b Event) int { return a.Time.Compare(b.Time) })
	kept, bytes, drop := l.kept, l.bytes, 0
	for ; drop < len(all) && (kept > l.bounds.writes*3/4 || bytes > l.bounds.bytes*3/4); drop++ {
		kept, bytes = kept-1, bytes-all[drop].size()
	}
	newest := all[drop-1].Time
	for target, events := range l.events {
		left := slices.DeleteFunc(events, func(e Event) bool { return !e.Time.After(newest) })
		if len(left) == 0 {
			delete(l.events, target)
			continue
		}
		l.events[target] = left
	}
	l.kept, l.bytes = 0, 0
	for _, events := range l.events {
		for _, e := range events {
			l.kept, l.bytes = l.kept+1, l.bytes+e.size()
		}
	}
	l.Dropped += len(all) - l.kept
	l.Lose(Window{From: all[0].Time, To: newest})
}
