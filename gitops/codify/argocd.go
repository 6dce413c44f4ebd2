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

// argoLayer gives the kustomize options of an Argo CD Application that stands in a file, as a layer around the folder's
// own kustomization. Patches and replicas in it read as those of a kustomization do; images do not.
func argoLayer(data []byte, app gitops.Application) (layer, bool) {
	docs, err := splice.Documents(data)
	if err != nil || app.Render.Document >= len(docs) {
		return layer{}, false
	}
	object, _ := docs[app.Render.Document].(map[string]any)
	id := gitops.NewObject(object).ID
	if id.Group != "argoproj.io" || id.Kind != "Application" || id.Name != app.Name {
		return layer{}, false
	}
	source := argoSource(object, app.Source.Path)
	if source == nil {
		return layer{}, false
	}
	id.Namespace = app.Namespace
	at := source.Child(gitops.Field("kustomize"))
	content, _ := gitops.Lookup(object, at).V.(map[string]any)
	return layer{
		dir: path.Clean(app.Source.Path), file: app.Render.File, data: data, content: content, doc: app.Render.Document, prefix: at, engine: &id,
	}, true
}

// argoSource finds the source of an Application that is rendered from a folder; nil where it is not one alone.
func argoSource(object any, folder string) gitops.Path {
	spec := gitops.Path{gitops.Field("spec")}
	list, many := gitops.Lookup(object, spec.Child(gitops.Field("sources"))).V.([]any)
	if one := spec.Child(gitops.Field("source")); !many && gitops.Lookup(object, one).Set {
		return one
	}
	found := -1
	for i, e := range list {
		m, _ := e.(map[string]any)
		where, _ := m["path"].(string)
		if where == "" || path.Clean(where) != path.Clean(folder) && !(strings.HasPrefix(folder, "$") && strings.HasSuffix(folder, "/"+path.Clean(where))) {
			continue
		}
		if found >= 0 {
			return nil
		}
		found = i
	}
	if found < 0 {
		return nil
	}
	return spec.Child(gitops.Field("sources")).Child(gitops.Index(found))
}

// argoImages edits images and replicas of an Argo CD Application's kustomize options, or those of a file beside the
// kustomization that take their place. Images are texts: [name=]image[:tag][@digest].
type argoImages struct{}

func (argoImages) candidates(ctx context.Context, s site) []Candidate {
	k := s.app.Render.Kustomize
	if s.remove || k == nil || s.app.Engine != gitops.ArgoCD || !s.change.After.Set || len(s.change.Path) == 0 {
		return nil
	}
	if s.change.Path.String() == "spec.replicas" {
		return s.argoReplicas(ctx)
	}
	have, want, ok := s.imageChange()
	if !ok {
		return nil
	}
	file, data, options := s.override(s.app.Source.Path, "kustomize")
	in := gitops.Path{gitops.Field("kustomize"), gitops.Field("images")}
	if list, ok := gitops.Lookup(options, in).V.([]any); ok {
		return s.argoImage(list, have, want, func(i int, text string, added int) []Candidate {
			after, err := splice.Set(data, 0, in.Child(gitops.Index(i)), text)
			return s.one(fmt.Sprintf("change the image %s in %s, which outranks the Application", have.name, file), file, after, err, added)
		})
	}
	object, engine := s.engineObject()
	if engine == nil {
		return nil
	}
	source := argoSource(object.content, s.app.Source.Path)
	if source == nil {
		return nil
	}
	at := source.Child(gitops.Field("kustomize")).Child(gitops.Field("images"))
	list, _ := gitops.Lookup(object.content, at).V.([]any)
	return s.argoImage(list, have, want, func(i int, text string, added int) []Candidate {
		what := wording{head: "change the image " + have.name, label: at.String()}
		if i == len(list) {
			what.head, added = "add the image "+have.name, lastResort
		}
		return s.inObject(ctx, what, gitops.FieldChange{Path: at.Child(gitops.Index(i)), After: gitops.Present(text)}, at, added)
	})
}

// argoImage gives the edit of the entry for an image, or of a new one at the end of the list.
func (s site) argoImage(list []any, have, want image, set func(i int, text string, added int) []Candidate) []Candidate {
	for i, v := range list {
		text, _ := v.(string)
		name, rest, renamed := strings.Cut(text, "=")
		if !renamed {
			rest = text
		}
		shown := parseImage(rest)
		if !renamed {
			name = shown.name
		}
		if shown.name == have.name || name == have.name {
			out := set(i, imageText(name, want, renamed), changesValue)
			for n := range out {
				out[n].rank = -1 // it decides which image it is, whatever the manifest says
			}
			return out
		}
	}
	return set(len(list), imageText(have.name, want, false), addsEntry)
}

// imageText writes an override of an image.
func imageText(name string, want image, renamed bool) string {
	text := want.name
	if want.tag != "" {
		text += ":" + want.tag
	}
	if want.digest != "" {
		text += "@" + want.digest
	}
	if renamed || name != want.name {
		return name + "=" + text
	}
	return text
}

// argoReplicas edits or adds the replicas of a workload.
func (s site) argoReplicas(ctx context.Context) []Candidate {
	count, ok := s.change.After.V.(int64)
	object, engine := s.engineObject()
	if !ok || engine == nil {
		return nil
	}
	source := argoSource(object.content, s.app.Source.Path)
	if source == nil {
		return nil
	}
	at := source.Child(gitops.Field("kustomize")).Child(gitops.Field("replicas"))
	list, _ := gitops.Lookup(object.content, at).V.([]any)
	names := []string{s.declared.Origin.Written.Name, s.declared.ID.Name}
	for i, v := range list {
		entry, _ := v.(map[string]any)
		if name, _ := entry["name"].(string); !slices.Contains(names, name) {
			continue
		}
		value := any(count)
		if _, text := entry["count"].(string); text {
			value = fmt.Sprint(count)
		}
		change := gitops.FieldChange{Path: at.Child(gitops.Index(i)).Child(gitops.Field("count")), After: gitops.Present(value)}
		return s.inObject(ctx, wording{head: "change the replicas entry", label: at.String()}, change, at, changesValue)
	}
	entry := map[string]any{"name": names[0], "count": count}
	change := gitops.FieldChange{Path: at.Child(gitops.Index(len(list))), After: gitops.Present(entry)}
	return s.inObject(ctx, wording{head: "add a replicas entry", label: at.String()}, change, at, lastResort)
}
