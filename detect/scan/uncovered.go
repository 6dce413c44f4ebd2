package scan

import (
	"fmt"
	"sync"
	"time"

	"holdfast/detect"
	"holdfast/detect/audit"
)

// uncovered counts drifts that nobody is named for because the audit log was not being written when they may have
// been made. Members are judged at once.
type uncovered struct {
	mu    sync.Mutex
	count int
}

func (u *uncovered) note(history *audit.History, f detect.Field) {
	if covered, _ := history.Covers(f); covered {
		return
	}
	u.mu.Lock()
	u.count++
	u.mu.Unlock()
}

// notes says what the log does not cover, and what of it could not be read.
func (u *uncovered) notes(log *audit.Log) []string {
	if log == nil {
		return nil
	}
	notes := log.Notes()
	switch {
	case u.count > 0 && log.First.IsZero():
		notes = append(notes, fmt.Sprintf("the audit log holds no event: whoever changed the %d drifting fields is not in it", u.count))
	case u.count > 0:
		notes = append(notes, fmt.Sprintf("the audit log begins at %s and ends at %s: %d drifting fields changed, or may have, outside of it, and whoever changed them is not in it",
			log.First.UTC().Format(time.RFC3339), log.Last.UTC().Format(time.RFC3339), u.count))
	}
	return notes
}
