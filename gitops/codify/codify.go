// Package codify writes live values back to Git. For each wanted change of a rendered object it lets
// generators guess edits of the source files, applies each guess as a byte splice to a copy of the tree,
// and renders everything that reads the changed files before and after. A guess counts only when the
// wished fields then equal live and no other field of any object moved. Soundness rests on that proof
// alone, so a new kind of candidate is one file with a generator.
//
// The package is pure: the tree, the Fleet and the renderer are given.
package codify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

// Wish is what one finding wants of one declared object.
type Wish struct {
	// App is the Application in whose render the drift was seen.
	App gitops.Application
	// Declared is the object as App renders it from Request.Tree.
	Declared gitops.Declared
	// Changes are the fields that shall read as they do live.
	Changes []gitops.FieldChange
	// Live is the whole live object; it tells where an added list entry stands. It may be empty.
	Live      gitops.Object
	FindingID string
	// RemoveObject asks that Git stops declaring the object, since it is gone from the cluster.
	RemoveObject bool
	// CreateObject asks that Git declares Live, which it does not yet. Of Declared the identity alone is read, and
	// Unauthored are the fields of Live that nobody wrote and that stay out of Git.
	CreateObject bool
	Unauthored   []gitops.Path
	// Scope is how far an edit for the wish may reach. AllowWide accepts that the same field of the same object takes
	// the same value in Applications that did not ask for it. AllowIncomplete accepts that an Application which may
	// read a changed file could not be rendered, as long as the file belongs to the wishing Application's own folder.
	Scope                      gitops.Scope
	AllowWide, AllowIncomplete bool
}

// DefaultTimeout is how long one call may take where Request.Timeout is not set.
const DefaultTimeout = 2 * time.Minute

// RenderFunc renders an Application from a tree. The Result may be shared with later calls; codify does
// not change it.
type RenderFunc func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error)

// Request is everything that edits are made and proven with.
type Request struct {
	// Tree is the head of the branch that the edits are for.
	Tree   gitops.Tree
	Wishes []Wish
	// Fleet are all Applications known, of clusters and of the tree. Those of other repositories than
	// the wishes' are left out.
	Fleet  []gitops.Application
	Render RenderFunc
	// Schemas tell which values mean the same and which are defaults. Nil compares literally.
	Schemas *typed.Schemas
	// Forbidden says of a file that it must not be written, and why. Nil: a built-in list. Holdfast's own
	// files are never written.
	Forbidden func(path string) (reason string, no bool)
	// AllowKind lifts the built-in ban on RBAC, webhooks and admission policies by name. Nil: none.
	AllowKind func(gitops.GroupKind) bool
	// Timeout bounds the whole call; 0 is DefaultTimeout. What is placed by then stays.
	Timeout time.Duration
	// Decode reads the Applications that the tree itself declares, after an edit of an engine's object.
	// Nil: those of all engines are decoded.
	Decode func(gitops.Tree) []gitops.Application
}

// Answer is the edits, their proof, and what became of each wish.
type Answer struct {
	// Edits have one entry a file, sorted by path.
	Edits []gitops.Edit
	Proof gitops.Proof
	// Placed wishes are in Edits; Failed ones could not be placed, for the reason given.
	Placed, Failed []Outcome
}

// Outcome is what became of one change of one finding.
type Outcome struct {
	FindingID string
	// Path is empty when the whole object was wished away, or into Git.
	Path gitops.Path
	// How says which edit was made, in words.
	How string
	// Choice says in words why the edit is made there and not elsewhere; empty where there was no choice.
	Choice string
	// Reason says why there is no edit; NearestMiss what the best candidate would have done.
	Reason, NearestMiss string
}

var errNoRender = errors.New("codify: Request.Render is not set")

// Propose finds and proves edits for all wishes. Wishes that cannot be placed do not keep the others from
// it. The error is for a request that cannot be worked on at all, or ctx's end.
func Propose(ctx context.Context, request Request) (*Answer, error) {
	if request.Render == nil {
		return nil, errNoRender
	}
	if request.Decode == nil {
		request.Decode = func(tree gitops.Tree) []gitops.Application {
			apps, _ := engines.InTree(tree)
			return apps
		}
	}
	return propose(ctx, request, (*work).placeAll)
}

// propose runs a way of placing all goals within the time limit.
func propose(ctx context.Context, request Request, place func(*work, context.Context) error) (*Answer, error) {
	limit := cmp.Or(request.Timeout, DefaultTimeout)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	w := newWork(request)
	err := w.begin(limited)
	if err == nil {
		err = place(w, limited)
	}
	if err != nil && (ctx.Err() != nil || limited.Err() == nil) {
		return nil, err
	}
	if err != nil {
		w.giveUp(fmt.Sprintf("not tried: the time limit of %s passed", limit))
	}
	return w.answer(ctx)
}

// placeAll places the goals together as far as that goes, and the rest one by one: entries that go from lists
// first, those that come last.
func (w *work) placeAll(ctx context.Context) error {
	ordered := removalsFirst(w.goals)
	going := slices.DeleteFunc(slices.Clone(ordered), func(g *goal) bool { return !g.takesEntry() })
	if err := w.placeEach(ctx, going); err != nil {
		return err
	}
	for i := range w.members {
		// Of one member at a time: an edit for one may hide what an edit for another moves there.
		// Entries that come to a list look for their neighbours in a render, so they wait for it.
		own := slices.DeleteFunc(slices.Clone(ordered), func(g *goal) bool { return g.member != i || g.entry() || g.create })
		if err := w.together(ctx, own); err != nil {
			return err
		}
	}
	return w.placeEach(ctx, ordered)
}

func (w *work) placeEach(ctx context.Context, goals []*goal) error {
	for _, g := range goals {
		if err := w.place(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// giveUp gives the reason to all goals without an outcome.
func (w *work) giveUp(reason string) {
	for _, g := range w.goals {
		if !g.settled {
			g.settled, g.outcome.Reason = true, reason
		}
	}
}
