package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// Work says how jobs are worked. The handlers must be idempotent.
type Work struct {
	// Round and Event work one job. An error makes it be tried again, later each time, until its attempts are used up.
	Round func(context.Context, Round) error
	Event func(context.Context, Delivery) error
	// Rounds and Events are how many run at the same time in this process; 0 is 2 and 4.
	Rounds, Events int
	// FirstWait is how long a job that failed waits at first, about; each further wait is twice as long. 0 is 5 seconds.
	FirstWait time.Duration
	// Timeout bounds one round; 0 is 15 minutes.
	Timeout time.Duration
	// Grace is how long Stop lets jobs end before it interrupts them; 0 is 10 seconds.
	Grace time.Duration
	// GivenUp, when set, is told of each job that ends in failure for good.
	GivenUp func(kind string)
}

// eventTimeout bounds the work on one event, which only asks for rounds or answers a comment.
const eventTimeout = 2 * time.Minute

// errLease is why work is interrupted when the database cannot be reached: others may take it over soon.
var errLease = errors.New("the database was out of reach for too long; the work is left to whoever reaches it")

// Worker works the jobs of a store in this process.
type Worker struct {
	store *Store
	work  Work
	id    string
	queue queue
	leave func()
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu      sync.Mutex
	running map[int64]context.CancelCauseFunc // by job
}

// Start begins to work jobs, and first takes over what processes that died have left. It returns at once.
func (s *Store) Start(ctx context.Context, work Work) (*Worker, error) {
	work.Rounds, work.Events = cmp.Or(work.Rounds, 2), cmp.Or(work.Events, 4)
	work.FirstWait = cmp.Or(work.FirstWait, 5*time.Second)
	work.Timeout, work.Grace = cmp.Or(work.Timeout, 15*time.Minute), cmp.Or(work.Grace, 10*time.Second)
	w := &Worker{store: s, work: work, id: workerID(), running: map[int64]context.CancelCauseFunc{}}
	workers := river.NewWorkers()
	river.AddWorker(workers, &roundWorker{worker: w})
	river.AddWorker(workers, &eventWorker{worker: w})
	var err error
	w.queue, err = s.db.newQueue(&river.Config{
		ID: w.id, Logger: warnings(s.log), Workers: workers, RetryPolicy: retries{work.FirstWait}, ErrorHandler: failures{w},
		Queues: map[string]river.QueueConfig{roundKind: {MaxWorkers: work.Rounds}, eventKind: {MaxWorkers: work.Events}},
		// A process that died is noticed by its lease; River's own rescue is for a handler that hangs.
		JobTimeout: work.Timeout, RescueStuckJobsAfter: work.Timeout + time.Minute,
		FetchPollInterval: 300 * time.Millisecond, SoftStopTimeout: work.Grace,
		CompletedJobRetentionPeriod: time.Hour, DiscardedJobRetentionPeriod: 7 * 24 * time.Hour,
	})
	if err != nil {
		return nil, s.wrap("starting", err)
	}
	w.leave, err = s.db.enter(func(alone bool) error { return w.takeOver(ctx, alone) })
	if err != nil {
		return nil, s.wrap("taking over what is left", err)
	}
	lasting := context.WithoutCancel(ctx) // Stop ends it
	if err := w.queue.Start(lasting); err != nil {
		w.leave()
		return nil, s.wrap("starting", err)
	}
	lasting, w.stop = context.WithCancel(lasting)
	w.done.Go(func() { w.live(lasting) })
	return w, nil
}

// takeOver makes this worker known, before it takes a job, and frees what dead ones have left: when it is alone, at
// once, without waiting for their lease to end.
func (w *Worker) takeOver(ctx context.Context, alone bool) error {
	if alone {
		err := w.store.transact(ctx, func(tx transaction) error {
			_, err := tx.exec(ctx, "DELETE FROM holdfast_worker")
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := w.beat(ctx); err != nil {
		return err
	}
	return w.store.tidy(ctx)
}

// workerID is a name that no other process has, and that tells people which one it is.
func workerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	n, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		n = big.NewInt(time.Now().UnixNano())
	}
	return fmt.Sprintf("%.40s-%d-%x", host, os.Getpid(), n)
}

// Stop takes no more jobs, lets those that run end within the grace time, and gives back the others for the next
// start. The context bounds it all.
func (w *Worker) Stop(ctx context.Context) error {
	err := w.queue.Stop(ctx)
	w.stop()
	w.done.Wait()
	defer w.leave()
	// What this worker held is free at once.
	gone := w.store.transact(ctx, func(tx transaction) error {
		if _, err := tx.exec(ctx, "DELETE FROM holdfast_worker WHERE id = $1", w.id); err != nil {
			return err
		}
		_, err := tx.exec(ctx, "DELETE FROM holdfast_lock WHERE owner = $1", w.id)
		return err
	})
	return w.store.wrap("stopping", errors.Join(err, gone))
}

// handle calls a job's handler with a context that ends too when the lease is lost. An error that comes of an
// interruption has its cause in it: what a handler says then is about the canceled context only.
func (w *Worker) handle(ctx context.Context, job int64, handler func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	w.running[job] = cancel
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.running, job)
		w.mu.Unlock()
		cancel(nil)
	}()
	err := handler(ctx)
	if errors.Is(err, ErrBusy) {
		return river.JobSnooze(pause())
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

type roundWorker struct {
	river.WorkerDefaults[roundJob]
	worker *Worker
}

// Work runs one round. Its end, and the next round where one was asked for meanwhile, are one transaction.
func (r *roundWorker) Work(ctx context.Context, job *river.Job[roundJob]) error {
	w, cluster := r.worker, job.Args.Cluster
	var taken int64
	reason := "left over"
	err := w.store.transact(ctx, func(tx transaction) error {
		return tx.query(ctx, "UPDATE holdfast_round SET taken = asked WHERE cluster = $1 RETURNING taken, reason",
			func(scan func(...any) error) error { return scan(&taken, &reason) }, cluster)
	})
	if err != nil {
		return err
	}
	err = w.handle(ctx, job.ID, func(ctx context.Context) error {
		return w.work.Round(ctx, Round{Cluster: cluster, Reason: reason, Attempt: job.Attempt})
	})
	if err != nil {
		return err
	}
	return w.end(ctx, job.JobRow, func(ctx context.Context, tx transaction) error {
		var asked int64
		// The row stays locked until the commit: a request comes before this, or finds no job.
		err := tx.query(ctx, "UPDATE holdfast_round SET taken = taken WHERE cluster = $1 RETURNING asked",
			func(scan func(...any) error) error { return scan(&asked) }, cluster)
		if err != nil {
			return err
		}
		if err := tx.complete(ctx, job.JobRow); err != nil {
			return err
		}
		if asked > taken {
			_, err = tx.insert(ctx, roundJob{Cluster: cluster})
		}
		return err
	})
}

// end commits the end of a job itself: River would do it a little later, in batches, and a process that dies in
// between would leave what is done to be done again. What is done is done, also while stopping.
func (w *Worker) end(ctx context.Context, job *rivertype.JobRow, commit func(context.Context, transaction) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return w.store.wrap(fmt.Sprintf("ending job %d", job.ID), w.store.transact(ctx, func(tx transaction) error { return commit(ctx, tx) }))
}

type eventWorker struct {
	river.WorkerDefaults[eventJob]
	worker *Worker
}

// Timeout bounds the work on one event.
func (*eventWorker) Timeout(*river.Job[eventJob]) time.Duration { return eventTimeout }

// Work acts on one delivery.
func (e *eventWorker) Work(ctx context.Context, job *river.Job[eventJob]) error {
	delivery := job.Args.Delivery
	delivery.Attempt = job.Attempt
	err := e.worker.handle(ctx, job.ID, func(ctx context.Context) error { return e.worker.work.Event(ctx, delivery) })
	if err != nil {
		return err
	}
	return e.worker.end(ctx, job.JobRow, func(ctx context.Context, tx transaction) error { return tx.complete(ctx, job.JobRow) })
}

// failures tells of jobs that are given up.
type failures struct{ worker *Worker }

// HandleError notes a failure.
func (f failures) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	return f.note(ctx, job, err.Error())
}

// HandlePanic notes a panic. What was panicked with may hold anything, and is not logged.
func (f failures) HandlePanic(ctx context.Context, job *rivertype.JobRow, _ any, _ string) *river.ErrorHandlerResult {
	return f.note(ctx, job, "it panicked")
}

func (f failures) note(ctx context.Context, job *rivertype.JobRow, text string) *river.ErrorHandlerResult {
	last := job.Attempt >= job.MaxAttempts
	level, message := slog.LevelWarn, "a job failed and is tried again"
	if last {
		level, message = slog.LevelError, "a job failed for good and is given up"
	}
	f.worker.store.log.Log(ctx, level, message, "kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "of", job.MaxAttempts, "error", text)
	if last && f.worker.work.GivenUp != nil {
		f.worker.work.GivenUp(job.Kind)
	}
	return nil
}
