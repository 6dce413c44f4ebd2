package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"

	"holdfast/gitops"
)

// Inputs names everything of a tree that a render depends on: the files it read, those it looked for in vain,
// and the folders it listed. What else the tree holds does not matter to it.
type Inputs struct {
	reads, absent []string
	scans         []scan
}

// Inputs gives what the Result depends on. Only those of a render without an error are complete.
func (r *Result) Inputs() Inputs {
	return Inputs{reads: r.Reads, absent: slices.Sorted(maps.Keys(r.absent)), scans: r.scans}
}

// Files are the files that the render read or looked for in vain, sorted.
func (i Inputs) Files() []string {
	out := slices.Concat(i.reads, i.absent)
	slices.Sort(out)
	return slices.Compact(out)
}

// Folders are the folders that the render listed, sorted. One that ends in /* was listed without its sub-folders.
func (i Inputs) Folders() []string {
	var out []string
	for _, s := range i.scans {
		if s.any || s.recurse {
			out = append(out, s.folder)
		} else {
			out = append(out, path.Join(s.folder, "*"))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Names is a SHA-256 over the names alone, in hex: Inputs with the same Names have comparable digests.
func (i Inputs) Names() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\x00%q\x00%+v", i.reads, i.absent, i.scans)
	return hex.EncodeToString(h.Sum(nil))
}

// Digest is a SHA-256, in hex, over what tree holds of the inputs. A render of another tree with the same
// digest gives the same.
func (i Inputs) Digest(tree gitops.Tree) string {
	h := sha256.New()
	add := func(name string) {
		f, there := tree.File(name)
		fmt.Fprintf(h, "%q %t %d %d\n", name, there, f.Mode, len(f.Data))
		h.Write(f.Data)
	}
	for _, name := range i.reads {
		add(name)
	}
	for _, name := range i.absent {
		add(name)
	}
	for _, s := range i.scans {
		for _, name := range tree.Paths(s.folder) {
			if s.counts(name) {
				fmt.Fprintf(h, "%q\n", name)
			}
		}
		fmt.Fprintln(h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// counts says whether the listing depends on there being a file at name.
func (s scan) counts(name string) bool {
	if s.any {
		return within(name, s.folder)
	}
	if !manifest(name) && !isJsonnet(name) && !isKustomization(name) && path.Base(name) != ".sourceignore" {
		return false
	}
	dir := path.Dir(name)
	return dir == s.folder || s.recurse && within(dir, s.folder)
}
