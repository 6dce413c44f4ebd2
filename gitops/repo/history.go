package repo

import (
	"context"
	"fmt"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// History lists the commits from a revision backwards, newest first and at most limit, that add, change or
// remove a file that reads accepts. It follows first parents: each commit that it gives is a state in which
// the branch stood, so a merge counts and the commits of the merged branch do not.
//
// Of a remote, it sees the commits that were fetched (Options.Depth); of a local repository, all.
func (r *Repository) History(from string, reads func(path string) bool, limit int) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.resolve(from)
	if err != nil {
		return nil, err
	}
	out, cut, err := r.walk(h, reads, limit)
	if err == nil && cut && r.remote.local && !r.complete {
		if r.deepen(h) == nil {
			out, _, err = r.walk(h, reads, limit)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: history of %s: %w", r.remote.name, from, err)
	}
	return out, nil
}

// deepen reads all history of all branches. Where that is too large, the history stays as short as it is.
func (r *Repository) deepen(h plumbing.Hash) error {
	var tips []plumbing.Hash
	for _, tip := range r.refs.branches {
		tips = append(tips, tip)
	}
	if len(tips) == 0 {
		tips = append(tips, h)
	}
	err := r.fetch(context.Background(), 0, func(*packp.AdvRefs) ([]plumbing.Hash, error) { return tips, nil })
	if err == nil {
		r.complete = true
	}
	return err
}

// walk also says whether it ended at a commit whose parent was not fetched. Whether that commit touches
// anything cannot be told, so it is left out.
func (r *Repository) walk(h plumbing.Hash, reads func(string) bool, limit int) (out []string, cut bool, err error) {
	for len(out) < limit {
		commit, err := object.GetCommit(r.store, h)
		if err != nil {
			return nil, false, fmt.Errorf("commit %s: %w", h, err)
		}
		before := plumbing.ZeroHash
		if len(commit.ParentHashes) > 0 {
			parent, ok := r.store.Commits[commit.ParentHashes[0]]
			if !ok {
				return out, true, nil
			}
			if before, err = r.rootTree(parent.Hash()); err != nil {
				return nil, false, err
			}
		}
		touched, err := r.differ(before, commit.TreeHash, "", reads)
		if err != nil {
			return nil, false, err
		}
		if touched {
			out = append(out, h.String())
		}
		if len(commit.ParentHashes) == 0 {
			return out, false, nil
		}
		h = commit.ParentHashes[0]
	}
	return out, false, nil
}

// differ says whether a file that reads accepts differs between two trees; the zero hash is the empty one.
func (r *Repository) differ(a, b plumbing.Hash, folder string, reads func(string) bool) (bool, error) {
	if a == b {
		return false, nil
	}
	old, err := r.entries(a)
	if err != nil {
		return false, err
	}
	now, err := r.entries(b)
	if err != nil {
		return false, err
	}
	type pair struct{ a, b object.TreeEntry }
	pairs := make(map[string]pair, len(now))
	for _, e := range old {
		pairs[e.Name] = pair{a: e}
	}
	for _, e := range now {
		p := pairs[e.Name]
		p.b = e
		pairs[e.Name] = p
	}
	for entry, p := range pairs {
		if p.a == p.b {
			continue
		}
		name := path.Join(folder, entry)
		if isFile(p.a.Mode) || isFile(p.b.Mode) {
			if reads(name) {
				return true, nil
			}
		}
		below, err := r.differ(asTree(p.a), asTree(p.b), name, reads)
		if below || err != nil {
			return below, err
		}
	}
	return false, nil
}

func isFile(mode filemode.FileMode) bool {
	return mode != filemode.Empty && mode != filemode.Dir && mode != filemode.Submodule
}

func asTree(e object.TreeEntry) plumbing.Hash {
	if e.Mode == filemode.Dir {
		return e.Hash
	}
	return plumbing.ZeroHash
}

// parent is the first parent of a commit, or the zero hash.
func (r *Repository) parent(h plumbing.Hash) plumbing.Hash {
	commit, err := object.GetCommit(r.store, h)
	if err != nil || len(commit.ParentHashes) == 0 {
		return plumbing.ZeroHash
	}
	return commit.ParentHashes[0]
}
