package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// Current asks the remote whether its branches and tags stand where Open saw them, or where Push has set them since.
// Nothing is fetched. What is not current is opened anew; it does not change under its readers.
func (r *Repository) Current(ctx context.Context) (bool, error) {
	var seen refs
	errSeen := errors.New("seen")
	err := r.fetch(ctx, r.depth, func(advertised *packp.AdvRefs) ([]plumbing.Hash, error) {
		seen = readRefs(advertised)
		return nil, errSeen
	})
	if !errors.Is(err, errSeen) {
		return false, fmt.Errorf("repository %s: %w", r.remote.name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return seen.branch == r.refs.branch && maps.Equal(seen.byName, r.refs.byName), nil
}
