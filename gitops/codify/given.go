package codify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// givenMetadata edits the labels and annotations that a kustomization gives to all its objects. Where one object
// alone differs, that moves too much, and a patch that comes after them is the last resort.
type givenMetadata struct{}

func (givenMetadata) candidates(_ context.Context, s site) []Candidate {
	sections := commonSections(s.change.Path)
	if s.remove || sections == nil {
		return nil
	}
	key := s.change.Path[len(s.change.Path)-1]
	var out []Candidate
	for _, l := range s.layers {
		for _, at := range l.pairs(sections) {
			if !splice.Lookup(l.content, at.Child(key)).Set {
				continue
			}
			where := fmt.Sprintf("%s of %s", at[0].Field, l.file)
			if s.change.After.Set {
				out = append(out, s.set(l, fmt.Sprintf("change %s in the %s", key.Field, where), at.Child(key), s.change.After.V, changesValue)...)
				continue
			}
			after, err := splice.Remove(l.data, l.doc, lone(l.content, at.Child(key)))
			out = append(out, s.one(fmt.Sprintf("remove %s from the %s", key.Field, where), l.file, after, err, changesValue)...)
		}
	}
	return out
}

// commonSections are the sections of a kustomization that give the label or annotation at a path; nil for a path that
// leads to neither.
func commonSections(p gitops.Path) []string {
	if len(p) < 2 || !p[len(p)-1].IsField() {
		return nil
	}
	switch p[len(p)-2].Field {
	case "labels", "matchLabels", "selector":
		return []string{"labels", "commonLabels"}
	case "annotations":
		return []string{"commonAnnotations"}
	}
	return nil
}

// pairs gives where in a kustomization the labels or annotations of these sections stand.
func (l layer) pairs(sections []string) []gitops.Path {
	var out []gitops.Path
	for _, section := range sections {
		if section != "labels" {
			out = append(out, gitops.Path{gitops.Field(section)})
			continue
		}
		for i := range l.list(section) {
			out = append(out, gitops.Path{gitops.Field(section), gitops.Index(i), gitops.Field("pairs")})
		}
	}
	return out
}

// laterPatch adds a patch that the overlay applies after its own labels, annotations and images, for one object that
// differs from what those give to all.
type laterPatch struct{}

func (laterPatch) candidates(_ context.Context, s site) []Candidate {
	if s.remove || len(s.layers) == 0 || s.declared.Origin.Written.Name == "" || !s.givenToAll(s.layers[0]) {
		return nil
	}
	l := s.layers[0]
	style := splice.StyleOf(l.data)
	style.CRLF = false // the text lies inside another one
	var out []Candidate
	for _, c := range s.patchContents() {
		if patch, ok := s.identified(c.body); ok {
			out = append(out, s.addTransformer(l, style, map[string]any{"patch": string(splice.Document(patch, style))})...)
		}
	}
	// Labels that kustomize gives to several places of an object are one value to it, which a merge changes in all.
	if op, ok := s.operation(); ok {
		patch := string(splice.Document(append(s.tests(), op), style))
		out = append(out, s.addTransformer(l, style, map[string]any{"target": s.target(), "patch": patch})...)
	}
	return out
}

// addTransformer adds a patch to the transformers of a kustomization.
func (s site) addTransformer(l layer, style splice.Style, config map[string]any) []Candidate {
	id := s.declared.ID
	config["apiVersion"], config["kind"] = "builtin", "PatchTransformer"
	name := l.freeTransformer(strings.ToLower(id.Kind + "-" + id.Name))
	config["metadata"] = map[string]any{"name": name}
	list := l.list("transformers")
	at := gitops.Path{gitops.Field("transformers"), gitops.Index(len(list))}
	what := fmt.Sprintf("set %s by a patch behind the other transformers of %s", s.change.Path, l.file)
	text := string(splice.Document(config, style))
	place := len(list) // such patches stand by name, in whichever order they come
	for place > 0 && patchTransformerBehind(list[place-1], name) {
		place--
	}
	if place == len(list) {
		return s.set(l, what, at, text, lastResort)
	}
	after, err := splice.Insert(l.data, l.doc, append(slices.Clip(l.prefix), at[0]), place, text)
	return s.own(l, at, s.one(what, l.file, after, err, lastResort))
}

// patchTransformerBehind says whether an entry of transformers is a patch written there whose name comes behind name.
func patchTransformerBehind(entry any, name string) bool {
	text, _ := entry.(string)
	docs, err := splice.Documents([]byte(text))
	if err != nil || len(docs) != 1 {
		return false
	}
	config, _ := docs[0].(map[string]any)
	metadata, _ := config["metadata"].(map[string]any)
	other, _ := metadata["name"].(string)
	return config["kind"] == "PatchTransformer" && other > name
}

// givenToAll says whether a kustomization gives the changed value to all objects that it fits, or may: transformers come
// behind its patches, and so do the labels and annotations that an Argo CD Application of the repository adds to it.
// What replacements set has a source of its own, which a patch behind them would make a lie.
func (s site) givenToAll(l layer) bool {
	last := s.change.Path[len(s.change.Path)-1]
	if len(l.list("replacements")) > 0 {
		return false
	}
	if len(l.list("transformers")) > 0 {
		return true
	}
	if k := s.app.Render.Kustomize; k != nil && s.app.Render.File != "" && (k.Labels != nil || k.Annotations != nil) {
		return true
	}
	if last.Field == "image" {
		text, _ := s.declaredValue().V.(string)
		return slices.ContainsFunc(l.list("images"), func(v any) bool {
			entry, _ := v.(map[string]any)
			name := parseImage(text).name
			return name != "" && (entry["name"] == name || entry["newName"] == name)
		})
	}
	return slices.ContainsFunc(l.pairs(commonSections(s.change.Path)), func(at gitops.Path) bool {
		return splice.Lookup(l.content, at.Child(last)).Set
	})
}

// freeTransformer gives a name that no transformer written in the kustomization bears.
func (l layer) freeTransformer(name string) string {
	for i := 1; ; i++ {
		candidate := name
		if i > 1 {
			candidate = fmt.Sprintf("%s-%d", name, i)
		}
		if !slices.ContainsFunc(l.strings("transformers"), func(t string) bool { return strings.Contains(t, "name: "+candidate+"\n") }) {
			return candidate
		}
	}
}
