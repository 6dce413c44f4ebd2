package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
)

// inPostgres is PostgreSQL's dialect.
func inPostgres() dialect {
	return dialect{now: "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint", bytes: "bytea", number: "$"}
}

// postgresDatabase is a store that several processes share.
type postgresDatabase struct {
	pool   *pgxpool.Pool
	driver *riverpgxv5.Driver
	jobs   *river.Client[pgx.Tx] // inserts only
	log    *slog.Logger
}

// leastConnections are those for the queue's own needs, and some for everything else.
const leastConnections = 10

func openPostgres(ctx context.Context, url string, log *slog.Logger) (database, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil { // its message may quote the URL, which holds a password
		return nil, errors.New("the URL is no PostgreSQL connection string (postgres://user:password@host:5432/database)")
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = max(config.MaxConns, leastConnections)
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "holdfast"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("does not answer: %w", err)
	}
	d := &postgresDatabase{pool: pool, driver: riverpgxv5.New(pool), log: log}
	if d.jobs, err = river.NewClient(d.driver, &river.Config{Logger: log}); err != nil {
		pool.Close()
		return nil, err
	}
	return d, nil
}

func (d *postgresDatabase) close() { d.pool.Close() }

func (d *postgresDatabase) migrateJobs(ctx context.Context) error {
	return migrateRiver(ctx, d.driver, d.log)
}

func (d *postgresDatabase) newQueue(config *river.Config) (queue, error) {
	return river.NewClient(d.driver, config)
}

// enter cannot tell whether another process works there; its lease does.
func (d *postgresDatabase) enter(first func(alone bool) error) (leave func(), err error) {
	return func() {}, first(false)
}

func (d *postgresDatabase) executor() riverdriver.Executor { return d.driver.GetExecutor() }

func (d *postgresDatabase) running(ctx context.Context) ([]*rivertype.JobRow, error) {
	return runningJobs(ctx, d.executor())
}

func (d *postgresDatabase) release(ctx context.Context, job *rivertype.JobRow, discard bool, why string) error {
	return releaseJob(ctx, d.executor(), job, discard, why)
}

func (d *postgresDatabase) transact(ctx context.Context, f func(transaction) error) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return f(postgresTransaction{tx, d.jobs}) })
}

type postgresTransaction struct {
	tx   pgx.Tx
	jobs *river.Client[pgx.Tx]
}

func (t postgresTransaction) exec(ctx context.Context, statement string, arguments ...any) (int64, error) {
	tag, err := t.tx.Exec(ctx, inPostgres().statement(statement), arguments...)
	return tag.RowsAffected(), err
}

func (t postgresTransaction) query(ctx context.Context, statement string, row func(func(...any) error) error, arguments ...any) error {
	rows, err := t.tx.Query(ctx, inPostgres().statement(statement), arguments...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return each(rows, row)
}

func (t postgresTransaction) insert(ctx context.Context, job river.JobArgs) (bool, error) {
	return known(t.jobs.InsertTx(ctx, t.tx, job, nil))
}

func (t postgresTransaction) complete(ctx context.Context, job *rivertype.JobRow) error {
	_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, t.tx, &river.Job[anyJob]{JobRow: job})
	return err
}
