package store

import (
	"context"
	"strings"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// database is what SQLite and PostgreSQL have in common for the store.
type database interface {
	// transact runs f in one transaction, and commits when it returns nil. SQLite holds its only write lock
	// meanwhile; in PostgreSQL, a changed row is locked.
	transact(ctx context.Context, f func(transaction) error) error
	// migrateJobs makes River's tables.
	migrateJobs(ctx context.Context) error
	// newQueue makes a client that works jobs.
	newQueue(config *river.Config) (queue, error)
	// enter calls first before this process works jobs, and says whether it is known that no other does. Leave is
	// called when it works none any more.
	enter(first func(alone bool) error) (leave func(), err error)
	// running lists the jobs that are being worked, and release gives one back or ends it, unless it was taken anew
	// since it was listed.
	running(ctx context.Context) ([]*rivertype.JobRow, error)
	release(ctx context.Context, job *rivertype.JobRow, discard bool, why string) error
	close()
}

// queue is a River client, whatever its database.
type queue interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// transaction is one transaction. Statements number their arguments $1, $2; {now} stands for the database's clock in
// milliseconds since 1970, and {bytes} for its type of byte strings.
type transaction interface {
	exec(ctx context.Context, statement string, arguments ...any) (changed int64, err error)
	// query calls row for each row, with the function that scans it.
	query(ctx context.Context, statement string, row func(scan func(...any) error) error, arguments ...any) error
	// insert adds a job; of a unique one that waits or runs already, none is added, and skipped is true.
	insert(ctx context.Context, job river.JobArgs) (skipped bool, err error)
	// complete ends a job that runs. The context is the one that its work was called with, or made of it.
	complete(ctx context.Context, job *rivertype.JobRow) error
}

// each calls row for each of the rows, with the function that scans it. Whoever asked for them closes them.
func each(rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}, row func(scan func(...any) error) error,
) error {
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// known says of a job that was to be added whether it was left out for one that is there.
func known(result *rivertype.JobInsertResult, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	return result.UniqueSkippedAsDuplicate, nil
}

// anyJob stands for a job of either kind where it is ended.
type anyJob struct{}

// Kind names the job for River; it is never inserted.
func (anyJob) Kind() string { return "any" }

// dialect is how a database writes what is not the same in both.
type dialect struct{ now, bytes, number string }

func (d dialect) statement(text string) string {
	return strings.NewReplacer("{now}", d.now, "{bytes}", d.bytes, "$", d.number).Replace(text)
}
