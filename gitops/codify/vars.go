package codify

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// oldVariable edits the field that a kustomization's vars read, where the changed text has such a variable in it.
type oldVariable struct{}

func (oldVariable) candidates(ctx context.Context, s site) []Candidate {
	want, ok := s.change.After.V.(string)
	if s.remove || !ok || s.inner {
		return nil
	}
	vars := s.vars()
	if len(vars) == 0 {
		return nil
	}
	var out []Candidate
	for _, written := range s.writtenTexts(s.hasVar) {
		for _, v := range vars {
			value, ok := v.solve(written, want, vars)
			if !ok || v.source == nil {
				continue
			}
			out = append(out, s.inSource(ctx, *v.source, v.path, fieldOptions{}, value, "the source of the variable "+v.name)...)
		}
	}
	return out
}

// oldVar is an entry of a kustomization's vars, and the field that it reads.
type oldVar struct {
	name   string
	source *gitops.Declared
	path   gitops.Path
}

// vars are the variables of all kustomizations.
func (s site) vars() []oldVar {
	var out []oldVar
	for _, l := range s.layers {
		for _, v := range l.list("vars") {
			entry, _ := v.(map[string]any)
			name, _ := entry["name"].(string)
			object, _ := entry["objref"].(map[string]any)
			field, _ := entry["fieldref"].(map[string]any)
			if name == "" || object == nil {
				continue
			}
			one := oldVar{name: name}
			fieldPath, _ := field["fieldpath"].(string)
			if fieldPath == "" {
				fieldPath, _ = field["fieldPath"].(string)
			}
			exactly := map[string]any{}
			for key, value := range object {
				if text, ok := value.(string); ok {
					exactly[key] = regexp.QuoteMeta(text)
				}
			}
			if i := slices.IndexFunc(s.objects, func(d gitops.Declared) bool { return selects(exactly, d) }); i >= 0 {
				one.source, one.path = &s.objects[i], dottedPath(s.objects[i].Content, orName(fieldPath))
			}
			out = append(out, one)
		}
	}
	return out
}

// hasVar says whether a text as written refers to a variable of a kustomization.
func (s site) hasVar(text string) bool {
	return strings.Contains(text, "$(") && slices.ContainsFunc(s.vars(), func(v oldVar) bool { return strings.Contains(text, "$("+v.name+")") })
}

// value is what the variable reads as.
func (v oldVar) value() (string, bool) {
	if v.source == nil {
		return "", false
	}
	at := splice.Lookup(v.source.Content, v.path)
	return text(at.V), at.Set
}

// solve gives the value with which the text, written with variables, reads as want, the other variables as they are.
func (v oldVar) solve(written, want string, all []oldVar) (string, bool) {
	pattern := regexp.QuoteMeta(written)
	for _, o := range all {
		mark := regexp.QuoteMeta("$(" + o.name + ")")
		value, known := o.value()
		switch {
		case o.name == v.name:
			pattern = strings.Replace(pattern, mark, `(?P<v>.*)`, 1)
		case known:
			pattern = strings.ReplaceAll(pattern, mark, regexp.QuoteMeta(value))
		}
	}
	re, err := regexp.Compile(`(?s)\A` + pattern + `\z`)
	if err != nil {
		return "", false
	}
	m := re.FindStringSubmatch(want)
	if len(m) != 2 {
		return "", false
	}
	return m[1], true
}
