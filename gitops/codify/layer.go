package codify

import (
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// layer is one kustomization file and what it says, or the spec of the Flux Kustomization around it.
type layer struct {
	dir, file string
	data      []byte
	content   map[string]any
	// doc and prefix are where content stands in file.
	doc    int
	prefix gitops.Path
	// engine is the engine's own object that content is of: a Flux Kustomization's spec, or the kustomize options of an
	// Argo CD Application; nil for a kustomization file.
	engine *gitops.ObjectID
}

// fluxLayer gives the spec of the Application's own Flux Kustomization, where the repository holds it.
func fluxLayer(tree gitops.Tree, app gitops.Application) (layer, bool) {
	data, ok := tree.Read(app.Render.File)
	if app.Render.File == "" || !ok || app.Render.Kustomize == nil {
		return layer{}, false
	}
	if app.Engine == gitops.ArgoCD {
		return argoLayer(data, app)
	}
	docs, err := splice.Documents(data)
	if err != nil || app.Render.Document >= len(docs) {
		return layer{}, false
	}
	object, _ := docs[app.Render.Document].(map[string]any)
	id := gitops.NewObject(object).ID
	spec, ok := object["spec"].(map[string]any)
	if !ok || id.Group != "kustomize.toolkit.fluxcd.io" || id.Name != app.Name {
		return layer{}, false
	}
	id.Namespace = app.Namespace
	return layer{
		dir: path.Clean(app.Source.Path), file: linked(tree, app.Render.File), data: data, content: spec,
		doc: app.Render.Document, prefix: gitops.Path{gitops.Field("spec")}, engine: &id,
	}, true
}

// set gives the candidate in which the value at path of the layer reads as value.
func (s site) set(l layer, what string, at gitops.Path, value any, added int) []Candidate {
	whole := append(slices.Clip(l.prefix), at...)
	after, err := splice.Set(l.data, l.doc, whole, value)
	return s.own(l, at, s.one(what, l.file, after, err, added))
}

// own marks candidates that edit the engine's own object, whose render moves there.
func (s site) own(l layer, at gitops.Path, candidates []Candidate) []Candidate {
	for i := range candidates {
		if l.engine != nil {
			candidates[i].engine = []engineEdit{s.engineEdit(*l.engine, append(slices.Clip(l.prefix), at[0]))}
		}
	}
	return candidates
}

// kustomizationNames are the names that kustomize reads
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/).
func kustomizationNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// layersOf gives the kustomization of dir and, depth first, those that it refers to; each once.
func layersOf(tree gitops.Tree, dir string) []layer {
	var out []layer
	var walk func(dir string)
	walk = func(dir string) {
		if slices.ContainsFunc(out, func(l layer) bool { return l.dir == dir }) || len(out) > 1000 {
			return
		}
		l, ok := layerAt(tree, dir)
		if !ok {
			return
		}
		out = append(out, l)
		for _, key := range []string{"components", "resources", "bases"} {
			for _, ref := range l.strings(key) {
				walk(path.Join(dir, ref))
			}
		}
	}
	walk(path.Clean(dir))
	return out
}

func layerAt(tree gitops.Tree, dir string) (layer, bool) {
	for _, name := range kustomizationNames() {
		file := linked(tree, path.Join(dir, name))
		data, ok := tree.Read(file)
		if !ok {
			continue
		}
		docs, err := splice.Documents(data)
		more := func(d any) bool { return d != nil }
		if err != nil || len(docs) == 0 || slices.ContainsFunc(docs[1:], more) {
			return layer{}, false
		}
		content, ok := docs[0].(map[string]any)
		return layer{dir: dir, file: file, data: data, content: content}, ok
	}
	return layer{}, false
}

// strings gives a list of strings at the top of the file.
func (l layer) strings(key string) []string {
	var out []string
	for _, v := range l.list(key) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (l layer) list(key string) []any {
	list, _ := l.content[key].([]any)
	return list
}

// references gives the folders that some kustomization of the tree refers to.
func references(tree gitops.Tree, roots []string) map[string]bool {
	out := map[string]bool{}
	for _, dir := range roots {
		l, ok := layerAt(tree, dir)
		if !ok {
			continue
		}
		for _, key := range []string{"components", "resources", "bases"} {
			for _, ref := range l.strings(key) {
				out[path.Join(dir, ref)] = true
			}
		}
	}
	return out
}

// linked follows symbolic links inside the tree to the file that an edit must go to.
func linked(tree gitops.Tree, name string) string {
	for range 10 {
		f, ok := tree.File(name)
		if !ok || f.Mode != gitops.Symlink || path.IsAbs(string(f.Data)) {
			return path.Clean(name)
		}
		name = path.Join(path.Dir(name), string(f.Data))
	}
	return path.Clean(name)
}

// within says whether name is folder or lies below it.
func within(name, folder string) bool {
	folder = path.Clean(folder)
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}
