package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"holdfast/bot"
)

// The kinds of jobs, each with a queue of its own, so that long rounds do not keep events waiting.
const (
	roundKind = "round"
	eventKind = "event"
)

// How often a job is tried before it is given up: rounds are asked for again by their schedule.
const (
	roundAttempts = 5
	eventAttempts = 8
)

// Round is a request to scan a cluster and to make the forges look as wanted.
type Round struct {
	Cluster string
	// Reason says what asked for it last: a schedule, a push.
	Reason string
	// Attempt counts from 1.
	Attempt int
}

// Delivery is a verified webhook delivery.
type Delivery struct {
	// Hook is the name of the webhook that it came to.
	Hook string
	// Request is the ID of the HTTP request, for logs.
	Request  string
	Event    bot.Event
	Received time.Time
	// Attempt counts from 1 when it is worked.
	Attempt int `json:"-"`
}

// ErrBusy is what a handler returns, wrapped or not, when what it needs is held by another: it is called again soon,
// and no attempt is counted.
var ErrBusy = errors.New("held by another round")

// Kinds are those of the jobs.
func Kinds() []string { return []string{roundKind, eventKind} }

// roundJob is the job of a round: one a cluster, whether it waits or runs.
type roundJob struct {
	Cluster string `json:"cluster" river:"unique"`
}

// Kind names the job for River.
func (roundJob) Kind() string { return roundKind }

// InsertOpts makes it unique.
func (roundJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue: roundKind, MaxAttempts: roundAttempts,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
	}
}

// eventJob is the job of a delivery.
type eventJob struct {
	Delivery Delivery `json:"delivery"`
}

// Kind names the job for River.
func (eventJob) Kind() string { return eventKind }

// InsertOpts bounds its attempts.
func (eventJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: eventKind, MaxAttempts: eventAttempts}
}

// Ask asks for a round of a cluster. It lasts when nil is returned.
func (s *Store) Ask(ctx context.Context, cluster, reason string) error {
	return s.wrap("asking for a round of "+cluster, s.transact(ctx, func(tx transaction) error { return ask(ctx, tx, cluster, reason) }))
}

// ask counts the request, so that a round that runs already finds it at its end, and adds a job unless there is one.
// The row is locked until the commit: a round that ends either sees the new count, or has ended before.
func ask(ctx context.Context, tx transaction, cluster, reason string) error {
	_, err := tx.exec(ctx, `INSERT INTO holdfast_round (cluster, asked, taken, reason) VALUES ($1, 1, 0, $2)
		ON CONFLICT (cluster) DO UPDATE SET asked = holdfast_round.asked + 1, reason = $2`, cluster, reason)
	if err != nil {
		return err
	}
	_, err = tx.insert(ctx, roundJob{Cluster: cluster})
	return err
}

// Deliver keeps a delivery for Start's handler, unless one with one of the IDs came to this hook before: fresh is
// false then. It lasts when nil is returned.
func (s *Store) Deliver(ctx context.Context, d Delivery, ids ...string) (fresh bool, err error) {
	errSeen := errors.New("seen")
	err = s.transact(ctx, func(tx transaction) error {
		for _, id := range ids {
			added, err := tx.exec(ctx, "INSERT INTO holdfast_delivery (hook, id, at) VALUES ($1, $2, {now}) ON CONFLICT (hook, id) DO NOTHING", d.Hook, id)
			if err != nil {
				return err
			}
			if added == 0 {
				return errSeen
			}
		}
		_, err := tx.insert(ctx, eventJob{d})
		return err
	})
	if errors.Is(err, errSeen) {
		return false, nil
	}
	return err == nil, s.wrap("keeping a delivery", err)
}

// retries waits longer after each attempt, with jitter, and no longer than longestWait.
type retries struct{ first time.Duration }

const longestWait = 5 * time.Minute

// NextRetry gives when a job that failed is tried again.
func (r retries) NextRetry(job *rivertype.JobRow) time.Time {
	wait := r.first
	for range max(job.Attempt, 1) - 1 {
		wait = min(2*wait, longestWait)
	}
	return time.Now().Add(wait - wait/5 + rand.N(2*wait/5))
}
