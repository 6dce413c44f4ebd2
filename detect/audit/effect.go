package audit

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/gitops"
)

// reach is what a request says of a field.
type reach int

const (
	untouched reach = iota // it leaves the field alone
	possible               // it may have written it: no body, or one that cannot be told
	touched                // it wrote it, or a part of it; the outcome is not in the request
	asked                  // it asks for a value, or for its absence
)

// effect is what one write did to one field.
type effect struct {
	reach reach
	// value is what the request asked for.
	value gitops.Value
	// known says that after is what the field held afterwards. Partial says that after came from a request, which may
	// leave defaults out.
	known, partial bool
	after          gitops.Value
}

// effect says what a write did to the field at path.
func (h *History) effect(w write, path gitops.Path) effect {
	if w.Subresource == "scale" {
		return w.scaled(path)
	}
	e := h.request(w, path)
	if w.Subresource == "status" {
		e = effect{}
	}
	switch {
	case w.content != nil:
		e.known, e.after = true, gitops.Lookup(w.content, path)
	case e.reach == asked:
		e.known, e.after, e.partial = true, e.value, true
	}
	return e
}

// scaled: the scale subresource writes replicas, and nothing else.
func (w write) scaled(path gitops.Path) effect {
	if !path.Equal(replicasPath()) {
		return effect{}
	}
	e := effect{reach: possible}
	switch body := w.body.(type) {
	case map[string]any:
		if e.value = gitops.Lookup(body, path); !e.value.Set {
			return effect{}
		}
		e.reach = asked
	case []any:
		e = patched(body, path, nil)
	}
	if e.reach == asked {
		e.known, e.after = true, e.value
	}
	if w.replicas.Set {
		e.known, e.after = true, w.replicas
	}
	return e
}

func (h *History) request(w write, path gitops.Path) effect {
	if w.Verb == "delete" || w.Verb == "deletecollection" {
		return effect{}
	}
	paths := []gitops.Path{path}
	if h.id.Group == "" && h.id.Kind == "Secret" && len(path) > 1 && path[0].Field == "data" {
		paths = append(paths, append(gitops.Path{gitops.Field("stringData")}, path[1:]...))
	}
	var e effect
	for _, path := range paths {
		switch body := w.body.(type) {
		case []any:
			e = patched(body, path, w.whole(h.live))
		case map[string]any:
			if w.Verb == "patch" {
				e = merged(body, path, isApply(body))
			} else {
				e = effect{reach: asked, value: gitops.Lookup(body, path)}
			}
		default:
			return effect{reach: possible}
		}
		if e.reach != untouched && (e.reach != asked || e.value.Set) {
			break
		}
	}
	return e
}

// whole is the object in which a JSON patch's indexes are looked up.
func (w write) whole(live *gitops.Object) map[string]any {
	if w.content != nil || live == nil {
		return w.content
	}
	return live.Content
}

// isApply tells a server-side apply, whose body is an object, from other patches.
func isApply(body map[string]any) bool {
	metadata, _ := body["metadata"].(map[string]any)
	return body["kind"] != nil && body["apiVersion"] != nil && metadata["name"] != nil
}

// merged follows a path into a merge patch, a strategic merge patch or a server-side apply. The event does not say
// which of the first two it is; where they differ, the answer is possible.
func merged(body map[string]any, path gitops.Path, apply bool) effect {
	var at any = body
	gone := effect{reach: asked}
	missing := effect{}
	if apply { // leaving out what the manager applied before removes it
		missing.reach = possible
	}
	keyed := false
	for i, step := range path {
		if at == nil {
			return gone
		}
		if step.IsField() {
			m, ok := at.(map[string]any)
			if !ok {
				return effect{reach: touched}
			}
			switch next, found := m[step.Field]; {
			case found:
				at = next
			case m["$patch"] == "delete", m["$patch"] == "replace", retains(m):
				return gone
			case deletesScalar(m, step.Field, path[i+1:]):
				return gone
			case m["$setElementOrder/"+step.Field] != nil && i == len(path)-1:
				return effect{reach: touched}
			case keyed: // a merge patch replaces the entry whole
				return effect{reach: possible}
			default:
				return missing
			}
			_, keyed = m["$setElementOrder/"+step.Field]
			continue
		}
		list, ok := at.([]any)
		if !ok {
			return effect{reach: touched}
		}
		n := step.Index
		if step.IsEntry() {
			n = gitops.FindEntry(list, step.Keys)
		}
		if n < 0 || n >= len(list) {
			if keyed && !apply {
				return effect{}
			}
			return effect{reach: possible}
		}
		at = list[n]
		if m, ok := at.(map[string]any); ok && m["$patch"] == "delete" {
			return gone
		}
		keyed = !keyed && !apply // with an order directive it is strategic, and what is missing stays
	}
	if at == nil {
		return gone
	}
	if m, ok := at.(map[string]any); ok && m["$patch"] == "delete" {
		return gone
	}
	return effect{reach: asked, value: gitops.Present(at)}
}

func retains(m map[string]any) bool { return m["$retainKeys"] != nil }

// deletesScalar finds {"$deleteFromPrimitiveList/finalizers": ["x"]}.
func deletesScalar(m map[string]any, field string, rest gitops.Path) bool {
	list, ok := m["$deleteFromPrimitiveList/"+field].([]any)
	return ok && len(rest) == 1 && rest[0].IsEntry() && gitops.FindEntry(list, rest[0].Keys) >= 0
}

// patched follows a JSON patch (RFC 6902) to the field at path. Content is the object, in which entries of keyed lists
// have their places; without it, or where the entry is not in it, an index is possible only.
func patched(operations []any, path gitops.Path, content map[string]any) effect {
	var out effect
	for _, item := range operations {
		o, _ := item.(map[string]any)
		op, _ := o["op"].(string)
		pointer, _ := o["path"].(string)
		from, _ := o["from"].(string)
		var e effect
		switch op {
		case "add", "replace":
			e = placed(op, pointer, path, content, gitops.Value{Set: true, V: o["value"]})
		case "remove":
			e = placed(op, pointer, path, content, gitops.Value{})
		case "copy":
			e = moved(placed(op, pointer, path, content, gitops.Value{}))
		case "move":
			if e = moved(placed("add", pointer, path, content, gitops.Value{})); e.reach == untouched {
				e = placed("remove", from, path, content, gitops.Value{})
			}
		}
		if e.reach != untouched {
			out = e
		}
	}
	return out
}

// moved: what arrives at a place by copy or move is not in the request.
func moved(e effect) effect {
	if e.reach == asked {
		e = effect{reach: touched}
	}
	return e
}

// placed compares one operation's place with the path.
func placed(op, pointer string, path gitops.Path, content map[string]any, value gitops.Value) effect {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	certain := true
	for i := range min(len(tokens), len(path)) {
		token := strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[i])
		step := path[i]
		if step.IsField() {
			if token != step.Field {
				return effect{}
			}
			continue
		}
		last := i == len(tokens)-1
		if last && op == "add" && step.IsEntry() && value.Set {
			if gitops.FindEntry([]any{value.V}, step.Keys) < 0 {
				return effect{}
			}
			return effect{reach: asked, value: gitops.Lookup(value.V, path[i+1:])}
		}
		list, _ := gitops.Lookup(content, path[:i]).V.([]any)
		at := step.Index
		if step.IsEntry() {
			if at = gitops.FindEntry(list, step.Keys); at < 0 {
				if !last && !namesKey(tokens[i+1], step.Keys) || last && op == "add" {
					return effect{} // another field of an entry says nothing of the one that is gone
				}
				certain = false
				continue
			}
		}
		if token != strconv.Itoa(at) {
			return effect{}
		}
	}
	switch {
	case !certain:
		return effect{reach: possible}
	case len(tokens) > len(path):
		return effect{reach: touched}
	case !value.Set:
		return effect{reach: asked}
	}
	return effect{reach: asked, value: gitops.Lookup(value.V, path[len(tokens):])}
}

func namesKey(token string, keys []gitops.Key) bool {
	return slices.ContainsFunc(keys, func(k gitops.Key) bool { return k.Name == token })
}
