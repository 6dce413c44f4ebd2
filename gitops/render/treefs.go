package render

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// mount is where the tree lies for kustomize. It is not the root of the file system, so that a path with
// too many ".." is seen to leave the repository instead of stopping at its top.
const mount = "/repository"

// treeFS is a tree as kustomize's file system: read only, lazy, closed. The files that the walk has
// announced as resources are given with a mark in each object.
type treeFS struct {
	src *source
	// replaced is content that stands in for a file, such as a kustomization that Flux generates.
	replaced map[string][]byte
	// approved are the kustomization files that the walk has seen; no other one may be read.
	approved map[string]bool
	marks    *marks
}

var _ filesys.FileSystem = (*treeFS)(nil)

var errReadOnly = errors.New("the repository is read only while it is rendered")

func (t *treeFS) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (t *treeFS) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (t *treeFS) Mkdir(string) error                   { return errReadOnly }
func (t *treeFS) MkdirAll(string) error                { return errReadOnly }
func (t *treeFS) RemoveAll(string) error               { return errReadOnly }
func (t *treeFS) WriteFile(string, []byte) error       { return errReadOnly }
func (t *treeFS) ReadDir(string) ([]string, error)     { return nil, errReadOnly }
func (t *treeFS) Glob(string) ([]string, error)        { return nil, errReadOnly }
func (t *treeFS) Walk(string, filepath.WalkFunc) error { return errReadOnly }

// locate gives the path in the tree, links resolved.
func (t *treeFS) locate(name string) (string, error) {
	clean := path.Clean(name)
	if clean != mount && !strings.HasPrefix(clean, mount+"/") {
		return "", fmt.Errorf("'%s' leaves the repository", name)
	}
	in, ok := t.src.resolve("." + strings.TrimPrefix(clean, mount))
	if !ok {
		return "", fmt.Errorf("'%s' is a symbolic link that leaves the repository", name)
	}
	return in, nil
}

func (t *treeFS) IsDir(name string) bool {
	in, err := t.locate(name)
	return err == nil && t.isDir(in)
}

func (t *treeFS) isDir(in string) bool {
	if t.src.isDir(in) {
		return true
	}
	for name := range t.replaced {
		if path.Dir(name) == in {
			return true
		}
	}
	return false
}

func (t *treeFS) Exists(name string) bool {
	in, err := t.locate(name)
	return err == nil && (t.isFile(in) || t.isDir(in))
}

func (t *treeFS) isFile(in string) bool {
	_, there := t.replaced[in]
	return there || t.src.isFile(in)
}

func (t *treeFS) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	in, err := t.locate(name)
	switch {
	case err != nil:
		return "", "", err
	case t.isFile(in):
		return filesys.ConfirmedDir(path.Join(mount, path.Dir(in))), path.Base(in), nil
	case t.isDir(in):
		return filesys.ConfirmedDir(path.Join(mount, in)), "", nil
	}
	return "", "", fmt.Errorf("'%s' doesn't exist", name)
}

func (t *treeFS) ReadFile(name string) ([]byte, error) {
	in, err := t.locate(name)
	if err != nil {
		return nil, err
	}
	data, err := t.content(in)
	if err != nil {
		return nil, err
	}
	if isKustomization(name) && !t.approved[in] {
		return nil, fmt.Errorf("'%s' was not checked for remote content", name)
	}
	data, err = t.marks.apply(in, data)
	if err != nil {
		t.src.refuse(err)
	}
	return data, err
}

// content gives a file without marks. One whose aliases would swamp kustomize is refused.
func (t *treeFS) content(in string) ([]byte, error) {
	data, err := t.stored(in)
	if err != nil {
		return nil, err
	}
	if err := harmless(in, data); err != nil {
		t.src.refuse(err)
		return nil, err
	}
	return data, nil
}

func (t *treeFS) stored(in string) ([]byte, error) {
	if data, ok := t.replaced[in]; ok {
		return data, nil
	}
	data, ok, err := t.src.read(in)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("'%s' doesn't exist", path.Join(mount, in))
	}
	return data, nil
}
