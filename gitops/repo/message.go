package repo

import (
	"fmt"

	"github.com/go-git/go-git/v5/plumbing/object"
)

// Message gives the message of a commit, which any revision that Resolve takes may name.
func (r *Repository) Message(rev string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.resolve(rev)
	if err != nil {
		return "", err
	}
	commit, err := object.GetCommit(r.store, h)
	if err != nil {
		return "", fmt.Errorf("%s: commit %s: %w", r.remote.name, h, err)
	}
	return commit.Message, nil
}
