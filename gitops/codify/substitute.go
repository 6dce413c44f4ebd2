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

// substitution edits a variable of a Flux Kustomization: in postBuild.substitute, or in a ConfigMap of substituteFrom
// that Git declares. It applies where the written value refers to a variable and the new value follows from another
// value of that one.
type substitution struct{}

func (substitution) candidates(ctx context.Context, s site) []Candidate {
	k := s.app.Render.Kustomize
	if s.remove || !s.change.After.Set || k == nil || k.PostBuild == nil {
		return nil
	}
	values, secret := variablesOf(*k.PostBuild)
	var out []Candidate
	for _, text := range s.writtenTexts(hasVariable) {
		for _, name := range variablesIn(text) {
			value, ok := solve(text, name, values, fmt.Sprint(s.change.After.V))
			if !ok || secret[name] {
				continue
			}
			out = append(out, s.setVariable(ctx, *k.PostBuild, name, value)...)
		}
	}
	return out
}

// setVariable gives the candidates in which a variable has another value: where it is set, else for this Kustomization
// alone, whose own variables go before those of ConfigMaps
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution).
func (s site) setVariable(ctx context.Context, p gitops.PostBuild, name, value string) []Candidate {
	at := gitops.Path{gitops.Field("spec"), gitops.Field("postBuild"), gitops.Field("substitute"), gitops.Field(name)}
	own := gitops.FieldChange{Path: at, After: gitops.Present(value)}
	what := wording{head: "change variable " + name}
	if _, set := p.Substitute[name]; set {
		return s.inObject(ctx, what, own, at[:2], changesValue)
	}
	var out []Candidate
	added := addsEntry
	for i, from := range slices.Backward(p.SubstituteFrom) {
		if _, has := from.Values[name]; !from.Known || !has {
			continue
		}
		added = addsSection
		if object, ok := s.configObject(configRef{variables: true, index: i}, from.Name); ok && from.Kind == "ConfigMap" {
			in := gitops.Path{gitops.Field("data"), gitops.Field(name)}
			out = s.through(ctx, object, what, gitops.FieldChange{Path: in, After: gitops.Present(value)}, in, changesValue)
		}
		break
	}
	what.head = "set variable " + name
	return append(out, s.inObject(ctx, what, own, at[:2], added)...)
}

// variablesOf are the variables of a Kustomization with the values that count; secret are those that come from Secrets,
// which are not written.
func variablesOf(p gitops.PostBuild) (values map[string]string, secret map[string]bool) {
	values, secret = map[string]string{}, map[string]bool{}
	for _, from := range p.SubstituteFrom {
		for name, value := range from.Values {
			values[name], secret[name] = value, from.Kind == "Secret"
		}
	}
	for name, value := range p.Substitute {
		values[name], secret[name] = value, false
	}
	return values, secret
}

// writtenTexts gives the texts with a variable that source files have at the change's path: in the manifest and in
// patches.
func (s site) writtenTexts(hasVariable func(string) bool) []string {
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
	return solvedBy(reference, text, name, values, want)
}

// solvedBy is solve for places of another form: the first group of the pattern is the name, the third one a default.
func solvedBy(places *regexp.Regexp, text, name string, values map[string]string, want string) (string, bool) {
	var pattern strings.Builder
	pattern.WriteString(`(?s)\A`)
	at := 0
	for _, m := range places.FindAllStringSubmatchIndex(text, -1) {
		pattern.WriteString(regexp.QuoteMeta(text[at:m[0]]))
		at = m[1]
		switch {
		case m[2] < 0:
			pattern.WriteString(regexp.QuoteMeta("$"))
		case text[m[2]:m[3]] == name:
			pattern.WriteString(`(.*?)`)
		default:
			value, ok := values[text[m[2]:m[3]]]
			if (!ok || value == "") && len(m) > 6 && m[6] >= 0 {
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
