package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// DefaultBranch is the branch that the remote's HEAD names.
func (r *Repository) DefaultBranch() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refs.branch == "" {
		return "", fmt.Errorf("%s: HEAD names no branch: name one, the repository has %s", r.remote.name, some(r.refs.branches))
	}
	return r.refs.branch, nil
}

// Head is the commit of a branch, as the remote had it at Open or as Push last moved it; "" and HEAD mean the
// default branch.
func (r *Repository) Head(branch string) (string, error) {
	if branch == "" || branch == "HEAD" {
		var err error
		if branch, err = r.DefaultBranch(); err != nil {
			return "", err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.refs.branches[branch]
	if !ok {
		return "", fmt.Errorf("%s: branch %s: %w: the repository has %s", r.remote.name, branch, ErrNotFound, some(r.refs.branches))
	}
	return h.String(), nil
}

// Resolve gives the full commit of a revision: a branch, a tag, a ref, a full or (of the commits read so far)
// short commit, HEAD or "", or the forms in which Flux writes what it applied ("main@sha1:<hex>",
// "sha1:<hex>", and the older "main/<hex>"). A commit that was not read is fetched.
func (r *Repository) Resolve(rev string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.resolve(rev)
	if err != nil {
		return "", err
	}
	return h.String(), nil
}

func (r *Repository) resolve(rev string) (plumbing.Hash, error) {
	h, err := r.lookUp(rev)
	if err == nil {
		h, err = r.ensure(h)
	}
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("%s: revision %s: %w", r.remote.name, rev, err)
	}
	return h, nil
}

// lookUp finds what a revision names, without a look at the remote.
func (r *Repository) lookUp(rev string) (plumbing.Hash, error) {
	name := rev
	if at := strings.LastIndex(rev, "@"); at >= 0 && strings.Contains(rev[at:], ":") {
		name = rev[at+1:]
	}
	if algorithm, hex, ok := strings.Cut(name, ":"); ok {
		if algorithm != "sha1" {
			return plumbing.ZeroHash, fmt.Errorf("%w: digests of kind %s are no commits that can be read", ErrNotFound, algorithm)
		}
		name = hex
	}
	if plumbing.IsHash(name) {
		return plumbing.NewHash(name), nil
	}
	if name == "" || name == "HEAD" {
		if r.refs.head.IsZero() {
			return plumbing.ZeroHash, fmt.Errorf("%w: HEAD names no commit", ErrNotFound)
		}
		return r.refs.head, nil
	}
	for _, prefix := range []string{"refs/heads/", "refs/tags/", ""} {
		if h, ok := r.refs.byName[prefix+name]; ok {
			return h, nil
		}
	}
	if slash := strings.LastIndex(name, "/"); slash >= 0 && plumbing.IsHash(name[slash+1:]) {
		return plumbing.NewHash(name[slash+1:]), nil
	}
	return r.lookUpShort(name)
}

func (r *Repository) lookUpShort(name string) (plumbing.Hash, error) {
	const shortest = 4 // as git has it
	var found []plumbing.Hash
	if len(name) >= shortest && strings.Trim(name, "0123456789abcdef") == "" {
		for h := range r.store.Commits {
			if strings.HasPrefix(h.String(), name) {
				found = append(found, h)
			}
		}
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, fmt.Errorf("%w: no such branch, tag or commit; the repository has the branches %s", ErrNotFound, some(r.refs.branches))
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, fmt.Errorf("%w: %d commits start with it; give more of the hash", ErrNotFound, len(found))
}

// ensure fetches a commit that is not in the store, and peels a tag object.
func (r *Repository) ensure(h plumbing.Hash) (plumbing.Hash, error) {
	if commit, ok := r.stored(h); ok {
		return commit, nil
	}
	for _, attempt := range r.attempts(h) {
		err := r.fetch(context.Background(), attempt.depth, func(*packp.AdvRefs) ([]plumbing.Hash, error) {
			return attempt.wants, nil
		})
		if errors.Is(err, ErrTooLarge) {
			return plumbing.ZeroHash, err
		}
		if err == nil && attempt.depth == 0 {
			r.complete = true
		}
		if commit, ok := r.stored(h); ok {
			return commit, nil
		}
	}
	return plumbing.ZeroHash, fmt.Errorf("%w: the remote does not hand out this commit; it may have been rewritten away", ErrNotFound)
}

// attempt is one way to ask for a commit.
type attempt struct {
	wants []plumbing.Hash
	depth int
}

// attempts: a commit can be asked for by hash where a ref names it, or where the remote allows it; else all
// history of all branches is read, once.
func (r *Repository) attempts(h plumbing.Hash) []attempt {
	var all []plumbing.Hash
	for _, tip := range r.refs.branches {
		all = append(all, tip)
	}
	var out []attempt
	if ask, named := r.refs.ask[h]; named {
		out = append(out, attempt{[]plumbing.Hash{ask}, r.depth})
	} else if r.refs.anyWant {
		out = append(out, attempt{[]plumbing.Hash{h}, r.depth})
	}
	if !r.complete && len(all) > 0 {
		out = append(out, attempt{all, 0})
	}
	return out
}

func (r *Repository) stored(h plumbing.Hash) (plumbing.Hash, bool) {
	for {
		if _, ok := r.store.Commits[h]; ok {
			return h, true
		}
		tag, err := object.GetTag(r.store, h)
		if err != nil {
			return plumbing.ZeroHash, false
		}
		h = tag.Target
	}
}
