package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"holdfast/gitops"
	"holdfast/gitops/repo/sign"
)

// Head is where a ledger stands.
type Head struct {
	// Commit is the newest batch; empty for a ledger that has none.
	Commit string
	// Time is when it was made.
	Time time.Time
}

// Batch is what one commit adds.
type Batch struct {
	Files   []gitops.Edit
	Message string
	// Time is that of the commit and of its records.
	Time time.Time
	// First and Last are the sequence numbers; both 0 for a batch of nothing.
	First, Last int64
}

// NewBatch makes the files of the records that are new to a ledger in this state, and takes them into the state. A
// clock that is behind the ledger's newest batch by more than Tolerance is an error, since times never go back.
func NewBatch(s *State, head Head, records []Record, signer sign.Signer, now time.Time) (Batch, error) {
	b := Batch{Time: now.UTC().Truncate(time.Second)}
	if behind := head.Time.Sub(b.Time); behind > 0 {
		if behind > Tolerance {
			return b, fmt.Errorf("the newest batch %.12s is of %s, and this clock says %s: set the clock", head.Commit,
				head.Time.UTC().Format(time.RFC3339), b.Time.Format(time.RFC3339))
		}
		b.Time = head.Time.UTC()
	}
	fresh, err := s.take(records)
	if err != nil || len(fresh) == 0 {
		return b, err
	}
	for _, r := range fresh {
		file, err := seal(r, place{previous: head.Commit, at: b.Time}, signer)
		if err != nil {
			return b, err
		}
		b.Files = append(b.Files, gitops.Edit{Path: r.name.Path(b.Time), After: file})
	}
	b.First, b.Last = fresh[0].name.Sequence, fresh[len(fresh)-1].name.Sequence
	b.Message = fmt.Sprintf("Records %d to %d\n\n%s\n", b.First, b.Last, summary(fresh))
	return b, nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
