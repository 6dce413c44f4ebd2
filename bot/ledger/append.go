package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// Ledger is the branch of a repository that records go to.
type Ledger struct {
	// Open reads the repository anew, as Options says.
	Open func(ctx context.Context) (*repo.Repository, error)
	// Whole opens it with the content of the branch's files; needed by Standing alone.
	Whole  func(ctx context.Context) (*repo.Repository, error)
	Branch string
	Signer sign.Signer
	Author repo.Person
	Now    func() time.Time
	// Wait pauses before a try after somebody else's batch came between; the tries count from 1.
	Wait func(ctx context.Context, try int) error
}

// tries is how often a batch is made anew because another one came between.
const tries = 8

// Options are those with which a ledger's repository is opened: one commit of the branch, whose files are not
// read.
func Options(url string, auth repo.Auth, branch string) repo.Options {
	return repo.Options{URL: url, Auth: auth, Branch: branch, Depth: 1, OrNone: true, NamesOnly: true}
}

// Append writes the records that say something new, as one batch, and gives where the ledger then stands and how
// many were written. When another writer's batch comes between, what it says is read and the batch is made anew.
func (l Ledger) Append(ctx context.Context, records []Record) (Head, int, error) {
	for try := 1; ; try++ {
		head, n, err := l.append(ctx, records)
		if err == nil {
			return head, n, nil
		}
		if !errors.Is(err, repo.ErrMoved) || try == tries {
			return head, 0, fmt.Errorf("ledger %s: %w", l.Branch, err)
		}
		if err := l.Wait(ctx, try); err != nil {
			return head, 0, fmt.Errorf("ledger %s: %w", l.Branch, err)
		}
	}
}

// Look gives where the ledger stands, and what it says; the zero Head where it has no batch yet.
func (l Ledger) Look(ctx context.Context) (Head, *State, error) {
	_, head, state, err := l.look(ctx)
	if err != nil {
		return head, nil, fmt.Errorf("ledger %s: %w", l.Branch, err)
	}
	return head, state, nil
}

func (l Ledger) look(ctx context.Context) (*repo.Repository, Head, *State, error) {
	r, err := l.Open(ctx)
	if err != nil {
		return nil, Head{}, nil, err
	}
	head, names, err := l.names(r)
	if err != nil {
		return nil, head, nil, err
	}
	state, err := NewState(names)
	return r, head, state, err
}

func (l Ledger) head(r *repo.Repository) (Head, error) {
	if !r.Exists(l.Branch) {
		return Head{}, nil
	}
	commit, err := r.Head(l.Branch)
	if err != nil {
		return Head{}, err
	}
	at, err := r.When(commit)
	return Head{Commit: commit, Time: at}, err
}

// names gives where the ledger stands, and its records by the paths of their files.
func (l Ledger) names(r *repo.Repository) (Head, []string, error) {
	head, err := l.head(r)
	if err != nil || head.Commit == "" {
		return head, nil, err
	}
	names, err := r.Names(head.Commit)
	return head, names, err
}

func (l Ledger) append(ctx context.Context, records []Record) (Head, int, error) {
	r, head, state, err := l.look(ctx)
	if err != nil {
		return head, 0, err
	}
	batch, err := NewBatch(state, head, records, l.Signer, l.Now())
	if err != nil || len(batch.Files) == 0 {
		return head, 0, err
	}
	commit, err := r.Commit(repo.Commit{
		Parent: head.Commit, Orphan: head.Commit == "", Edits: batch.Files, Message: batch.Message,
		Author: l.Author, When: batch.Time, Signer: l.Signer,
	})
	if err != nil {
		return head, 0, err
	}
	if err := r.Push(ctx, l.Branch, commit, head.Commit); err != nil {
		return head, 0, err
	}
	return Head{Commit: commit, Time: batch.Time}, len(batch.Files), nil
}
