package codify

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// postRenderers edits what a Flux HelmRelease does with the objects that its chart makes: patches and images that are
// there and outrank the chart, or, where no value of the chart can express the change, one more patch
// (https://fluxcd.io/flux/components/helm/helmreleases/#post-renderers).
type postRenderers struct{}

// afterValues ranks behind all places of values that add as much.
const afterValues = 1 << 20

func (postRenderers) candidates(ctx context.Context, s site) []Candidate {
	if s.remove || s.app.Render.Helm == nil || s.app.Kind != "HelmRelease" {
		return nil
	}
	object, engine := s.engineObject()
	if engine == nil {
		return nil
	}
	all := gitops.Path{gitops.Field("spec"), gitops.Field("postRenderers")}
	list, _ := gitops.Lookup(object.content, all).V.([]any)
	var out []Candidate
	for i, v := range list {
		entry, _ := v.(map[string]any)
		if _, ok := entry["kustomize"].(map[string]any); ok {
			out = append(out, s.editRenderer(ctx, object, all.Child(gitops.Index(i)).Child(gitops.Field("kustomize")))...)
		}
	}
	return append(out, s.newRenderer(ctx, object, all, list)...)
}

// editRenderer gives the edits of one post renderer's patches and images.
func (s site) editRenderer(ctx context.Context, object place, at gitops.Path) []Candidate {
	l, drawn := s.drawn(object, at)
	var found []Candidate
	for _, p := range l.patches(s.tree) {
		found = append(found, drawn.editPatch(p)...)
	}
	images, _ := drawn.editImages(l)
	found = append(found, images...)
	var out []Candidate
	for _, c := range found {
		change, ok := read(object, c)
		if !ok {
			continue
		}
		head, _, _ := strings.Cut(c.What, " in ")
		added, rank := c.Added, 0
		if added > changesValue { // what is not there yet is better said by a value
			added, rank = max(lastResort, added), afterValues-1
		}
		edits := s.inObject(ctx, wording{head: head, label: at.String()}, change, gitops.Path{gitops.Field("spec"), gitops.Field("postRenderers")}, added)
		for i := range edits {
			edits[i].rank += rank
		}
		out = append(out, edits...)
	}
	return out
}

// drawing is the name under which an engine's object is edited as if it were a file of its own.
const drawing = "$object.yaml"

// drawn gives the options at a path of an object as a layer, and a site that has the object as a file: edits of it are
// read back as changes of the object, wherever that is written.
func (s site) drawn(object place, at gitops.Path) (layer, site) {
	data := splice.Document(object.content, splice.DefaultStyle())
	s.tree = s.tree.With([]gitops.Edit{{Path: drawing, After: data}})
	content, _ := gitops.Lookup(object.content, at).V.(map[string]any)
	return layer{dir: path.Clean(s.app.Source.Path), file: drawing, data: data, content: content, prefix: at, engine: object.engine}, s
}

// read gives the change of an object that an edit of its drawing makes.
func read(object place, c Candidate) (gitops.FieldChange, bool) {
	if len(c.Edits) != 1 || c.Edits[0].Path != drawing {
		return gitops.FieldChange{}, false
	}
	docs, err := splice.Documents(c.Edits[0].After)
	if err != nil || len(docs) != 1 {
		return gitops.FieldChange{}, false
	}
	return edited(splice.Normal(object.content), docs[0])
}

// newRenderer adds a patch: to the last post renderer with patches, else in a post renderer of its own.
func (s site) newRenderer(ctx context.Context, object place, at gitops.Path, list []any) []Candidate {
	verb := "set"
	if !s.change.After.Set {
		verb = "delete"
	}
	var out []Candidate
	for _, content := range s.patchContents() {
		patch, ok := s.identified(content.body)
		if !ok {
			continue
		}
		style := splice.StyleOf(object.data)
		style.CRLF = false
		entry := map[string]any{"patch": string(splice.Document(patch, style))}
		change := gitops.FieldChange{Path: at, After: gitops.Present(append(slices.Clone(list), map[string]any{
			"kustomize": map[string]any{"patches": []any{entry}},
		}))}
		if n := len(list); n > 0 {
			in := at.Child(gitops.Index(n - 1)).Child(gitops.Field("kustomize")).Child(gitops.Field("patches"))
			if patches, ok := gitops.Lookup(object.content, in).V.([]any); ok {
				change = gitops.FieldChange{Path: in, After: gitops.Present(append(slices.Clone(patches), entry))}
			}
		}
		what := wording{head: fmt.Sprintf("%s %s by a new patch", verb, s.change.Path), label: at.String(), tail: ", since no value of the chart can"}
		out = append(out, s.inObject(ctx, what, change, at, max(lastResort, content.added))...)
	}
	for i := range out {
		out[i].rank += afterValues
		out[i].choice = out[i].What
	}
	return out
}
