package main

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// reach is what an Application may read of a tree, found by following names: more than it reads, never less. It
// knows nothing of what Holdfast says that it reads.
type reach struct {
	tree  gitops.Tree
	files map[string]bool
	// folders are those of which every file counts.
	folders []string
}

func reachOf(tree gitops.Tree, app gitops.Application) *reach {
	r := &reach{tree: tree, files: map[string]bool{}}
	if app.Render.File != "" {
		r.files[app.Render.File] = true
	}
	switch {
	case app.Render.Helm != nil:
		r.folders = append(r.folders, path.Clean(app.Source.Path))
		for _, v := range app.Render.Helm.Values {
			r.files[path.Clean(v.File)] = true
		}
	case app.Render.Kustomize != nil:
		r.follow(path.Clean(app.Source.Path))
		for _, c := range app.Render.Kustomize.Components {
			r.follow(path.Join(app.Source.Path, c))
		}
	default:
		r.folders = append(r.folders, path.Clean(app.Source.Path))
	}
	return r
}

// follow adds a file or folder, and what a kustomization in the folder names.
func (r *reach) follow(name string) {
	if r.files[name] || slices.Contains(r.folders, name) || strings.HasPrefix(name, "..") {
		return
	}
	if _, ok := r.tree.Read(name); ok {
		r.files[name] = true
		if f, _ := r.tree.File(name); f.Mode == gitops.Symlink {
			r.follow(path.Join(path.Dir(name), string(f.Data)))
		}
		return
	}
	for _, base := range kustomizationFiles() {
		file := path.Join(name, base)
		data, ok := r.tree.Read(file)
		if !ok || r.files[file] {
			continue
		}
		r.files[file] = true
		if f, _ := r.tree.File(file); f.Mode == gitops.Symlink {
			r.files[path.Join(name, string(f.Data))] = true
		}
		var content any
		_ = yaml.Unmarshal(data, &content) // what is broken names nothing
		for _, text := range texts(content) {
			r.follow(path.Join(name, text))
		}
		return
	}
	if !r.files[path.Join(name, "kustomization.yaml")] && len(r.tree.Paths(name)) > 0 {
		r.folders = append(r.folders, name)
	}
}

// texts are all strings in a document, and what stands behind = in them.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		if strings.ContainsAny(v, "\n") {
			return nil
		}
		if _, file, ok := strings.Cut(v, "="); ok {
			return []string{v, file}
		}
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, texts(e)...)
		}
		return out
	case map[string]any:
		var out []string
		for _, e := range v {
			out = append(out, texts(e)...)
		}
		return out
	}
	return nil
}

func (r *reach) has(file string) bool {
	return r.files[file] || slices.ContainsFunc(r.folders, func(folder string) bool { return within(file, folder) })
}
