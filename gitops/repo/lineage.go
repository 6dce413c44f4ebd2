package repo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"holdfast/gitops"
)

// Lineage is the line of first parents of a branch, for judging whether it was only ever added to. The hash of
// every object that is read is computed anew.
type Lineage struct {
	objects *objects
	// commits are the hashes, newest first. The last one has no parent, unless gap says why its parent is
	// not read.
	commits []plumbing.Hash
	gap     error
	// maxFile bounds the files that are read, in bytes.
	maxFile int64
	close   func() error
}

// Step is one commit of a Lineage and what it changed of its first parent's files.
type Step struct {
	Commit RawCommit
	// Changes are sorted by path.
	Changes []Change
	// Err says why the commit or its trees could not be read: ErrNotFound, ErrCorrupt, ErrTooLarge. Changes is then
	// not complete, and Commit may have its hash alone.
	Err error
	// First says that nothing before this commit could be read, though it has a parent.
	First bool
}

// ChangeKind says what became of a file.
type ChangeKind string

// The kinds of change.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Removed  ChangeKind = "removed"
)

// Change is what a commit did to one file.
type Change struct {
	Path string
	Kind ChangeKind
	// Mode is the new one; Submodule stands for a link to another repository.
	Mode gitops.Mode
	// Submodule says that the entry is no file of this repository.
	Submodule bool
	// Data is the content of an added regular file, or Err says why it could not be read.
	Data []byte
	Err  error
}

// LineageOptions say what to read.
type LineageOptions struct {
	// Location is a folder with a repository, which is read where it lies, or a URL.
	Location string
	Auth     Auth
	// Branch is a branch, also as a clone has it under remotes/origin. MaxFile bounds one file, in bytes.
	Branch  string
	MaxFile int64
	// MaxBytes bounds what is fetched from a URL; 0 is DefaultMaxBytes.
	MaxBytes int64
}

// OpenLineage finds the branch and its line of commits. Close ends it.
func OpenLineage(ctx context.Context, o LineageOptions) (*Lineage, error) {
	l := &Lineage{maxFile: o.MaxFile, close: func() error { return nil }}
	remote, err := newRemote(o.Location, o.Auth)
	if err != nil {
		return nil, err
	}
	var head plumbing.Hash
	if remote.local {
		head, err = l.openFolder(remote.endpoint.Path, o.Branch)
	} else {
		head, err = l.fetchAll(ctx, o)
	}
	if err == nil {
		err = l.walk(head)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: branch %s: %w", remote.name, o.Branch, errors.Join(err, l.close()))
	}
	return l, nil
}

// Close lets go of the files that are open.
func (l *Lineage) Close() error { return l.close() }

// Head is the newest commit; Len is how many there are.
func (l *Lineage) Head() string { return l.commits[0].String() }

// Len is how many commits the line has.
func (l *Lineage) Len() int { return len(l.commits) }

func (l *Lineage) fetchAll(ctx context.Context, o LineageOptions) (plumbing.Hash, error) {
	r, err := Open(ctx, Options{URL: o.Location, Auth: o.Auth, Branch: o.Branch, Depth: AllHistory, MaxBytes: o.MaxBytes})
	if err != nil {
		return plumbing.ZeroHash, err
	}
	l.objects = &objects{source: r.store}
	return r.refs.branches[o.Branch], nil
}

// openFolder opens a repository where it lies, without a copy in memory.
func (l *Lineage) openFolder(dir, branch string) (plumbing.Hash, error) {
	storage, err := openStorage(dir)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	l.objects, l.close = &objects{source: storage}, storage.Close
	return findBranch(storage, branch)
}

// openStorage opens the object store of a repository, a bare one, one with a worktree, or a linked worktree.
func openStorage(dir string) (*filesystem.Storage, error) {
	opened, err := git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, ErrNotRepository
	}
	if err != nil {
		return nil, err
	}
	plain, ok := opened.Storer.(*filesystem.Storage)
	if !ok {
		return nil, ErrNotRepository
	}
	files := plain.Filesystem()
	// Large objects are not unpacked before somebody asks for them, so that a small pack cannot fill the memory.
	const large = 1 << 20
	return filesystem.NewStorageWithOptions(files, cache.NewObjectLRU(32*cache.MiByte), filesystem.Options{
		ExclusiveAccess: true, KeepDescriptors: true, LargeObjectThreshold: large,
	}), nil
}

// findBranch looks for a branch of the repository, then for one that a clone has from its origin.
func findBranch(storage *filesystem.Storage, branch string) (plumbing.Hash, error) {
	for _, name := range []plumbing.ReferenceName{
		plumbing.NewBranchReferenceName(branch), plumbing.NewRemoteReferenceName("origin", branch),
	} {
		if err := name.Validate(); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%q is no valid branch name", branch)
		}
		ref, err := storage.Reference(name)
		if err == nil && ref.Type() == plumbing.HashReference {
			return ref.Hash(), nil
		}
	}
	return plumbing.ZeroHash, fmt.Errorf("%w: there is no such branch", ErrNotFound)
}

// walk lists the first parents from head on.
func (l *Lineage) walk(head plumbing.Hash) error {
	if head.IsZero() {
		return fmt.Errorf("%w: there is no such branch", ErrNotFound)
	}
	l.objects.next()
	for {
		c, err := l.objects.commit(head)
		if errors.Is(err, ErrNotFound) && len(l.commits) > 0 {
			if l.shallow() {
				return errors.New("the repository is a shallow clone, its history is cut: fetch all of it (git fetch --unshallow)")
			}
			l.gap = err
			return nil
		}
		l.commits = append(l.commits, head)
		if err != nil || len(c.Parents) == 0 {
			l.gap = err // what lies before cannot be told
			return nil
		}
		head = plumbing.NewHash(c.Parents[0])
	}
}

func (l *Lineage) shallow() bool {
	storage, ok := l.objects.source.(*filesystem.Storage)
	if !ok {
		return false
	}
	cut, err := storage.Shallow()
	return err == nil && len(cut) > 0
}

// Steps gives the commits from the oldest on. It can be run once.
func (l *Lineage) Steps() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		base, known := plumbing.ZeroHash, true
		for i, h := range slices.Backward(l.commits) {
			l.objects.next()
			step := Step{First: i == len(l.commits)-1 && l.gap != nil}
			step.Commit, step.Err = l.objects.commit(h)
			tree := plumbing.NewHash(step.Commit.Tree)
			switch {
			case step.Err != nil:
			case step.First:
				step.Err = l.gap
			case !known:
				step.Err = fmt.Errorf("what commit %s changed is not known, since the one before it could not be read", h)
			default:
				step.Err = l.compare(&step, base, tree, "")
			}
			// From a tree that can be read, the next commit's changes can be told.
			base, known = tree, step.Err == nil || !tree.IsZero() && l.readable(tree, "")
			if !yield(step) {
				return
			}
		}
	}
}

// readable says whether every folder of a tree can be read.
func (l *Lineage) readable(tree plumbing.Hash, folder string) bool {
	entries, err := l.objects.tree(tree)
	if err != nil || len(folder) > maxPath {
		return false
	}
	for _, e := range entries {
		if e.Mode == filemode.Dir && !l.readable(e.Hash, path.Join(folder, e.Name)) {
			return false
		}
	}
	return true
}

// Beyond says of a commit that is not in the line whether it is still in the repository, and whether it comes after
// the head: then the line was cut off there.
func (l *Lineage) Beyond(commit string) (found, after bool) {
	h := plumbing.NewHash(commit)
	for n := 0; n < 1_000_000; n++ {
		c, err := l.objects.commit(h)
		if err != nil {
			return found, false
		}
		found = true
		if len(c.Parents) == 0 {
			return found, false
		}
		if h = plumbing.NewHash(c.Parents[0]); h == l.commits[0] {
			return found, true
		}
	}
	return found, false
}

const maxPath = 4096

// compare appends what differs between two trees; the zero hash is the empty one.
func (l *Lineage) compare(step *Step, a, b plumbing.Hash, folder string) error {
	if a == b {
		return nil
	}
	if len(folder) > maxPath {
		return fmt.Errorf("tree %s: %w: folders are nested too deep", b, ErrTooLarge)
	}
	var old, now []object.TreeEntry
	var err error
	if !a.IsZero() {
		if old, err = l.objects.tree(a); err != nil {
			return err
		}
	}
	if !b.IsZero() {
		if now, err = l.objects.tree(b); err != nil {
			return err
		}
	}
	before, after := byName(old), byName(now)
	names := slices.Collect(maps.Keys(after))
	for name := range before {
		if _, still := after[name]; !still {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, is := before[name], after[name]
		if was == is {
			continue
		}
		if err := l.entry(step, was, is, path.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func byName(entries []object.TreeEntry) map[string]object.TreeEntry {
	out := make(map[string]object.TreeEntry, len(entries))
	for _, e := range entries {
		out[e.Name] = e
	}
	return out
}

// entry compares one name of two trees, of which either may be a file, a folder or nothing.
func (l *Lineage) entry(step *Step, was, is object.TreeEntry, name string) error {
	switch {
	case isEntryFile(was) && isEntryFile(is):
		step.Changes = append(step.Changes, l.change(Modified, is, name))
	case isEntryFile(was):
		step.Changes = append(step.Changes, Change{Path: name, Kind: Removed})
	case isEntryFile(is):
		step.Changes = append(step.Changes, l.change(Added, is, name))
	}
	return l.compare(step, asTree(was), asTree(is), name)
}

func isEntryFile(e object.TreeEntry) bool { return e.Mode != filemode.Empty && e.Mode != filemode.Dir }

func (l *Lineage) change(kind ChangeKind, e object.TreeEntry, name string) Change {
	c := Change{Path: name, Kind: kind}
	switch e.Mode {
	case filemode.Submodule:
		c.Submodule = true
		return c
	case filemode.Symlink:
		c.Mode = gitops.Symlink
	case filemode.Executable:
		c.Mode = gitops.Executable
	}
	if kind == Added {
		c.Data, c.Err = l.objects.read(plumbing.BlobObject, e.Hash, l.maxFile)
	}
	return c
}
