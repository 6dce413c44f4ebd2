package codify

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// editOperations edits the value of a JSON 6902 operation that sets the place, or a place around it, or
// takes the operation away.
func (s site) editOperations(p patchRef, doc int, operations []any) []Candidate {
	var out []Candidate
	for i, v := range operations {
		op, _ := v.(map[string]any)
		kind, _ := op["op"].(string)
		pointer, _ := op["path"].(string)
		if kind != "add" && kind != "replace" {
			continue
		}
		rest, ok := behindPointer(s.declared.Content, pointer, op["value"], s.change.Path)
		if !ok {
			continue
		}
		at := append(gitops.Path{gitops.Index(i), gitops.Field("value")}, rest...)
		if !s.change.After.Set {
			if len(rest) == 0 {
				at = at[:1] // the operation is there for this value alone
			}
			after, err := splice.Remove(p.data, doc, at)
			out = append(out, s.write(p, "remove "+s.change.Path.String(), after, err, changesValue)...)
			if len(rest) == 0 {
				gone := map[string]any{"op": "remove", "path": pointer}
				after, err = splice.Set(p.data, doc, gitops.Path{gitops.Index(i)}, gone)
				out = append(out, s.write(p, "delete "+s.change.Path.String(), after, err, changesValue)...)
			}
			continue
		}
		if !describes(op["value"], rest) {
			continue
		}
		added := changesValue
		if !splice.Lookup(op["value"], rest).Set {
			added = addsEntry
		}
		after, err := splice.Set(p.data, doc, at, s.change.After.V)
		out = append(out, s.write(p, "change "+s.change.Path.String(), after, err, added)...)
	}
	return out
}

// addOperation adds an operation to a JSON 6902 patch that is for the object alone.
func (s site) addOperation(p patchRef, doc int, operations []any) []Candidate {
	if !exact(p.target["kind"]) || !exact(p.target["name"]) {
		return nil
	}
	op, ok := s.operation()
	if !ok {
		return nil
	}
	after, err := splice.Insert(p.data, doc, nil, len(operations), op)
	verb := "add "
	if !s.change.After.Set {
		verb = "delete "
	}
	return s.write(p, verb+s.change.Path.String(), after, err, addsSection)
}

// joinOperations adds to JSON 6902 patches that the repository has for the object. Those that were made for another
// change do not count: which of two changes is placed first must not matter.
func (s site) joinOperations() []Candidate {
	var out []Candidate
	for _, l := range s.layers {
		first, ok := layerAt(s.work.start.tree, l.dir)
		if !ok {
			continue
		}
		earlier := first.patches(s.work.start.tree)
		for _, p := range l.patches(s.tree) {
			same := func(o patchRef) bool { return o.file == p.file && o.entry.Equal(p.entry) }
			docs, err := splice.Documents(p.data)
			if err != nil || len(docs) != 1 || !slices.ContainsFunc(earlier, same) || !selects(p.target, s.declared) {
				continue
			}
			if operations, ok := docs[0].([]any); ok {
				out = append(out, s.addOperation(p, 0, operations)...)
			}
		}
	}
	return out
}

// operation is the JSON 6902 operation that brings the change about in the object as it is rendered.
func (s site) operation() (map[string]any, bool) {
	old := s.declaredValue()
	path, last := s.change.Path, s.change.Path[len(s.change.Path)-1]
	parent := splice.Lookup(s.declared.Content, path[:len(path)-1])
	pointer, ok := pointerTo(s.declared.Content, path[:len(path)-1])
	if !ok || !parent.Set {
		return nil, false
	}
	token := last.Field
	if list, isList := parent.V.([]any); isList {
		i := index(list, last)
		if i < 0 && last.IsEntry() {
			i = s.insertion(path[:len(path)-1], list, last.Keys)
		} else if i < 0 {
			i = len(list)
		}
		token = strconv.Itoa(i)
		if i == len(list) {
			token = "-"
		}
	}
	pointer += "/" + pointerToken(token)
	switch {
	case !s.change.After.Set && !old.Set:
		return nil, false
	case !s.change.After.Set:
		return map[string]any{"op": "remove", "path": pointer}, true
	case old.Set:
		return map[string]any{"op": "replace", "path": pointer, "value": s.change.After.V}, true
	}
	return map[string]any{"op": "add", "path": pointer, "value": s.change.After.V}, true
}

// pointerTo gives the JSON pointer of a place in content.
func pointerTo(content any, path gitops.Path) (string, bool) {
	out, at := "", content
	for _, step := range path {
		if step.IsField() {
			out += "/" + pointerToken(step.Field)
		} else {
			list, _ := at.([]any)
			i := index(list, step)
			if i < 0 {
				return "", false
			}
			out += "/" + strconv.Itoa(i)
		}
		at = splice.Lookup(at, gitops.Path{step}).V
	}
	return out, true
}

// pointerToken writes a token of a JSON pointer (RFC 6901, section 4).
func pointerToken(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

// newOperations adds to a JSON 6902 patch for the object, or adds one to the overlay, for changes that no strategic merge patch brings about. Entries
// that it counts are checked by name first, so that it fails rather than hits another entry some day.
type newOperations struct{}

func (newOperations) candidates(_ context.Context, s site) []Candidate {
	if s.remove || len(s.layers) == 0 || s.declared.Origin.Written.Name == "" {
		return nil
	}
	return s.inBothSpellings(func(s site) []Candidate {
		op, ok := s.operation()
		if !ok {
			return nil
		}
		out := s.joinOperations()
		owners := s.owners()
		for _, l := range s.layers {
			if _, owns := owners[l.file]; !owns {
				continue
			}
			style := splice.StyleOf(l.data)
			style.CRLF = false // the text lies inside another one
			entry := map[string]any{"target": s.target(), "patch": string(splice.Document(append(s.tests(), op), style))}
			at := gitops.Path{gitops.Field("patches"), gitops.Index(len(l.list("patches")))}
			out = append(out, s.set(l, fmt.Sprintf("set %s by a new JSON patch in %s", s.change.Path, l.file), at, entry, lastResort)...)
		}
		return out
	})
}

// target selects the object alone.
func (s site) target() map[string]any {
	written := s.declared.Origin.Written
	target := map[string]any{"kind": written.Kind, "name": written.Name}
	if written.Group != "" {
		target["group"] = written.Group
	}
	return target
}

// tests are operations that check the names of the list entries on the way to the change.
func (s site) tests() []any {
	var out []any
	for i, step := range s.change.Path {
		entry, _ := splice.Lookup(s.declared.Content, s.change.Path[:i+1]).V.(map[string]any)
		if step.IsField() || entry == nil || i == len(s.change.Path)-1 && !s.declaredValue().Set {
			continue
		}
		for _, key := range []string{"name", "containerPort", "port", "mountPath", "ip", "key", "type"} {
			value, there := entry[key]
			pointer, ok := pointerTo(s.declared.Content, s.change.Path[:i+1])
			if there && ok {
				out = append(out, map[string]any{"op": "test", "path": pointer + "/" + key, "value": value})
				break
			}
		}
	}
	return out
}

// behindPointer gives what remains of path below the place that a JSON pointer names in content; the
// pointer's "-" is the entry that reads as value.
func behindPointer(content any, pointer string, value any, path gitops.Path) (gitops.Path, bool) {
	at := content
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range tokens {
		if i >= len(path) {
			return nil, false
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		step := path[i]
		if step.IsField() {
			if step.Field != token {
				return nil, false
			}
			m, _ := at.(map[string]any)
			at = m[token]
			continue
		}
		list, _ := at.([]any)
		want := index(list, step)
		if want < 0 {
			return nil, false
		}
		if n, err := strconv.Atoi(token); err == nil && n != want || err != nil && token != "-" {
			return nil, false
		}
		if token == "-" && step.IsEntry() && splice.Find([]any{value}, step.Keys) != 0 {
			return nil, false
		}
		at = list[want]
	}
	return path[len(tokens):], true
}
