package codify

import (
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
