// Package store keeps what the service must not lose between two seconds: its queue of jobs, which webhook
// deliveries it has seen, when each cluster is to be scanned next, and the last scan of each cluster. It is a cache
// and a queue, and can be deleted: the forge and Git are the truth, and the next rounds find everything again.
//
// It lies in a SQLite file or in a PostgreSQL database, with the same code. Jobs are River's.
//
// # What it guarantees
//
// A job that was taken is worked until its handler returns nil or its attempts are used up: at least once, whatever
// dies in between. It is worked twice only where a process ends, or loses the database, between the handler's last
// effect and the commit of its end; so handlers must be idempotent, and those of rounds are, since a round reads the
// world anew. Of one cluster no two rounds run at the same time, and a lock that Lock gives has one holder, as long
// as a process that cannot reach the database for a whole lease stops its work, which Start makes it do before
// others take over. Requests for a round that come while one waits are one; those that come while one runs make
// exactly one more.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// DefaultLease is how long a process that died keeps its jobs and locks from others. Where the store is a SQLite file
// that no other process works, the next start takes them over at once.
const DefaultLease = 45 * time.Second

// Retention is how long a webhook delivery is remembered. Forges redeliver for three days at most (GitHub).
const Retention = 7 * 24 * time.Hour

// Options say where the store lies.
type Options struct {
	// File is a SQLite file, made where it is missing. URL is a PostgreSQL connection string. Give one of them.
	File, URL string
	// Lease is how long a process that died keeps its jobs and locks; 0 is DefaultLease.
	Lease time.Duration
	// Log takes what the queue has to say; nil drops it.
	Log *slog.Logger
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	db    database
	log   *slog.Logger
	lease time.Duration
	// place is how messages call it: a file, or PostgreSQL.
	place string
}

// Open opens the store and brings its tables to the newest version.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{log: o.Log, lease: o.Lease}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.lease == 0 {
		s.lease = DefaultLease
	}
	var err error
	switch {
	case (o.File == "") == (o.URL == ""):
		return nil, errors.New("store: give either a SQLite file or a PostgreSQL URL")
	case o.File != "":
		s.place = o.File
		s.db, err = openSQLite(ctx, o.File, warnings(s.log))
	default:
		s.place = "PostgreSQL"
		s.db, err = openPostgres(ctx, o.URL, warnings(s.log))
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", s.place, err)
	}
	if err := s.migrate(ctx); err != nil {
		s.db.close()
		return nil, fmt.Errorf("store %s: %w", s.place, err)
	}
	return s, nil
}

// Close lets go of the database. A worker must have been stopped before.
func (s *Store) Close() { s.db.close() }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.wrap("ping", s.transact(ctx, func(tx transaction) error {
		return tx.query(ctx, "SELECT 1", func(func(...any) error) error { return nil })
	}))
}

// transact runs f in one transaction, with statements in which {now} is the database's clock in milliseconds.
func (s *Store) transact(ctx context.Context, f func(transaction) error) error {
	return s.db.transact(ctx, f)
}

func (s *Store) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store %s: %s: %w", s.place, what, err)
}

// warnings drops what the queue's library says below a warning: it tells of every failure that is told here too.
func warnings(log *slog.Logger) *slog.Logger { return slog.New(onlyWarnings{log.Handler()}) }

type onlyWarnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h onlyWarnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h onlyWarnings) WithAttrs(attributes []slog.Attr) slog.Handler {
	return onlyWarnings{h.Handler.WithAttrs(attributes)}
}

// WithGroup implements slog.Handler.
func (h onlyWarnings) WithGroup(name string) slog.Handler {
	return onlyWarnings{h.Handler.WithGroup(name)}
}
