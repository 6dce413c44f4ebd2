package repo

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"holdfast/gitops"
)

// treeWriter applies edits to tree objects and remembers every object that the result needs.
type treeWriter struct {
	repository *Repository
	made       []plumbing.Hash
}

// apply gives the root tree after edits.
func (w *treeWriter) apply(root plumbing.Hash, edits []gitops.Edit) (plumbing.Hash, error) {
	byPath := make(map[string]gitops.Edit, len(edits))
	for _, e := range edits {
		if e.Path == "" || e.Path != path.Clean(e.Path) || path.IsAbs(e.Path) {
			return plumbing.ZeroHash, fmt.Errorf("%q: %w: not a clean slash path from the root", e.Path, ErrConflict)
		}
		for part := range strings.SplitSeq(e.Path, "/") {
			if err := checkName(part); err != nil {
				return plumbing.ZeroHash, fmt.Errorf("%q: %w: %w", e.Path, ErrConflict, err)
			}
		}
		if _, twice := byPath[e.Path]; twice {
			return plumbing.ZeroHash, fmt.Errorf("%s: %w: two edits of one file", e.Path, ErrConflict)
		}
		byPath[e.Path] = e
	}
	h, err := w.folder(root, "", byPath)
	if err != nil || !h.IsZero() {
		return h, err
	}
	// The last file was removed: the root is the empty tree, which git knows but must be able to find.
	return w.store((&object.Tree{}).Encode)
}

// folder rewrites one tree. byPath holds paths relative to it. The zero hash stands for a tree without entries,
// which git does not keep.
func (w *treeWriter) folder(h plumbing.Hash, name string, byPath map[string]gitops.Edit) (plumbing.Hash, error) {
	old, err := w.repository.entries(h)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	entries := make(map[string]object.TreeEntry, len(old))
	for _, e := range old {
		entries[e.Name] = e
	}
	here, below := map[string]gitops.Edit{}, map[string]map[string]gitops.Edit{}
	for p, e := range byPath {
		first, rest, deeper := strings.Cut(p, "/")
		if !deeper {
			here[first] = e
			continue
		}
		if below[first] == nil {
			below[first] = map[string]gitops.Edit{}
		}
		below[first][rest] = e
	}
	// Removals first, so that a file can make room for a folder of its name and the other way round.
	for _, remove := range []bool{true, false} {
		for _, first := range slices.Sorted(maps.Keys(here)) {
			if here[first].Remove != remove {
				continue
			}
			if err := w.file(entries, first, here[first]); err != nil {
				return plumbing.ZeroHash, err
			}
		}
		if !remove {
			break
		}
		for _, first := range slices.Sorted(maps.Keys(below)) {
			if err := w.subfolder(entries, path.Join(name, first), below[first]); err != nil {
				return plumbing.ZeroHash, err
			}
		}
	}
	return w.storeTree(entries)
}

func (w *treeWriter) subfolder(entries map[string]object.TreeEntry, name string, byPath map[string]gitops.Edit) error {
	first := path.Base(name)
	e, there := entries[first]
	if there && e.Mode != filemode.Dir {
		return fmt.Errorf("%s: %w: it is no folder but a %s", name, ErrConflict, kind(e.Mode))
	}
	h, err := w.folder(e.Hash, name, byPath)
	if err != nil {
		return err
	}
	if h.IsZero() {
		delete(entries, first)
		return nil
	}
	entries[first] = object.TreeEntry{Name: first, Mode: filemode.Dir, Hash: h}
	return nil
}

func (w *treeWriter) file(entries map[string]object.TreeEntry, name string, edit gitops.Edit) error {
	e, there := entries[name]
	if err := w.fits(e, there, edit); err != nil {
		return fmt.Errorf("%s: %w: %w", edit.Path, ErrConflict, err)
	}
	if edit.Remove {
		delete(entries, name)
		return nil
	}
	var blob plumbing.MemoryObject
	blob.SetType(plumbing.BlobObject)
	if _, err := blob.Write(edit.After); err != nil {
		return err
	}
	h, err := w.add(&blob)
	if err != nil {
		return err
	}
	mode := filemode.Regular
	if there {
		mode = e.Mode
	}
	entries[name] = object.TreeEntry{Name: name, Mode: mode, Hash: h}
	return nil
}

// fits says why an edit does not fit what the tree holds, if so.
func (w *treeWriter) fits(e object.TreeEntry, there bool, edit gitops.Edit) error {
	switch {
	case !there && (edit.Remove || edit.Before != nil):
		return fmt.Errorf("there is no such file")
	case !there:
		return nil
	case e.Mode == filemode.Symlink && !edit.Remove:
		return fmt.Errorf("it is a symbolic link: edit the file that it points to")
	case e.Mode == filemode.Dir || e.Mode == filemode.Submodule:
		return fmt.Errorf("it is no file but a %s", kind(e.Mode))
	case edit.Remove && edit.Before == nil:
		return nil
	}
	now, err := w.repository.blob(e.Hash)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, edit.Before) {
		if edit.Before == nil {
			return fmt.Errorf("the file exists already")
		}
		return fmt.Errorf("the file is not what the edit was made from")
	}
	return nil
}

func kind(mode filemode.FileMode) string {
	switch mode {
	case filemode.Dir:
		return "folder"
	case filemode.Symlink:
		return "symbolic link"
	case filemode.Submodule:
		return "submodule"
	}
	return "file"
}

func (w *treeWriter) storeTree(entries map[string]object.TreeEntry) (plumbing.Hash, error) {
	if len(entries) == 0 {
		return plumbing.ZeroHash, nil
	}
	list := slices.Collect(maps.Values(entries))
	// Git's order: a folder sorts as if its name ended in a slash.
	sort.Sort(object.TreeEntrySorter(list))
	return w.store((&object.Tree{Entries: list}).Encode)
}

func (w *treeWriter) store(encode func(plumbing.EncodedObject) error) (plumbing.Hash, error) {
	var o plumbing.MemoryObject
	if err := encode(&o); err != nil {
		return plumbing.ZeroHash, err
	}
	return w.add(&o)
}

func (w *treeWriter) add(o plumbing.EncodedObject) (plumbing.Hash, error) {
	h, err := w.repository.store.SetEncodedObject(o)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	w.made = append(w.made, h)
	return h, nil
}
