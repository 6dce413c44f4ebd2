package ledger_test

import (
	"encoding/json"
	"testing"
	"time"

	"holdfast/bot/ledger"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
	"holdfast/gitops/repo/sign"
)

// replace makes the ledger anew of batches.
func (w *world) replace(t *testing.T, batches []batch, signer sign.Signer) {
	t.Helper()
	repotest.Git(t, w.dir, "update-ref", "-d", "refs/heads/"+ledger.DefaultBranch)
	r, err := repo.Open(t.Context(), ledger.Options(w.dir, repo.Auth{}, ledger.DefaultBranch))
	if err != nil {
		t.Fatal(err)
	}
	parent := ""
	for _, b := range batches {
		var s ledger.Statement
		if err := json.Unmarshal(read(t, b[0].After).Payload, &s); err != nil {
			t.Fatal(err)
		}
		parent = commitTo(t, r, parent, b, s.Predicate.Time, signer)
	}
	if err := r.Push(t.Context(), ledger.DefaultBranch, parent, ""); err != nil {
		t.Fatal(err)
	}
}

func commitTo(t *testing.T, r *repo.Repository, parent string, b batch, when time.Time, signer sign.Signer) string {
	t.Helper()
	commit, err := r.Commit(repo.Commit{Parent: parent, Orphan: parent == "", Edits: b, Message: "forged", Author: holdfast, When: when, Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

func judgeRange(t *testing.T, dir, revisions string, keys ledger.Keys) ledger.CommitsReport {
	t.Helper()
	commits, err := repo.Range(dir, revisions)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.VerifyCommits(commits, keys)
}
