package repo

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Raw gives a commit as it is stored, for checking its signature. Any revision that Resolve takes may name it.
func (r *Repository) Raw(rev string) (RawCommit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.resolve(rev)
	if err != nil {
		return RawCommit{}, err
	}
	encoded, err := r.store.EncodedObject(plumbing.CommitObject, h)
	if err != nil {
		return RawCommit{}, fmt.Errorf("%s: commit %s: %w", r.remote.name, h, err)
	}
	reader, err := encoded.Reader()
	if err != nil {
		return RawCommit{}, fmt.Errorf("%s: commit %s: %w", r.remote.name, h, err)
	}
	defer reader.Close()
	data, err := io.ReadAll(io.LimitReader(reader, maxCommit+1))
	if err != nil {
		return RawCommit{}, fmt.Errorf("%s: commit %s: %w", r.remote.name, h, err)
	}
	if len(data) > maxCommit {
		return RawCommit{}, fmt.Errorf("%s: commit %s: %w", r.remote.name, h, ErrTooLarge)
	}
	// What was fetched is stored by the hash that was computed of it.
	return parseCommit(h.String(), data)
}

// ReadFiles gives the content of files at a revision, in the order of the paths, without reading any other.
func (r *Repository) ReadFiles(rev string, paths []string) ([][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.resolve(rev)
	if err != nil {
		return nil, err
	}
	root, err := r.rootTree(h)
	if err != nil {
		return nil, fmt.Errorf("%s: revision %s: %w", r.remote.name, rev, err)
	}
	hashes, folders := map[string]plumbing.Hash{}, map[string]bool{}
	out := make([][]byte, 0, len(paths))
	for _, name := range paths {
		if folder := path.Dir(name); !folders[folder] {
			folders[folder] = true
			if err := r.filesOf(root, folder, hashes); err != nil {
				return nil, fmt.Errorf("%s: revision %s: %w", r.remote.name, rev, err)
			}
		}
		hash, ok := hashes[name]
		if !ok {
			return nil, fmt.Errorf("%s: revision %s: file %s: %w", r.remote.name, rev, name, ErrNotFound)
		}
		data, err := r.blob(hash)
		if err != nil {
			return nil, fmt.Errorf("%s: revision %s: %s: %w", r.remote.name, rev, name, err)
		}
		out = append(out, data)
	}
	return out, nil
}

// filesOf adds the regular files of a folder, by path.
func (r *Repository) filesOf(root plumbing.Hash, folder string, into map[string]plumbing.Hash) error {
	tree := root
	for _, step := range strings.FieldsFunc(folder, func(r rune) bool { return r == '/' }) {
		if step == "." {
			continue
		}
		entries, err := r.entries(tree)
		if err != nil {
			return err
		}
		tree = plumbing.ZeroHash
		for _, e := range entries {
			if e.Name == step && e.Mode == filemode.Dir {
				tree = e.Hash
			}
		}
		if tree.IsZero() {
			return nil
		}
	}
	entries, err := r.entries(tree)
	for _, e := range entries {
		if e.Mode.IsRegular() {
			into[path.Join(folder, e.Name)] = e.Hash
		}
	}
	return err
}
