package codify

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// substitution edits a variable of a Flux Kustomization's postBuild.substitute, where the written value
// refers to one and the new value follows from another value of that one variable.
type substitution struct{}

func (substitution) candidates(_ context.Context, s site) []Candidate {
	k := s.app.Render.Kustomize
	if s.remove || !s.change.After.Set || s.flux == nil || k == nil || k.PostBuild == nil {
		return nil
	}
	var out []Candidate
	for _, text := range s.writtenTexts() {
		for _, name := range variablesIn(text) {
			value, ok := solve(text, name, k.PostBuild.Substitute, fmt.Sprint(s.change.After.V))
			if !ok {
				continue
			}
			added := changesValue
			if _, set := k.PostBuild.Substitute[name]; !set {
				added = addsEntry
			}
			at := gitops.Path{gitops.Field("postBuild"), gitops.Field("substitute"), gitops.Field(name)}
			out = append(out, s.set(*s.flux, fmt.Sprintf("change variable %s in %s", name, s.flux.file), at, value, added)...)
		}
	}
	return out
}

// writtenTexts gives the texts that source files have at the change's path: in the manifest and in patches.
func (s site) writtenTexts() []string {
	var out []string
	add := func(content any) {
		if text, ok := splice.Lookup(content, s.change.Path).V.(string); ok && hasVariable(text) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if data, ok := s.tree.Read(s.declared.Origin.File); ok && s.declared.Origin.File != "" {
		if doc, prefix, ok := placeOf(data, s.declared.Origin); ok {
			docs, _ := splice.Documents(data)
			add(splice.Lookup(docs[doc], prefix).V)
		}
	}
	for _, l := range s.layers {
		for _, p := range l.patches(s.tree) {
			docs, _ := splice.Documents(p.data)
			for _, d := range docs {
				if m, ok := d.(map[string]any); ok && s.patches(m, p.target) {
					add(m)
				}
			}
		}
	}
	return out
}

// reference is a variable in a text: ${NAME}, with := or :- and a default, or $$ for a dollar.
var reference = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[=-])([^}]*))?\}`)

// variablesIn lists the variables that a text refers to, once each.
func variablesIn(text string) []string {
	var out []string
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		if m[1] != "" && !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// solve finds the value of one variable with which text reads as want, the others as they are.
func solve(text, name string, values map[string]string, want string) (string, bool) {
	var pattern strings.Builder
	pattern.WriteString(`(?s)\A`)
	at := 0
	for _, m := range reference.FindAllStringSubmatchIndex(text, -1) {
		pattern.WriteString(regexp.QuoteMeta(text[at:m[0]]))
		at = m[1]
		switch {
		case m[2] < 0:
			pattern.WriteString(regexp.QuoteMeta("$"))
		case text[m[2]:m[3]] == name:
			pattern.WriteString(`(.*?)`)
		default:
			value, ok := values[text[m[2]:m[3]]]
			if (!ok || value == "") && m[6] >= 0 {
				value = text[m[6]:m[7]]
			}
			pattern.WriteString(regexp.QuoteMeta(value))
		}
	}
	pattern.WriteString(regexp.QuoteMeta(text[at:]) + `\z`)
	re, err := regexp.Compile(pattern.String())
	if err != nil {
		return "", false
	}
	groups := re.FindStringSubmatch(want)
	if len(groups) < 2 {
		return "", false
	}
	for _, g := range groups[2:] {
		if g != groups[1] {
			return "", false
		}
	}
	return groups[1], true
}
