package codify

import (
	"context"
	"fmt"
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
			targets, _ := r.content["targets"].([]any)
			for _, v := range targets {
				target, _ := v.(map[string]any)
				below, value, ok := s.feeds(target)
				if !ok {
					continue
				}
				out = append(out, s.fromSource(ctx, r, below, value)...)
				break
			}
		}
	}
	return out
}

// replacementRef is one replacement: in the kustomization, or in a file that it names.
type replacementRef struct {
	layer layer
	// file and data hold it where it is no part of the kustomization; at is its path in document doc there.
	file    string
	data    []byte
	doc     int
	at      gitops.Path
	content map[string]any
}

// replacements lists the replacements of a kustomization, those in files included.
func (l layer) replacements(tree gitops.Tree) []replacementRef {
	var out []replacementRef
	for i, v := range l.list("replacements") {
		entry, _ := v.(map[string]any)
		ref, inFile := entry["path"].(string)
		if !inFile {
			out = append(out, replacementRef{layer: l, at: gitops.Path{gitops.Field("replacements"), gitops.Index(i)}, content: entry})
			continue
		}
		file := path.Join(l.dir, ref)
		data, _ := tree.Read(file)
		docs, _ := splice.Documents(data)
		for doc, d := range docs {
			list, isList := d.([]any)
			if m, ok := d.(map[string]any); ok {
				out = append(out, replacementRef{layer: l, file: file, data: data, doc: doc, content: m})
			}
			for j, e := range list {
				if m, ok := e.(map[string]any); ok && isList {
					out = append(out, replacementRef{layer: l, file: file, data: data, doc: doc, at: gitops.Path{gitops.Index(j)}, content: m})
				}
			}
		}
	}
	return out
}

// fromSource gives the edits with which a replacement copies value to the place below its targets.
func (s site) fromSource(ctx context.Context, r replacementRef, below gitops.Path, value any) []Candidate {
	if fixed, ok := r.content["sourceValue"].(string); ok && len(below) == 0 && fixed != text(value) {
		at := append(slices.Clip(r.at), gitops.Field("sourceValue"))
		if r.file == "" {
			return s.set(r.layer, "change the value of a replacement in "+r.layer.file, at, text(value), changesValue)
		}
		after, err := splice.Set(r.data, r.doc, at, text(value))
		return s.one("change the value of a replacement in "+r.file, r.file, after, err, changesValue)
	}
	source, _ := r.content["source"].(map[string]any)
	if source == nil {
		return nil
	}
	fieldPath, _ := source["fieldPath"].(string)
	for _, d := range s.objects {
		if selects(source, d) {
			p := dottedPath(d.Content, orName(fieldPath))
			return s.inSource(ctx, d, append(p, below...), optionsOf(source), value, "the source of a replacement")
		}
	}
	return nil
}

// orName gives a field path; none is that of the name.
func orName(fieldPath string) string {
	if fieldPath == "" {
		return "metadata.name"
	}
	return fieldPath
}

// inSource gives the edits with which the field at p of another object gives value, in words of what that field is.
func (s site) inSource(ctx context.Context, d gitops.Declared, p gitops.Path, how fieldOptions, value any, what string) []Candidate {
	if first := p[0].Field; p.String() == "metadata.name" || p.String() == "metadata.namespace" || first == "kind" || first == "apiVersion" {
		s.refuse("change "+s.change.Path.String(), fmt.Errorf("it is the %s of %s, which gives the object its identity", p, d.ID))
		return nil
	}
	before := splice.Lookup(d.Content, p)
	if whole, ok := before.V.(string); ok {
		if value, ok = how.put(whole, text(value)); !ok {
			return nil
		}
	}
	inner := s
	inner.declared, inner.live, inner.inner = d, gitops.Object{}, true
	inner.change = gitops.FieldChange{Path: p, Before: before, After: gitops.Present(value)}
	var out []Candidate
	for _, kind := range inner.generators() {
		out = append(out, kind.candidates(ctx, inner)...)
	}
	for i := range out {
		out[i].What = what + ": " + out[i].What
	}
	return out
}

// feeds says whether a replacement's target writes the changed field, or a place around it, and gives the value that
// it would have to write: below the replaced place, at below. A change of a whole list or mapping counts when the
// target lies in it.
func (s site) feeds(t map[string]any) (below gitops.Path, value any, ok bool) {
	selector, _ := t["select"].(map[string]any)
	if selector == nil || !selects(selector, s.declared) || s.rejected(t) {
		return nil, nil, false
	}
	how := optionsOf(t)
	paths, _ := t["fieldPaths"].([]any)
	if len(paths) == 0 {
		paths = []any{"metadata.name"}
	}
	change := plainIndexes(s.declared.Content, s.change.Path)
	for _, v := range paths {
		text, _ := v.(string)
		for _, p := range matching(s.declared.Content, tokens(text), nil) {
			switch {
			case p.HasPrefix(change):
				after := splice.Lookup(s.change.After.V, p[len(change):])
				if value, ok := how.get(after.V); ok && after.Set {
					return nil, value, true
				}
			case change.HasPrefix(p):
				return change[len(p):], s.change.After.V, true
			}
		}
	}
	return nil, nil, false
}

// rejected says whether a replacement's target leaves the object out by its name or kind.
func (s site) rejected(t map[string]any) bool {
	rejects, _ := t["reject"].([]any)
	return slices.ContainsFunc(rejects, func(v any) bool {
		reject, _ := v.(map[string]any)
		named := false
		for _, key := range []string{"kind", "group", "name", "namespace"} {
			text, _ := reject[key].(string)
			named = named || text != ""
		}
		return named && selects(reject, s.declared)
	})
}

// fieldOptions say that a replacement reads or writes one part of a text.
type fieldOptions struct {
	delimiter string
	index     int
}

func optionsOf(t map[string]any) fieldOptions {
	m, _ := t["options"].(map[string]any)
	delimiter, _ := m["delimiter"].(string)
	index, _ := m["index"].(int64)
	return fieldOptions{delimiter, int(index)}
}

// get gives the part of a value.
func (o fieldOptions) get(value any) (any, bool) {
	text, ok := value.(string)
	if o.delimiter == "" || !ok {
		return value, o.delimiter == ""
	}
	parts := strings.Split(text, o.delimiter)
	return parts[min(max(o.index, 0), len(parts)-1)], true
}

// put gives a whole text with its part replaced.
func (o fieldOptions) put(whole, part string) (string, bool) {
	if o.delimiter == "" {
		return part, true
	}
	parts := strings.Split(whole, o.delimiter)
	if o.index < 0 || o.index >= len(parts) {
		return "", false
	}
	parts[o.index] = part
	return strings.Join(parts, o.delimiter), true
}

// tokens cuts kustomize's field paths: at dots, but for those in brackets and behind a backslash.
func tokens(text string) []string {
	var out []string
	token := ""
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			token += string(text[i])
		case c == '.' && depth == 0:
			out = append(out, token)
			token = ""
		default:
			switch c {
			case '[':
				depth++
			case ']':
				depth--
			}
			token += string(c)
		}
	}
	return append(out, token)
}

// stepOf reads one token at a value: a field, a list index, or an entry as [name=x].
func stepOf(at any, token string) gitops.Step {
	if _, isList := at.([]any); isList {
		if n, err := strconv.Atoi(token); err == nil && n >= 0 {
			return gitops.Index(n)
		}
		if name, value, ok := strings.Cut(strings.Trim(token, "[]"), "="); ok {
			return gitops.Entry(gitops.Key{Name: name, Value: value})
		}
	}
	return gitops.Field(token)
}

// dottedPath reads a field path of kustomize in content.
func dottedPath(content any, text string) gitops.Path {
	var out gitops.Path
	at := content
	for _, token := range tokens(text) {
		step := stepOf(at, token)
		out = append(out, step)
		at = splice.Lookup(at, gitops.Path{step}).V
	}
	return out
}

// matching gives the places in content that tokens lead to, list entries by index; * stands for every entry.
func matching(content any, tokens []string, at gitops.Path) []gitops.Path {
	if len(tokens) == 0 {
		return []gitops.Path{at}
	}
	list, isList := content.([]any)
	if isList && tokens[0] == "*" {
		var out []gitops.Path
		for i, e := range list {
			out = append(out, matching(e, tokens[1:], at.Child(gitops.Index(i)))...)
		}
		return out
	}
	step := stepOf(content, tokens[0])
	if isList {
		i := index(list, step)
		if step.IsField() || i < 0 {
			return nil
		}
		step = gitops.Index(i)
	}
	return matching(splice.Lookup(content, gitops.Path{step}).V, tokens[1:], at.Child(step))
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
