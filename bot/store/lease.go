package store

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// live says again and again that this worker lives, and tidies up behind those that do not. When the database does
// not answer for most of a lease, what runs here is interrupted before others may take it over.
func (w *Worker) live(ctx context.Context) {
	every := time.NewTicker(w.store.lease / 4)
	defer every.Stop()
	heard := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		limited, cancel := context.WithTimeout(ctx, w.store.lease/4)
		sent := time.Now()
		err := w.beat(limited)
		if err == nil {
			heard = sent
			err = w.store.tidy(limited)
		}
		cancel()
		if err != nil && ctx.Err() == nil {
			w.store.log.Warn("the store cannot be tended", "error", err.Error())
		}
		if time.Since(heard) > w.store.lease*3/4 {
			w.interrupt(errLease)
		}
	}
}

// interrupt ends the contexts of all handlers that run.
func (w *Worker) interrupt(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cancel := range w.running {
		cancel(cause)
	}
}

// beat renews the lease of this worker.
func (w *Worker) beat(ctx context.Context) error {
	return w.store.transact(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, "INSERT INTO holdfast_worker (id, seen) VALUES ($1, {now}) ON CONFLICT (id) DO UPDATE SET seen = {now}", w.id)
		return err
	})
}

// tidy gives the jobs and locks of dead workers to the living, adds a job where a round is wanted and none waits,
// and forgets old deliveries. Any number of processes may do it at the same time.
func (s *Store) tidy(ctx context.Context) error {
	// The jobs first: whoever took one of these had said before that it lives.
	jobs, err := s.db.running(ctx)
	if err != nil {
		return err
	}
	living := map[string]bool{}
	err = s.transact(ctx, func(tx transaction) error {
		return tx.query(ctx, "SELECT id FROM holdfast_worker WHERE seen >= {now} - $1", func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			living[id] = true
			return err
		}, s.lease.Milliseconds())
	})
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if n := len(job.AttemptedBy); n > 0 && living[job.AttemptedBy[n-1]] {
			continue
		}
		discard := job.Attempt >= job.MaxAttempts
		s.log.Warn("a job is taken over from a process that is gone", "kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "given_up", discard)
		if err := s.db.release(ctx, job, discard, "the process that worked it is gone"); err != nil {
			return err
		}
	}
	return s.transact(ctx, func(tx transaction) error {
		if _, err := tx.exec(ctx, "DELETE FROM holdfast_worker WHERE seen < {now} - $1", s.lease.Milliseconds()); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, "DELETE FROM holdfast_lock WHERE owner NOT IN (SELECT id FROM holdfast_worker)"); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, "DELETE FROM holdfast_delivery WHERE at < {now} - $1", Retention.Milliseconds()); err != nil {
			return err
		}
		var wanted []string
		err := tx.query(ctx, "SELECT cluster FROM holdfast_round WHERE asked > taken", func(scan func(...any) error) error {
			var cluster string
			err := scan(&cluster)
			wanted = append(wanted, cluster)
			return err
		})
		if err != nil {
			return err
		}
		for _, cluster := range wanted {
			if _, err := tx.insert(ctx, roundJob{Cluster: cluster}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Lock takes the lock of a name for this worker, or gives ErrBusy at once. The lock of a process that died is free
// after its lease. Release gives it back; it may be called when the context has ended.
func (w *Worker) Lock(ctx context.Context, name string) (release func(), err error) {
	var taken int64
	err = w.store.transact(ctx, func(tx transaction) error {
		var err error
		taken, err = tx.exec(ctx, `INSERT INTO holdfast_lock (name, owner) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET owner = $2
			WHERE holdfast_lock.owner NOT IN (SELECT id FROM holdfast_worker WHERE seen >= {now} - $3)`, name, w.id, w.store.lease.Milliseconds())
		return err
	})
	if err != nil {
		return nil, w.store.wrap("locking "+name, err)
	}
	if taken == 0 {
		return nil, ErrBusy
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err := w.store.transact(ctx, func(tx transaction) error {
			_, err := tx.exec(ctx, "DELETE FROM holdfast_lock WHERE name = $1 AND owner = $2", name, w.id)
			return err
		})
		if err != nil {
			w.store.log.Warn("a lock stays until this process ends", "lock", name, "error", err.Error())
		}
	}, nil
}

// pause is how long a job waits for what another holds. River makes jobs that wait no longer than five seconds
// available without its scheduler.
func pause() time.Duration { return time.Second + rand.N(3*time.Second) }

// mostRunning bounds how many running jobs are looked at; there are as many as workers.
const mostRunning = 10_000

// runningJobs lists the jobs in state running. River has this for its own rescue, by age.
func runningJobs(ctx context.Context, executor riverdriver.Executor) ([]*rivertype.JobRow, error) {
	return executor.JobGetStuck(ctx, &riverdriver.JobGetStuckParams{Max: mostRunning, StuckHorizon: time.Now().Add(24 * time.Hour)})
}

// releaseJob makes a running job available, or discards it, as River's own rescue does after a time. A job that was
// taken again since it was listed is left alone: its time is later then.
func releaseJob(ctx context.Context, executor riverdriver.Executor, job *rivertype.JobRow, discard bool, why string) error {
	if job.AttemptedAt == nil {
		return errors.New("a running job has no time")
	}
	now := time.Now().UTC()
	note, err := json.Marshal(rivertype.AttemptError{At: now, Attempt: job.Attempt, Error: why})
	if err != nil {
		return err
	}
	params := &riverdriver.JobRescueManyParams{
		ID: []int64{job.ID}, Error: [][]byte{note}, FinalizedAt: []*time.Time{nil}, ScheduledAt: []time.Time{now},
		State: []string{string(rivertype.JobStateAvailable)}, StuckHorizon: job.AttemptedAt.Add(time.Millisecond),
	}
	if discard {
		params.FinalizedAt, params.ScheduledAt, params.State = []*time.Time{&now}, []time.Time{job.ScheduledAt}, []string{string(rivertype.JobStateDiscarded)}
	}
	_, err = executor.JobRescueMany(ctx, params)
	return err
}
