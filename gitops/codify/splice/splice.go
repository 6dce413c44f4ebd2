// Package splice edits YAML and JSON text byte by byte: it finds the place of a value by the positions of
// the parsed nodes, replaces, adds or removes it there, and leaves every other byte as it was. Comments,
// quotes, indentation, line endings, a byte order mark and a missing final newline survive.
//
// Each result is parsed again: the edited place must read as wanted and everything else as before, or the
// edit is refused. New text is quoted wherever YAML 1.1 (which Kubernetes clients read) or YAML 1.2 would
// take it for another type.
//
// Paths lead from the root of one document. The package knows no Kubernetes kinds; only the conventional
// order of keys in manifests is borrowed from there.
package splice

import (
	"errors"
	"fmt"
	"slices"

	"holdfast/gitops"
)

// The reasons for which an edit is refused. Errors name the place and wrap one of them.
var (
	// ErrNotFound: the document or path does not exist.
	ErrNotFound = errors.New("not found")
	// ErrShared: the place is an anchor, alias or merge key that other places read too.
	ErrShared = errors.New("shared by an anchor")
	// ErrUnsupported: the place is written in a form that is not edited, such as an explicit ? key.
	ErrUnsupported = errors.New("form not supported")
	// ErrSyntax: the text is no YAML.
	ErrSyntax = errors.New("not valid YAML")
	// ErrMismatch: the edited text does not read as wanted; nothing is returned.
	ErrMismatch = errors.New("edited text would not read as wanted")
)

// maxSteps bounds the primitive edits of one Set; a value of more differing leaves is refused.
const maxSteps = 2000

// change is one replacement of bytes.
type change struct {
	start, end int
	text       string
}

// Set makes the value at path of document doc read as value and gives the new text. Where path exists
// already, only the parts that differ are touched; where it does not, missing parents are created.
// value holds JSON values: map[string]any, []any, string, bool, int64, float64, nil.
func Set(data []byte, doc int, path gitops.Path, value any) ([]byte, error) {
	f, err := parse(data)
	if err != nil {
		return nil, err
	}
	plain, err := f.plainPath(doc, path)
	if err != nil {
		return nil, err
	}
	f = f.own(doc, plain, false)
	value = normal(value)
	want, line := withValue(f.contents(), doc, plain, value), f.lineNear(doc, plain)
	last := any(nil)
	for step := range maxSteps {
		changes, err := f.towards(doc, plain, value)
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", path, err)
		}
		if len(changes) == 0 {
			if !equal(any(f.contents()), any(want)) {
				return nil, fmt.Errorf("set %s at line %d: %w", path, line, ErrMismatch)
			}
			return f.data, nil
		}
		if f, err = parse(apply(f.data, changes)); err != nil {
			return nil, fmt.Errorf("set %s at line %d: %w: %w", path, line, ErrMismatch, err)
		}
		now := f.contents()
		if len(now) != len(want) || step > 0 && equal(now, last) || !equal(withValue(now, doc, plain, value), want) {
			return nil, fmt.Errorf("set %s at line %d: %w", path, line, ErrMismatch)
		}
		last = now
	}
	return nil, fmt.Errorf("set %s: %w: more than %d places differ", path, ErrUnsupported, maxSteps)
}

// Insert adds value to the list at path, before the entry that has index now; an index of the length or
// more appends.
func Insert(data []byte, doc int, path gitops.Path, index int, value any) ([]byte, error) {
	f, err := parse(data)
	if err != nil {
		return nil, err
	}
	plain, err := f.plainPath(doc, path)
	if err != nil {
		return nil, err
	}
	f = f.own(doc, plain, false)
	value = normal(value)
	n, via, err := f.find(doc, plain)
	if err != nil {
		return nil, fmt.Errorf("insert into %s: %w", path, err)
	}
	if via != nil {
		return nil, fmt.Errorf("insert into %s: %w at line %d", path, ErrShared, f.lineOf(via.first))
	}
	if n.kind != sequence {
		return nil, fmt.Errorf("insert into %s: %w: no list at line %d", path, ErrUnsupported, f.lineOf(n.first))
	}
	index = min(max(index, 0), len(n.items))
	list, _ := n.content().([]any)
	want := withValue(f.contents(), doc, plain, slices.Insert(slices.Clone(list), index, value))
	changes, err := f.insertItem(n, index, value)
	if err != nil {
		return nil, fmt.Errorf("insert into %s: %w", path, err)
	}
	return f.finish(changes, want, fmt.Sprintf("insert into %s at line %d", path, f.lineOf(n.first)))
}

// Remove takes the value at path away, with the comment lines that stand directly above it. A mapping or
// list that loses its last entry becomes {} or [].
func Remove(data []byte, doc int, path gitops.Path) ([]byte, error) {
	f, err := parse(data)
	if err != nil {
		return nil, err
	}
	plain, err := f.plainPath(doc, path)
	if err != nil {
		return nil, err
	}
	if len(plain) == 0 {
		return nil, fmt.Errorf("remove: %w: the path is empty", ErrUnsupported)
	}
	f = f.own(doc, plain, true)
	want := withoutValue(f.contents(), doc, plain)
	changes, err := f.remove(doc, plain)
	if err != nil {
		return nil, fmt.Errorf("remove %s: %w", path, err)
	}
	return f.finish(changes, want, fmt.Sprintf("remove %s at line %d", path, f.lineNear(doc, plain)))
}

// RemoveDocument takes a whole document out of a text of several, its separator included. The last
// remaining document cannot be removed: delete the file instead.
func RemoveDocument(data []byte, doc int) ([]byte, error) {
	f, err := parse(data)
	if err != nil {
		return nil, err
	}
	want := f.contents()
	if doc < 0 || doc >= len(want) {
		return nil, fmt.Errorf("remove document %d: %w", doc, ErrNotFound)
	}
	changes, err := f.removeDocument(doc)
	if err != nil {
		return nil, fmt.Errorf("remove document %d: %w", doc, err)
	}
	return f.finish(changes, slices.Delete(want, doc, doc+1), fmt.Sprintf("remove document %d", doc))
}

// Documents gives the content of each document as JSON values, empty documents as nil, in the reading of
// YAML 1.2 with the octal numbers of 1.1. Anchors and merge keys are resolved.
func Documents(data []byte) ([]any, error) {
	f, err := parse(data)
	if err != nil {
		return nil, err
	}
	return f.contents(), nil
}

// Line gives the line, from 1, of the deepest value that path leads to in a document; 1 where the text does not say.
func Line(data []byte, doc int, path gitops.Path) int {
	f, err := parse(data)
	if err != nil {
		return 1
	}
	plain, err := f.plainPath(doc, path)
	if err != nil {
		return 1
	}
	return f.lineNear(doc, plain)
}

// finish applies changes and checks that the result reads as want; what names the edit.
func (f *file) finish(changes []change, want []any, what string) ([]byte, error) {
	after, err := parse(apply(f.data, changes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", what, ErrMismatch, err)
	}
	if !equal(any(after.contents()), any(want)) {
		return nil, fmt.Errorf("%s: %w", what, ErrMismatch)
	}
	return after.data, nil
}

// lineNear gives the line of the deepest node that a path leads to.
func (f *file) lineNear(doc int, path gitops.Path) int {
	for i := len(path); i >= 0 && f.docs[doc] != nil; i-- {
		if n, _, err := f.find(doc, path[:i]); err == nil {
			return f.lineOf(n.first)
		}
	}
	return 1
}

// apply makes non-overlapping changes, given in any order.
func apply(data []byte, changes []change) []byte {
	slices.SortStableFunc(changes, func(a, b change) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, c := range changes {
		out = append(out, data[at:c.start]...)
		out = append(out, c.text...)
		at = c.end
	}
	return append(out, data[at:]...)
}
