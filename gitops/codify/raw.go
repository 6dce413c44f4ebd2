package codify

import (
	"context"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// rawManifest edits the value where the object itself is written.
type rawManifest struct{}

func (rawManifest) candidates(_ context.Context, s site) []Candidate {
	file := s.declared.Origin.File
	data, ok := s.tree.Read(file)
	if s.remove || file == "" || !ok {
		return nil
	}
	doc, prefix, ok := s.placeOf(file, data)
	if !ok {
		return nil
	}
	return s.inBothSpellings(func(s site) []Candidate { return s.editAt(file, data, doc, prefix, changesValue) })
}

// placeOf finds the document and list item of a file in which the object is written, and notes a file that cannot be
// edited at all.
func (s site) placeOf(file string, data []byte) (doc int, prefix gitops.Path, ok bool) {
	if _, err := splice.Documents(data); err != nil {
		s.refuse("edit "+file, err)
		return 0, nil, false
	}
	return placeOf(data, s.declared.Origin)
}

// placeOf finds the document, and the path of the list item, in which an object is written. The origin's
// numbers are believed only where the identity agrees.
func placeOf(data []byte, o gitops.Origin) (doc int, prefix gitops.Path, ok bool) {
	docs, err := splice.Documents(data)
	if err != nil {
		return 0, nil, false
	}
	if o.Item >= 0 {
		prefix = gitops.Path{gitops.Field("items"), gitops.Index(o.Item)}
	}
	if o.Document < len(docs) && isWritten(splice.Lookup(docs[o.Document], prefix).V, o.Written) {
		return o.Document, prefix, true
	}
	found := -1
	for i, d := range docs {
		if isWritten(d, o.Written) {
			if found >= 0 {
				return 0, nil, false
			}
			found = i
		}
	}
	return found, nil, found >= 0
}

// isWritten says whether content is the object with this identity, as a file has it.
func isWritten(content any, id gitops.ObjectID) bool {
	m, ok := content.(map[string]any)
	if !ok {
		return false
	}
	got := gitops.NewObject(m).ID
	return got.Kind == id.Kind && got.Name == id.Name && got.Group == id.Group && (got.Namespace == id.Namespace || got.Namespace == "" || id.Namespace == "")
}

// editAt gives the edits that bring s.change about in the object that stands at prefix of a document.
func (s site) editAt(file string, data []byte, doc int, prefix gitops.Path, floor int) []Candidate {
	docs, err := splice.Documents(data)
	if err != nil || doc >= len(docs) {
		return nil
	}
	object := splice.Lookup(docs[doc], prefix).V
	after, what, added, err := s.changeIn(data, doc, prefix, object)
	if what == "" {
		return nil
	}
	return s.one(what+" in "+file, file, after, err, max(floor, added))
}

// changeIn applies s.change to the object at prefix of a document. what is empty where the change does not
// apply: a list entry on the way is not described there, or there is nothing to remove.
func (s site) changeIn(data []byte, doc int, prefix gitops.Path, object any) (after []byte, what string, added int, err error) {
	path := s.change.Path
	if !describes(object, path) {
		return nil, "", 0, nil
	}
	old := splice.Lookup(object, path)
	at := append(slices.Clip(prefix), path...)
	if !s.change.After.Set {
		if !old.Set {
			return nil, "", 0, nil
		}
		at = append(slices.Clip(prefix), s.emptied(object, path)...)
		after, err = splice.Remove(data, doc, at)
		return after, "remove " + path.String(), changesValue, err
	}
	if old.Set {
		after, err = splice.Set(data, doc, at, s.change.After.V)
		if text, ok := old.V.(string); ok && (hasVariable(text) || s.hasVar(text)) {
			return after, "replace the variable in " + path.String(), takesVariable, err
		}
		return after, "change " + path.String(), changesValue, err
	}
	last := path[len(path)-1]
	if list, ok := splice.Lookup(object, path[:len(path)-1]).V.([]any); ok && !last.IsField() {
		i := min(last.Index, len(list))
		if last.IsEntry() {
			i = s.insertion(path[:len(path)-1], list, last.Keys)
		}
		after, err = splice.Insert(data, doc, at[:len(at)-1], i, s.change.After.V)
		return after, "add " + path.String(), addsEntry, err
	}
	after, err = splice.Set(data, doc, at, s.change.After.V)
	return after, "add " + path.String(), addsEntry, err
}

// describes says whether all list entries on the way to path's last step exist in object, so that adding
// the rest makes no entry without its keys.
func describes(object any, path gitops.Path) bool {
	for i, step := range path {
		if step.IsField() || i == len(path)-1 {
			continue
		}
		if !splice.Lookup(object, path[:i+1]).Set {
			return false
		}
	}
	return true
}

// emptied shortens path to the outermost mapping or list that the removal would leave empty and that live
// does not have either.
func (s site) emptied(object any, path gitops.Path) gitops.Path {
	for len(path) > 1 {
		parent := path[:len(path)-1]
		if splice.Lookup(s.live.Content, parent).Set || s.live.Content == nil {
			return path
		}
		if !single(object, parent) {
			return path
		}
		path = parent
	}
	return path
}

// hasVariable says whether a text has a Flux variable in it.
func hasVariable(text string) bool { return strings.Contains(text, "${") }
