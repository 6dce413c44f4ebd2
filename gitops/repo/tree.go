package repo

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"holdfast/gitops"
)

// Tree is all files at a revision, in the forms that Resolve takes. Bytes are as committed: no line ending is
// converted, no filter is run. Submodules are left out.
func (r *Repository) Tree(rev string) (gitops.Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.resolve(rev)
	if err != nil {
		return gitops.Tree{}, err
	}
	root, err := r.rootTree(h)
	if err != nil {
		return gitops.Tree{}, fmt.Errorf("%s: revision %s: %w", r.remote.name, rev, err)
	}
	w := treeReader{repository: r, files: map[string]gitops.File{}}
	if err := w.read(root, ""); err != nil {
		return gitops.Tree{}, fmt.Errorf("%s: revision %s: %w", r.remote.name, rev, err)
	}
	return gitops.NewTree(w.files), nil
}

// Names lists the paths of all files at a revision, sorted, without a look at what they hold.
func (r *Repository) Names(rev string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.resolve(rev)
	if err != nil {
		return nil, err
	}
	root, err := r.rootTree(h)
	if err == nil {
		var names []string
		if names, err = r.names(nil, root, ""); err == nil {
			return names, nil
		}
	}
	return nil, fmt.Errorf("%s: revision %s: %w", r.remote.name, rev, err)
}

func (r *Repository) names(out []string, tree plumbing.Hash, folder string) ([]string, error) {
	entries, err := r.entries(tree)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := checkName(e.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(folder, e.Name), err)
		}
		if e.Mode != filemode.Dir {
			out = append(out, path.Join(folder, e.Name))
			continue
		}
		if out, err = r.names(out, e.Hash, path.Join(folder, e.Name)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rootTree is the hash of a commit's tree.
func (r *Repository) rootTree(commit plumbing.Hash) (plumbing.Hash, error) {
	c, err := object.GetCommit(r.store, commit)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("commit %s: %w", commit, err)
	}
	return c.TreeHash, nil
}

// entries lists a tree object; the zero hash is the empty tree.
func (r *Repository) entries(h plumbing.Hash) ([]object.TreeEntry, error) {
	if h.IsZero() {
		return nil, nil
	}
	t, err := object.GetTree(r.store, h)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", h, err)
	}
	return t.Entries, nil
}

// blob reads content once; trees share it.
func (r *Repository) blob(h plumbing.Hash) ([]byte, error) {
	if data, ok := r.blobs[h]; ok {
		return data, nil
	}
	encoded, err := r.store.EncodedObject(plumbing.BlobObject, h)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", h, err)
	}
	reader, err := encoded.Reader()
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", h, err)
	}
	defer reader.Close()
	data := make([]byte, encoded.Size())
	if _, err := io.ReadFull(reader, data); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("blob %s: %w", h, err)
	}
	r.blobs[h] = data
	return data, nil
}

type treeReader struct {
	repository *Repository
	files      map[string]gitops.File
	bytes      int64
}

func (w *treeReader) read(tree plumbing.Hash, folder string) error {
	entries, err := w.repository.entries(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := checkName(e.Name); err != nil {
			return fmt.Errorf("%s: %w", path.Join(folder, e.Name), err)
		}
		name := path.Join(folder, e.Name)
		mode := gitops.Regular
		switch e.Mode {
		case filemode.Dir:
			if err := w.read(e.Hash, name); err != nil {
				return err
			}
			continue
		case filemode.Submodule:
			continue
		case filemode.Executable:
			mode = gitops.Executable
		case filemode.Symlink:
			mode = gitops.Symlink
		}
		data, err := w.repository.blob(e.Hash)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		w.bytes += int64(len(data))
		w.files[name] = gitops.File{Mode: mode, Data: data}
		if err := w.repository.limits.check(len(w.files), w.bytes); err != nil {
			return err
		}
	}
	return nil
}

// checkName refuses the entries that git refuses to check out: they would mean another place than they say.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is not allowed as a name in a repository", name)
	}
	return nil
}
