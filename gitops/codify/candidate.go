package codify

import (
	"context"
	"path"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// Candidate is a guess: edits of source files that may bring the change about.
type Candidate struct {
	// What says what is edited, in words for people.
	What string
	// choice says why there, where there are other places; empty without.
	choice string
	Edits  []gitops.Edit
	// Added is how much structure is new: see the constants. Less wins.
	Added int
	// rank orders candidates that add the same: where the object is declared, then in the overlay's own
	// patches, then in others'.
	rank int
	// lines is how many lines differ, added and removed ones each.
	lines int
	// name tells the candidates of a goal apart, whatever tree they are made on.
	name string
	// engine are the fields of an engine's own object that are edited: its render may move there.
	engine []engineEdit
}

// How much structure a candidate adds.
const (
	changesValue  = iota // a value that stands there changes, or goes
	addsEntry            // a key or entry is added where the object is described already
	addsSection          // a new section, or an entry for an object not described there yet
	addsFile             // a new file
	lastResort           // something that people would rather not see
	takesVariable        // a variable gives way to a literal
)

// The ranks.
const (
	whereDeclared = iota
	inOverlay
	elsewhere
)

// engineEdit names fields of an engine's own object that an edit changes on purpose.
type engineEdit struct {
	id   gitops.ObjectID
	path gitops.Path
	// free says that no member is known to declare the object for the Application: any may show the edit.
	free bool
}

// generator guesses candidates of one kind. It gives none where its kind does not apply; what it gives
// need not be right.
type generator interface {
	candidates(ctx context.Context, s site) []Candidate
}

// generators are the kinds of candidates for a goal.
func (s site) generators() []generator {
	switch {
	case s.create:
		return []generator{newObject{}}
	case templated(s.declared):
		return []generator{helmValues{}, postRenderers{}, commonMetadata{}}
	}
	return []generator{
		rawManifest{}, existingPatch{}, generated{}, images{}, replicas{}, givenMetadata{}, newPatch{}, newOperations{}, laterPatch{},
		substitution{}, replacement{}, oldVariable{}, removedField{}, removedObject{}, removedGenerator{}, commonMetadata{}, argoImages{},
	}
}

// site is one goal and what surrounds it.
type site struct {
	tree gitops.Tree
	app  gitops.Application
	// declared is the object as the tree renders it now.
	declared gitops.Declared
	live     gitops.Object
	change   gitops.FieldChange
	// remove and create say that the whole object is to go, or to come; a created one is the change's After.
	remove, create bool
	// shared says that another Application wishes the same.
	shared bool
	scope  gitops.Scope
	// objects are all that the Application renders now.
	objects []gitops.Declared
	// layers are the kustomizations below the Application's path, the outermost first.
	layers []layer
	// flux is the Application's own Flux Kustomization in the repository.
	flux    *layer
	meaning meaning
	// custom says that the object's type is not known to kustomize, so that patches replace its lists.
	custom bool
	// refusals collect why a splice was refused, for the message when nothing else works.
	refusals *[]string
	// inner is set while a replacement asks for edits of its source.
	inner bool
	// render and met render an Application and say whether an object is as the goal wants it; finds remembers
	// what was tried of charts.
	render RenderFunc
	met    func(gitops.Declared) bool
	finds  *finds
	// work and member are where the goal is one of many. chain counts the objects of other members through which the
	// change is made.
	work   *work
	member int
	chain  int
}

// allLayers are the kustomizations and the Flux Kustomization around them.
func (s site) allLayers() []layer {
	if s.flux == nil {
		return s.layers
	}
	return append([]layer{*s.flux}, s.layers...)
}

// owners are the layers to which something may be added for this Application alone, and how much the
// addition weighs more than elsewhere.
func (s site) owners() map[string]int {
	out := map[string]int{}
	for i, l := range s.layers {
		if i == 0 || s.manifold() {
			out[l.file] = 0
		}
	}
	if s.flux != nil {
		out[s.flux.file] = lastResort
	}
	return out
}

// manifold says whether the render has several objects that are written as this one: kustomizations below the outermost
// one make them of the same source, and only there can they be told apart.
func (s site) manifold() bool {
	n := 0
	for _, d := range s.objects {
		if d.Origin.Written == s.declared.Origin.Written && d.Origin.File == s.declared.Origin.File && d.Origin.Document == s.declared.Origin.Document {
			n++
		}
	}
	return n > 1
}

// byScope orders two candidates where policy wants values in the base: what the Application alone reads comes last.
func (s site) byScope(a, b Candidate) int {
	if s.scope != gitops.ScopeBase {
		return 0
	}
	own := func(c Candidate) int {
		for _, file := range c.files() {
			if len(s.layers) > 0 && path.Dir(file) == s.layers[0].dir || s.flux != nil && file == s.flux.file {
				return 1
			}
		}
		return 0
	}
	return own(a) - own(b)
}

// edit gives the edit that makes file read as after; ok is false where it reads so already.
func (s site) edit(file string, after []byte) (gitops.Edit, bool) {
	name := linked(s.tree, file)
	before, there := s.tree.Read(name)
	if there && slices.Equal(before, after) {
		return gitops.Edit{}, false
	}
	e := gitops.Edit{Path: name, Before: before, After: after}
	if !there {
		e.Before = nil
	}
	return e, true
}

// one gives the candidate of a single edited file, none when the splice was refused or changes nothing.
func (s site) one(what, file string, after []byte, err error, added int) []Candidate {
	if err != nil {
		s.refuse(what, err)
		return nil
	}
	e, ok := s.edit(file, after)
	if !ok {
		return nil
	}
	return []Candidate{{What: what, Edits: []gitops.Edit{e}, Added: added}}
}

// refuse notes that an edit could not be written.
func (s site) refuse(what string, err error) {
	if s.refusals != nil {
		*s.refusals = append(*s.refusals, what+": "+err.Error())
	}
}

// declaredValue is the value that Git declares now.
func (s site) declaredValue() gitops.Value { return splice.Lookup(s.declared.Content, s.change.Path) }

// insertion gives the place in list (the file's) at which the entry with keys belongs: behind the entry
// that stands nearest before it in the live list, else before the one nearest behind it, else at the end.
func (s site) insertion(listPath gitops.Path, list []any, keys []gitops.Key) int {
	live, _ := splice.Lookup(s.live.Content, listPath).V.([]any)
	i := splice.Find(live, keys)
	if i < 0 {
		return len(list)
	}
	known := append(names(keys), s.meaning.mergeKeys(s.declared.Object, listPath)...)
	place := func(neighbour any) int {
		if same := keysIn(neighbour, known); len(same) > 0 {
			return splice.Find(list, same)
		}
		return -1
	}
	for j := i - 1; j >= 0; j-- {
		if at := place(live[j]); at >= 0 {
			return at + 1
		}
	}
	for j := i + 1; j < len(live); j++ {
		if at := place(live[j]); at >= 0 {
			return at
		}
	}
	return len(list)
}
