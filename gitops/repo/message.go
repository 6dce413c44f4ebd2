package repo

import (
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing/object"
)

// Message gives the message of a commit, which any revision that Resolve takes may name.
func (r *Repository) Message(rev string) (string, error) {
	commit, err := r.object(rev)
	if err != nil {
		return "", err
	}
	return commit.Message, nil
}

// Committer gives who made a commit: after an amend or a rebase, whoever did that.
func (r *Repository) Committer(rev string) (Person, error) {
	commit, err := r.object(rev)
	if err != nil {
		return Person{}, err
	}
	return Person{Name: commit.Committer.Name, Email: commit.Committer.Email}, nil
}

// Author gives who a commit says that it is by.
func (r *Repository) Author(rev string) (Person, error) {
	commit, err := r.object(rev)
	if err != nil {
		return Person{}, err
	}
	return Person{Name: commit.Author.Name, Email: commit.Author.Email}, nil
}

// When gives the time at which a commit says that it was made.
func (r *Repository) When(rev string) (time.Time, error) {
	commit, err := r.object(rev)
	if err != nil {
		return time.Time{}, err
	}
	return commit.Committer.When.UTC(), nil
}

func (r *Repository) object(rev string) (*object.Commit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.resolve(rev)
	if err != nil {
		return nil, err
	}
	commit, err := object.GetCommit(r.store, h)
	if err != nil {
		return nil, fmt.Errorf("%s: commit %s: %w", r.remote.name, h, err)
	}
	return commit, nil
}
