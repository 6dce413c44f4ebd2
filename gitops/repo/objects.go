package repo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ErrCorrupt: an object of the repository is not what its name says, or is not readable as what it should be.
var ErrCorrupt = errors.New("the object is damaged")

// The most that is read of one object that no file is.
const (
	maxCommit = 1 << 20
	maxTree   = 64 << 20
)

// objects reads Git objects and computes each one's name anew: a name is a hash of the content, and neither a
// disk nor a library is taken at its word.
type objects struct {
	source interface {
		EncodedObject(plumbing.ObjectType, plumbing.Hash) (plumbing.EncodedObject, error)
	}
	// trees keeps what was parsed of the last trees, most of which the next commit has too.
	trees, older map[plumbing.Hash][]object.TreeEntry
}

func (o *objects) commit(h plumbing.Hash) (RawCommit, error) {
	data, err := o.read(plumbing.CommitObject, h, maxCommit)
	if err != nil {
		return RawCommit{Hash: h.String()}, err
	}
	return parseCommit(h.String(), data)
}

// read gives an object's content. It gives ErrNotFound, ErrCorrupt or ErrTooLarge.
func (o *objects) read(kind plumbing.ObjectType, h plumbing.Hash, limit int64) (data []byte, err error) {
	// A damaged pack or index must not end the program, whatever the library that parses it trusts in.
	defer func() {
		if trouble := recover(); trouble != nil {
			data, err = nil, fmt.Errorf("%s %s: %w: the pack that holds it is not readable", kind, h, ErrCorrupt)
		}
	}()
	stored, err := o.source.EncodedObject(plumbing.AnyObject, h)
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return nil, fmt.Errorf("%s %s: %w", kind, h, ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w: %w", kind, h, ErrCorrupt, err)
	case stored.Type() != kind:
		return nil, fmt.Errorf("%s %s: %w: it is a %s", kind, h, ErrCorrupt, stored.Type())
	case stored.Size() > limit:
		return nil, fmt.Errorf("%s %s: %w: it has %d bytes, at most %d are read", kind, h, ErrTooLarge, stored.Size(), limit)
	}
	reader, err := stored.Reader()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %w", kind, h, ErrCorrupt, err)
	}
	defer reader.Close()
	if data, err = io.ReadAll(io.LimitReader(reader, limit+1)); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %w", kind, h, ErrCorrupt, err)
	}
	if plumbing.ComputeHash(kind, data) != h {
		return nil, fmt.Errorf("%s %s: %w: its content has another hash", kind, h, ErrCorrupt)
	}
	return data, nil
}

// tree parses a tree strictly: entries in git's order, each name once and one that git would check out.
func (o *objects) tree(h plumbing.Hash) ([]object.TreeEntry, error) {
	for _, known := range []map[plumbing.Hash][]object.TreeEntry{o.trees, o.older} {
		if entries, ok := known[h]; ok {
			o.trees[h] = entries
			return entries, nil
		}
	}
	data, err := o.read(plumbing.TreeObject, h, maxTree)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(data)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w: %w", h, ErrCorrupt, err)
	}
	o.trees[h] = entries
	return entries, nil
}

// next forgets the trees that the last commit did not use.
func (o *objects) next() { o.older, o.trees = o.trees, map[plumbing.Hash][]object.TreeEntry{} }

func parseTree(data []byte) ([]object.TreeEntry, error) {
	var out []object.TreeEntry
	for len(data) > 0 {
		mode, rest, ok := bytes.Cut(data, []byte(" "))
		name, after, named := bytes.Cut(rest, []byte{0})
		if !ok || !named || len(after) < 20 {
			return nil, errors.New("an entry is cut short")
		}
		bits, err := strconv.ParseUint(string(mode), 8, 32)
		if err != nil {
			return nil, fmt.Errorf("mode %q", mode)
		}
		e := object.TreeEntry{Name: string(name), Mode: filemode.FileMode(bits)}
		if e.Mode == filemode.Empty {
			return nil, fmt.Errorf("mode %q", mode)
		}
		if err := checkName(e.Name); err != nil {
			return nil, err
		}
		copy(e.Hash[:], after)
		if n := len(out); n > 0 && sortName(out[n-1]) >= sortName(e) {
			return nil, fmt.Errorf("entry %q is out of order", e.Name)
		}
		out = append(out, e)
		data = after[20:]
	}
	return out, nil
}

// sortName is the name by which git sorts: a folder as if it ended in a slash.
func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}
