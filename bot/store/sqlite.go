package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"
	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// inSQLite is SQLite's dialect.
func inSQLite() dialect {
	return dialect{now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)", bytes: "BLOB", number: "?"}
}

// sqliteDatabase is a store in a file.
type sqliteDatabase struct {
	file   string
	db     *sql.DB
	driver *riversqlite.Driver
	jobs   *river.Client[*sql.Tx] // inserts only
	log    *slog.Logger
}

// openSQLite opens or makes the file, which only its owner may read: it holds what people wrote, and drifts.
func openSQLite(ctx context.Context, file string, log *slog.Logger) (database, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	// A file that is there is not opened here: closing it would take away the locks of others in this process.
	made, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		if err := made.Close(); err != nil {
			return nil, err
		}
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("the folder %s does not exist: make it, writable for this user", filepath.Dir(file))
	case !errors.Is(err, os.ErrExist):
		return nil, err
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("is no regular file")
	}
	// WAL, so that readers do not wait; FULL, so that what was answered as taken survives a power cut; immediate,
	// so that a transaction that reads first does not fail when it writes.
	settings := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+settings.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // River's advice: of two writers in one process, one would only wait for the other
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("is no SQLite database that can be opened: %w", err)
	}
	d := &sqliteDatabase{file: file, db: db, driver: riversqlite.New(db), log: log}
	if d.jobs, err = river.NewClient(d.driver, &river.Config{Logger: log}); err != nil {
		_ = db.Close()
		return nil, err
	}
	return d, nil
}

func (d *sqliteDatabase) close() { _ = d.db.Close() }

func (d *sqliteDatabase) migrateJobs(ctx context.Context) error {
	return migrateRiver(ctx, d.driver, d.log)
}

func (d *sqliteDatabase) newQueue(config *river.Config) (queue, error) {
	config.PollOnly = true // the emulated notifications would ask the file 20 times a second
	return river.NewClient(d.driver, config)
}

// enter tells by a lock on a file beside the database whether another process works there: one that died holds none.
func (d *sqliteDatabase) enter(first func(alone bool) error) (leave func(), err error) {
	hold, err := holdFile(d.file+".lock", first)
	if err != nil {
		return nil, err
	}
	return func() { _ = hold.Close() }, nil
}

func (d *sqliteDatabase) executor() riverdriver.Executor { return d.driver.GetExecutor() }

func (d *sqliteDatabase) running(ctx context.Context) ([]*rivertype.JobRow, error) {
	return runningJobs(ctx, d.executor())
}

func (d *sqliteDatabase) release(ctx context.Context, job *rivertype.JobRow, discard bool, why string) error {
	return releaseJob(ctx, d.executor(), job, discard, why)
}

func (d *sqliteDatabase) transact(ctx context.Context, f func(transaction) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := f(sqliteTransaction{tx, d.jobs}); err != nil {
		return err
	}
	return tx.Commit()
}

type sqliteTransaction struct {
	tx   *sql.Tx
	jobs *river.Client[*sql.Tx]
}

func (t sqliteTransaction) exec(ctx context.Context, statement string, arguments ...any) (int64, error) {
	result, err := t.tx.ExecContext(ctx, inSQLite().statement(statement), arguments...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t sqliteTransaction) query(ctx context.Context, statement string, row func(func(...any) error) error, arguments ...any) error {
	rows, err := t.tx.QueryContext(ctx, inSQLite().statement(statement), arguments...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return each(rows, row)
}

func (t sqliteTransaction) insert(ctx context.Context, job river.JobArgs) (bool, error) {
	return known(t.jobs.InsertTx(ctx, t.tx, job, nil))
}

func (t sqliteTransaction) complete(ctx context.Context, job *rivertype.JobRow) error {
	_, err := river.JobCompleteTx[*riversqlite.Driver](ctx, t.tx, &river.Job[anyJob]{JobRow: job})
	return err
}
