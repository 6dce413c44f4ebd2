package repo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"holdfast/gitops"
)

// maxRange bounds how many commits are listed.
const maxRange = 200_000

// Range lists the commits of a repository in a folder that "A..B" names, those that lead to B and not to A, or all
// that lead to B where there is no A, newest first. Each object's hash is computed anew.
func Range(dir, revisions string) ([]RawCommit, error) {
	out, err := listRange(dir, revisions)
	if err != nil {
		return nil, fmt.Errorf("%s: commits %s: %w", gitops.WithoutCredentials(dir), revisions, err)
	}
	return out, nil
}

func listRange(dir, revisions string) ([]RawCommit, error) {
	if strings.Contains(revisions, "...") {
		return nil, errors.New("want A..B, or a revision")
	}
	storage, err := openStorage(dir)
	if err != nil {
		return nil, err
	}
	defer storage.Close()
	opened, err := git.Open(storage, nil)
	if err != nil {
		return nil, err
	}
	from, to, two := strings.Cut(revisions, "..")
	if !two {
		from, to = "", revisions
	}
	o := &objects{source: storage}
	seen := map[plumbing.Hash]bool{}
	if from != "" {
		if _, err := o.reach(opened, from, seen); err != nil {
			return nil, err
		}
	}
	if to == "" {
		to = "HEAD"
	}
	return o.reach(opened, to, seen)
}

// reach lists the commits that lead to a revision and are not seen yet.
func (o *objects) reach(opened *git.Repository, revision string, seen map[plumbing.Hash]bool) ([]RawCommit, error) {
	head, err := opened.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", revision, ErrNotFound)
	}
	var out []RawCommit
	for queue := []plumbing.Hash{*head}; len(queue) > 0; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		c, err := o.commit(queue[0])
		if err != nil {
			return nil, err
		}
		if out = append(out, c); len(out) > maxRange {
			return nil, fmt.Errorf("%w: more than %d commits: give a shorter range", ErrTooLarge, maxRange)
		}
		for _, parent := range c.Parents {
			queue = append(queue, plumbing.NewHash(parent))
		}
	}
	return out, nil
}
