package codify

import (
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// layer is one kustomization file and what it says.
type layer struct {
	dir, file string
	data      []byte
	content   map[string]any
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
		if err != nil || len(docs) != 1 {
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
