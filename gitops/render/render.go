// Package render turns a folder of a repository tree into the objects that it declares: plain YAML and
// JSON manifests, kustomizations with what Flux adds to them, and Helm charts. Each object comes with its Origin: the
// file, document and list item it stands in, and the transformers in whose scope it lies.
//
// A render reads nothing but the tree that it is given: no disk, no network, no environment. Remote
// bases, exec plugins, container functions and Helm charts inside kustomizations are refused by name.
package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"holdfast/gitops"
	"holdfast/gitops/chart"
)

// Limits bound one render. A zero field takes its value from DefaultLimits.
type Limits struct {
	// Timeout is the wall time of one render, the wait for kustomize's turn included.
	Timeout time.Duration
	// Bytes is the sum of the sizes of all files read.
	Bytes int64
	// Objects is the number of objects rendered.
	Objects int
}

// DefaultLimits are generous for a repository that people write by hand.
func DefaultLimits() Limits {
	return Limits{Timeout: time.Minute, Bytes: 64 << 20, Objects: 50_000}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	return Limits{
		Timeout: cmp.Or(l.Timeout, d.Timeout),
		Bytes:   cmp.Or(l.Bytes, d.Bytes),
		Objects: cmp.Or(l.Objects, d.Objects),
	}
}

// Env is what a render must know from outside the tree.
type Env struct {
	// Namespaced says whether a kind is namespaced; known is false when the cluster does not serve it.
	// Nil, or unknown: CRDs among the rendered objects decide, then the table of built-in kinds.
	Namespaced func(gitops.GroupKind) (namespaced, known bool)
	Limits     Limits
	// KubeVersion (v1.31.2) and APIVersions ("apps/v1", "apps/v1/Deployment") are the cluster's, for charts whose
	// Application says none. Empty: nobody knows.
	KubeVersion string
	APIVersions []string
	// minorVersion says that the engine may tell charts the cluster's version without its patch number.
	minorVersion bool
	// helmClient says that the engine installs and upgrades releases by Helm itself, where Argo CD only lets it
	// print the templates.
	helmClient bool
}

// Result is what a folder declares.
type Result struct {
	// Objects are in the order that the renderer gives. Their ID has the effective namespace, their
	// Content is as rendered.
	Objects  []gitops.Declared
	Problems []Problem
	// Hooks are what a chart runs at events of its release. They are no declared state, but many stay in the cluster.
	Hooks []gitops.Declared
	// Reads are the files read, sorted: the transitive closure. Symbolic links count with their target.
	Reads []string
	// Unsure are fields whose value depends on variables that are not known (substituteFrom of a
	// ConfigMap or Secret that was not read). What Content holds there is a placeholder.
	Unsure map[gitops.ObjectID][]gitops.Path
	// Unstable are fields to which the chart gives another value at each render: by chance, by the time, or by what
	// it finds in the cluster. What Content holds there is a stand-in, the same in every render.
	Unstable map[gitops.ObjectID][]gitops.Path
	// Secret are fields whose value comes from a Secret by substitution, and must not be shown.
	Secret map[gitops.ObjectID][]gitops.Path

	// scans are folders whose listing the render depends on; absent are paths that were looked for.
	scans  []scan
	absent map[string]bool
}

// scan is a listing of a folder for manifests.
type scan struct {
	folder  string
	recurse bool
	// any counts files of every name: a chart's.
	any bool
}

// Touches says whether a change, an addition or a removal of the file at name may alter this render.
// Beyond Reads it knows the folders that were listed and the files that were looked for in vain.
func (r *Result) Touches(name string) bool {
	name = path.Clean(name)
	for _, read := range r.Reads {
		if read == name {
			return true
		}
	}
	if r.absent[name] {
		return true
	}
	for _, s := range r.scans {
		if s.counts(name) {
			return true
		}
	}
	return false
}

// ProblemKind says what is wrong with a file or object, while the rest could be rendered.
type ProblemKind string

// The kinds of problems.
const (
	// Syntax: the document is no YAML or JSON; its objects are unknown.
	Syntax ProblemKind = "syntax"
	// DuplicateKey: a mapping has the same key twice; the object is rendered as the last one says, as
	// lenient parsers do, while kustomize refuses the file.
	DuplicateKey ProblemKind = "duplicate-key"
	// NoObject: a file that was named explicitly holds something that is no Kubernetes object.
	NoObject ProblemKind = "no-object"
	// HalfObject: a document that looks like an object and is none, as with a misspelt apiVersion.
	HalfObject ProblemKind = "half-object"
	// NoName: the object has no metadata.name, so no live object can be told to be it.
	NoName ProblemKind = "no-name"
	// DuplicateObject: the object is declared twice; the later one is kept.
	DuplicateObject ProblemKind = "duplicate-object"
	// Unreadable: a symbolic link that leads nowhere or out of the tree.
	Unreadable ProblemKind = "unreadable"
	// UnstableObject: the name of the object, or whether there is one, is another at each render of the chart, so it
	// is left out.
	UnstableObject ProblemKind = "unstable-object"
	// UnknownInput: the identity or the shape of the object depends on variables that are not known, so
	// it is left out.
	UnknownInput ProblemKind = "unknown-input"
)

// Problem is something that keeps a document or object from being rendered as it is meant.
type Problem struct {
	File string
	// Line counts from 1 in File; 0 is not known. Document is the index as in gitops.Origin.
	Line, Document int
	Kind           ProblemKind
	Message        string
	// Object is the zero ObjectID when it is not known.
	Object gitops.ObjectID
}

// String gives file:line: message.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return p.File + ": " + p.Message
}

// Errors that callers can tell apart with errors.Is.
var (
	// ErrRemote: the render needs something from outside the tree.
	ErrRemote = chart.ErrRemote
	// ErrPlugin: a kustomization asks for code or a chart, which is never run here.
	ErrPlugin = errors.New("plugins, functions and Helm charts in kustomizations are not run")
	// ErrLimit: a limit of size, number or time was passed.
	ErrLimit = chart.ErrLimit
	// ErrNotFound: the path is not in the tree.
	ErrNotFound = chart.ErrNotFound
)

// Render gives the objects that path declares: a folder, or one file, as a slash path from the root of
// the tree. With neither how.Helm nor how.Kustomize the manifests are read as they are; a broken document is a
// Problem and the rest goes on. Otherwise Helm or kustomize renders the folder, and fails as a whole. The Result is never nil:
// beside an error it holds what was read until then.
//
// Namespaced objects that name no namespace get how.Namespace in their ID; cluster-scoped objects have
// none, whatever they write. A kind that nobody knows is taken as namespaced, as kustomize does.
func Render(ctx context.Context, tree gitops.Tree, path string, how gitops.Render, env Env) (*Result, error) {
	limits := env.Limits.orDefault()
	ctx, cancel := context.WithTimeout(ctx, limits.Timeout)
	defer cancel()

	src := &source{ctx: ctx, tree: tree, left: limits.Bytes, reads: map[string]bool{}, absent: map[string]bool{}}
	result := &Result{}
	root, err := inside(path)
	if err == nil {
		switch {
		case how.Helm != nil:
			how.Namespace = cmp.Or(how.Helm.Namespace, how.Namespace)
			err = helmed(src, root, how, env, result)
		case how.Kustomize != nil:
			err = kustomized(src, root, how, result)
		default:
			err = plain(src, root, how, result)
		}
	}
	if err == nil && len(result.Objects) > limits.Objects {
		err = fmt.Errorf("%w: %d objects, %d are allowed", ErrLimit, len(result.Objects), limits.Objects)
	}
	src.account(result)
	if err != nil {
		result.Objects = nil
		return result, fmt.Errorf("render %s: %w", cmp.Or(root, "."), err)
	}
	settle(result, how.Namespace, env.Namespaced)
	return result, nil
}

// inside cleans a path that must lie in the tree; the root is ".".
func inside(name string) (string, error) {
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return ".", fmt.Errorf("path %q leaves the repository", name)
	}
	return clean, nil
}

// within says whether name is folder or lies below it.
func within(name, folder string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}

// manifest says whether a file's name marks it as YAML or JSON.
func manifest(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
