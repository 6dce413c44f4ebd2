package gitops

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Mode is the kind of a file in a Tree, as Git knows it.
type Mode uint8

// The modes that a repository tree can hold. Submodules are left out when a tree is read.
const (
	Regular Mode = iota
	Executable
	Symlink
)

// File is one file of a Tree. Data of a Symlink is its target.
type File struct {
	Mode Mode
	Data []byte
}

// Tree is a repository at one revision, held in memory and never changed: With gives a new one. Paths are
// slash paths from the root, without a leading slash.
type Tree struct {
	files map[string]File
}

// NewTree takes over files, which the caller must not change afterwards.
func NewTree(files map[string]File) Tree { return Tree{files: files} }

// Read gives a regular file, following symbolic links inside the tree. ok is false where there is none or
// a link leaves the tree.
func (t Tree) Read(name string) (data []byte, ok bool) {
	for range 10 {
		f, there := t.files[path.Clean(name)]
		if !there {
			return nil, false
		}
		if f.Mode != Symlink {
			return f.Data, true
		}
		target := string(f.Data)
		if path.IsAbs(target) {
			return nil, false
		}
		name = path.Join(path.Dir(name), target)
		if name == ".." || strings.HasPrefix(name, "../") {
			return nil, false
		}
	}
	return nil, false
}

// File gives the file as stored, links not followed.
func (t Tree) File(name string) (File, bool) {
	f, ok := t.files[path.Clean(name)]
	return f, ok
}

// Paths lists the files below folder, sorted; "." and "" mean the whole tree.
func (t Tree) Paths(folder string) []string {
	folder = path.Clean(cmp.Or(folder, "."))
	var out []string
	for name := range t.files {
		if folder == "." || name == folder || strings.HasPrefix(name, folder+"/") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Same says whether two trees are one and the same in memory, which is quick to tell.
func (t Tree) Same(o Tree) bool {
	return reflect.ValueOf(t.files).UnsafePointer() == reflect.ValueOf(o.files).UnsafePointer()
}

// Differing lists the files that differ between two trees, sorted.
func (t Tree) Differing(o Tree) []string {
	var out []string
	for name, f := range t.files {
		other, there := o.files[name]
		if !there || f.Mode != other.Mode || !bytes.Equal(f.Data, other.Data) {
			out = append(out, name)
		}
	}
	for name := range o.files {
		if _, there := t.files[name]; !there {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Len is the number of files.
func (t Tree) Len() int { return len(t.files) }

// With gives the tree after edits.
func (t Tree) With(edits []Edit) Tree {
	files := maps.Clone(t.files)
	if files == nil {
		files = map[string]File{}
	}
	for _, e := range edits {
		name := path.Clean(e.Path)
		if e.Remove {
			delete(files, name)
			continue
		}
		files[name] = File{Mode: files[name].Mode, Data: e.After}
	}
	return Tree{files: files}
}

// Mounted gives the tree with another one's files below the folder at.
func (t Tree) Mounted(at string, other Tree) Tree {
	files := make(map[string]File, len(t.files)+len(other.files))
	maps.Copy(files, t.files)
	for name, f := range other.files {
		files[path.Join(at, name)] = f
	}
	return Tree{files: files}
}

// Digest is a SHA-256 over names, modes and content below folder, in hex.
func (t Tree) Digest(folder string) string {
	h := sha256.New()
	for _, name := range t.Paths(folder) {
		f := t.files[name]
		fmt.Fprintf(h, "%s\x00%d\x00%d\x00", name, f.Mode, len(f.Data))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Edit is one changed, added or removed file. Before is nil for an added file.
type Edit struct {
	Path          string
	Before, After []byte
	Remove        bool
}
