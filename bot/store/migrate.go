package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
)

// migrations are the statements that make each version of our tables, oldest first. What stands here is never
// changed: a change is a further version. Times are milliseconds since 1970, by the database's clock.
func migrations() [][]string {
	return [][]string{{
		// One row a cluster: how often a round was asked for, and up to which request one has begun.
		`CREATE TABLE holdfast_round (cluster text PRIMARY KEY, asked bigint NOT NULL, taken bigint NOT NULL, reason text NOT NULL)`,
		`CREATE TABLE holdfast_schedule (cluster text PRIMARY KEY, due bigint NOT NULL)`,
		`CREATE TABLE holdfast_scan (cluster text PRIMARY KEY, at bigint NOT NULL, data {bytes} NOT NULL)`,
		`CREATE TABLE holdfast_delivery (hook text NOT NULL, id text NOT NULL, at bigint NOT NULL, PRIMARY KEY (hook, id))`,
		`CREATE INDEX holdfast_delivery_at ON holdfast_delivery (at)`,
		`CREATE TABLE holdfast_worker (id text PRIMARY KEY, seen bigint NOT NULL)`,
		`CREATE TABLE holdfast_lock (name text PRIMARY KEY, owner text NOT NULL)`,
	}}
}

// migrate brings River's tables and ours to the newest version. Of processes that start at the same time one makes
// the tables, and the others fail and look again.
func (s *Store) migrate(ctx context.Context) error {
	const tries = 5
	var err error
	for range tries {
		if err = s.db.migrateJobs(ctx); err == nil {
			err = s.migrateOwn(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return fmt.Errorf("making the tables: %w", err)
}

func migrateRiver[Tx any](ctx context.Context, driver riverdriver.Driver[Tx], log *slog.Logger) error {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func (s *Store) migrateOwn(ctx context.Context) error {
	return s.transact(ctx, func(tx transaction) error {
		if _, err := tx.exec(ctx, "CREATE TABLE IF NOT EXISTS holdfast_migration (version integer PRIMARY KEY)"); err != nil {
			return err
		}
		done := 0
		err := tx.query(ctx, "SELECT COALESCE(MAX(version), 0) FROM holdfast_migration", func(scan func(...any) error) error { return scan(&done) })
		if err != nil {
			return err
		}
		all := migrations()
		if done > len(all) {
			return fmt.Errorf("its tables have version %d, made by a newer holdfast; this one knows %d: use the newer one, or delete the store", done, len(all))
		}
		for version := done + 1; version <= len(all); version++ {
			for _, statement := range all[version-1] {
				if _, err := tx.exec(ctx, statement); err != nil {
					return err
				}
			}
			if _, err := tx.exec(ctx, "INSERT INTO holdfast_migration (version) VALUES ($1)", version); err != nil {
				return err
			}
		}
		return nil
	})
}
