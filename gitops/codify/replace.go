package codify

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// replacement edits the source of a kustomize replacement whose target is the changed field.
type replacement struct{}

func (replacement) candidates(ctx context.Context, s site) []Candidate {
	if s.remove || !s.change.After.Set || s.inner {
		return nil
	}
	var out []Candidate
	for _, l := range s.layers {
		for _, r := range l.replacements(s.tree) {
			out = append(out, s.fromSource(ctx, r)...)
		}
	}
	return out
}

// replacements lists the replacements of a kustomization, those in files included.
func (l layer) replacements(tree gitops.Tree) []map[string]any {
	var out []map[string]any
	for _, v := range l.list("replacements") {
		entry, _ := v.(map[string]any)
		ref, inFile := entry["path"].(string)
		if !inFile {
			out = append(out, entry)
			continue
		}
		data, _ := tree.Read(path.Join(l.dir, ref))
		docs, _ := splice.Documents(data)
		for _, d := range docs {
			list, isList := d.([]any)
			if !isList {
				list = []any{d}
			}
			for _, e := range list {
				if m, ok := e.(map[string]any); ok {
					out = append(out, m)
				}
			}
		}
	}
	return out
}

// fromSource gives the edits of a replacement's source when one of its targets is the changed field.
func (s site) fromSource(ctx context.Context, r map[string]any) []Candidate {
	source, _ := r["source"].(map[string]any)
	targets, _ := r["targets"].([]any)
	if source == nil || source["options"] != nil {
		return nil
	}
	for _, v := range targets {
		t, _ := v.(map[string]any)
		value, ok := s.feeds(t)
		if !ok {
			continue
		}
		fieldPath, _ := source["fieldPath"].(string)
		if fieldPath == "" {
			fieldPath = "metadata.name"
		}
		for _, d := range s.objects {
			if !selects(source, d) {
				continue
			}
			p := dottedPath(d.Content, fieldPath)
			inner := s
			inner.declared, inner.live, inner.inner = d, gitops.Object{}, true
			inner.change = gitops.FieldChange{Path: p, Before: splice.Lookup(d.Content, p), After: gitops.Present(value)}
			var out []Candidate
			for _, kind := range generators(inner.declared) {
				out = append(out, kind.candidates(ctx, inner)...)
			}
			for i := range out {
				out[i].What = "the source of a replacement: " + out[i].What
			}
			return out
		}
	}
	return nil
}

// feeds says whether a replacement's target writes the changed field, and gives the value that it would
// have to write. A change of a whole list or mapping counts when the target lies in it.
func (s site) feeds(t map[string]any) (any, bool) {
	selector, _ := t["select"].(map[string]any)
	if selector == nil || t["options"] != nil && hasDelimiter(t["options"]) || !selects(selector, s.declared) {
		return nil, false
	}
	paths, _ := t["fieldPaths"].([]any)
	for _, v := range paths {
		text, _ := v.(string)
		p := plainIndexes(s.declared.Content, dottedPath(s.declared.Content, text))
		change := plainIndexes(s.declared.Content, s.change.Path)
		if p.HasPrefix(change) {
			value := splice.Lookup(s.change.After.V, p[len(change):])
			return value.V, value.Set
		}
	}
	return nil, false
}

func hasDelimiter(options any) bool {
	m, _ := options.(map[string]any)
	_, ok := m["delimiter"]
	return ok
}

// dottedPath reads kustomize's field paths: dots, list indexes as numbers, [name=x] for entries, a
// backslash before a dot that belongs to a key.
func dottedPath(content any, text string) gitops.Path {
	var out gitops.Path
	var tokens []string
	token := ""
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			token += string(text[i])
		case c == '[':
			depth++
			token += "["
		case c == ']':
			depth--
			token += "]"
		case c == '.' && depth == 0:
			tokens = append(tokens, token)
			token = ""
		default:
			token += string(c)
		}
	}
	tokens = append(tokens, token)
	at := content
	for _, token := range tokens {
		step := gitops.Field(token)
		if _, isList := at.([]any); isList {
			if n, err := strconv.Atoi(token); err == nil {
				step = gitops.Index(n)
			} else if name, value, ok := strings.Cut(strings.Trim(token, "[]"), "="); ok {
				step = gitops.Entry(gitops.Key{Name: name, Value: value})
			}
		}
		out = append(out, step)
		at = splice.Lookup(at, gitops.Path{step}).V
	}
	return out
}

// plainIndexes turns entry steps into the indexes that they have in content.
func plainIndexes(content any, p gitops.Path) gitops.Path {
	out := slices.Clone(p)
	for i, step := range p {
		if !step.IsEntry() {
			continue
		}
		list, _ := splice.Lookup(content, p[:i]).V.([]any)
		if at := splice.Find(list, step.Keys); at >= 0 {
			out[i] = gitops.Index(at)
		}
	}
	return out
}
