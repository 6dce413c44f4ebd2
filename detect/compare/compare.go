// Package compare finds where a live object differs in meaning from the declared one, and who owns what is
// live there: value by owner, before anybody asks why. It is driven by the types of package typed, does no
// I/O and knows no engine.
//
// How a difference is cut and named:
//
//   - Entries of keyed lists are named by their first merge key, [name=web], by all keys where the first is
//     not unique ([port=53,protocol=UDP]), and by index where keys repeat or there are none.
//   - A list of scalars is one difference, at the list. Only where position counts (args, command) and both
//     lists have the same length is each changed entry one: args[2].
//   - Entries of an atomic list of mappings are matched by equal meaning first. What is left at the same
//     index on both sides is compared inside, what is left on one side is added or removed at its index, and
//     anything else is one difference at the list.
//   - An added or removed list entry is one difference, at the entry. So is an added or removed atomic list.
//   - An added structure or map is split into the fields that are no default, since each has owners of its
//     own; below custom resources only where the owners differ. An empty one is a difference itself. A
//     removed structure has no owners and is one difference; a removed map is one for each key.
package compare

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// Masked stands for a value of a Secret in every Difference.
const Masked = "<secret>"

// Comparer compares objects. It is safe for concurrent use.
type Comparer struct {
	schemas *typed.Schemas
}

// Options say what to list.
type Options struct {
	// All lists values that mean the same too: other spellings, defaults, dropped zero values, server-set
	// fields, reordered lists whose order has no meaning.
	All bool
}

// New gives a Comparer.
func New(schemas *typed.Schemas) *Comparer {
	return &Comparer{schemas: schemas}
}

// Compare lists where live differs from declared, sorted by path. It reads the identity of neither: the
// caller pairs objects, by their effective namespace. Status and what the server keeps in metadata are never
// compared. The error says what of live's managedFields could not be read, or that the two are of versions
// between which no conversion is known; the differences are as good as they can be beside it.
func (c *Comparer) Compare(declared, live gitops.Object, opts Options) ([]detect.Difference, error) {
	git, current, versionErr := c.sameVersion(declared, live)
	t, ok := c.schemas.Lookup(current.APIVersion, current.ID.Kind)
	if !ok {
		t = c.schemas.Untyped()
	}
	w := walker{
		comparer: c, all: opts.All, secret: live.IsSecret(),
		root: t, git: git.Content, live: current.Content, managed: live.Content, known: ok,
	}
	if w.secret {
		w.git = FoldStringData(w.git)
	}
	w.object()
	// Metadata is the same at all versions.
	if versionErr != nil && !slices.ContainsFunc(w.out, func(d detect.Difference) bool { return d.Differs && d.Path[0].Field != "metadata" }) {
		versionErr = nil
	}
	if versionErr == nil {
		versionErr = w.problem
	}
	if versionErr != nil {
		versionErr = fmt.Errorf("%s: %w", live.ID, versionErr)
	}
	if len(w.out) == 0 {
		return nil, versionErr
	}
	w.finish()
	return w.out, versionErr
}

// finish sorts, masks and explains what the walk found.
func (w *walker) finish() {
	if !w.known || w.guesses {
		w.inferDefaults()
	}
	if w.secret {
		for i := range w.out {
			w.mask(&w.out[i])
		}
	}
	slices.SortStableFunc(w.out, func(a, b detect.Difference) int {
		return strings.Compare(a.Path.String(), b.Path.String())
	})
}

// mask hides what a Secret holds, and copies of it that tools leave in annotations.
func (w *walker) mask(d *detect.Difference) {
	top := d.Path[0].Field
	if top != "data" && top != "stringData" && top != "metadata" {
		return
	}
	if top == "metadata" && !holdsCopy(d.Path) {
		return
	}
	d.Masked = true
	if d.Git.Set {
		d.Git = gitops.Present(Masked)
	}
	if d.Live.Set {
		d.Live = gitops.Present(Masked)
	}
}

// holdsCopy knows the annotation in which client-side apply keeps the whole object.
func holdsCopy(path gitops.Path) bool {
	return len(path) < 3 && path[len(path)-1].Field == "annotations" ||
		len(path) >= 3 && path[1].Field == "annotations" && path[2].Field == lastApplied
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
