package audit

import (
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// Flip is a write that gave a field another value than it had, or that was somebody else's than the one before.
type Flip struct {
	// Writer is who wrote, with User always set; Confidence is ByAudit.
	Writer detect.Writer
	// Value is what the field held afterwards; absent where the write removed it. Secrets' values are never known.
	Value gitops.Value
}

// Writers gives the sequence of distinct writers of a field of a live object from since on, oldest first: several
// writes in a row by one user are one Flip, the first of them. Only writes whose event holds the change count, so
// the answer is a lower bound; [a b a b] is two writers and three flips. A nil Log gives none.
func (l *Log) Writers(live gitops.Object, path gitops.Path, since time.Time) []Flip {
	return nil
}
