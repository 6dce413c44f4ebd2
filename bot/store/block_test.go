package store_test

import (
	"context"
	"database/sql"
	"testing"
)

// blockFile holds a SQLite file's write lock until release is called.
func blockFile(t *testing.T, file string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=exclusive&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = tx.Rollback()
		_ = db.Close()
	}
}
