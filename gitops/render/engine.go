package render

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// prepare makes the kustomization of the root where the engine adds to it or generates it, as Flux's
// kustomize-controller does, and gives the folder to build.
func prepare(w *walker, root string, how gitops.Render) (string, error) {
	add := *how.Kustomize
	dir, resources := root, []string(nil)
	switch {
	case w.fs.src.isFile(root):
		// One file: a kustomization of its own, beside it.
		dir = path.Dir(root)
		resources = []string{"./" + path.Base(root)}
	case !w.fs.src.isDir(root):
		return "", ErrNotFound
	}
	files := w.fs.kustomization(dir)
	found := resources == nil && len(files) == 1
	if resources == nil && len(files) > 1 || found && !add.Generate && !additions(add) {
		return dir, nil // several files are refused by kustomize
	}
	var file string
	k := types.Kustomization{TypeMeta: types.TypeMeta{
		APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind,
	}}
	switch {
	case found:
		file = files[0]
		data, err := w.fs.content(file)
		if err != nil {
			return "", err
		}
		if err := yaml.Unmarshal(data, &k); err != nil {
			return "", fmt.Errorf("%s: invalid kustomization: %w", file, err)
		}
		if len(k.Resources) == 0 && add.Generate {
			// Flux does this so that a kustomization that only gets additions counts as not empty.
			k.BuildMetadata = []string{types.OriginAnnotations}
		}
	case resources == nil && !add.Generate:
		return dir, nil // kustomize says that there is none
	default:
		file = path.Join(dir, kustomizationNames()[0])
		if resources == nil {
			resources = manifests(w.fs, dir)
		}
		k.Resources = resources
		if len(k.Resources) == 0 {
			k.Namespace = "_placeholder" // nothing to build, which kustomize would call an error
		}
	}
	if err := merge(w, dir, &k, add); err != nil {
		return "", err
	}
	data, err := yaml.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	w.fs.replaced[file] = data
	return dir, nil
}

// additions says whether the engine's object changes the kustomization.
func additions(k gitops.Kustomize) bool {
	return k.NamePrefix != "" || k.NameSuffix != "" || k.TargetNamespace != "" || len(k.Components) > 0 ||
		len(k.Patches) > 0 || len(k.Images) > 0 || len(k.BuildMetadata) > 0 ||
		len(k.Replicas) > 0 || k.Labels != nil || k.Annotations != nil
}

// merge writes the engine's additions into the root's kustomization: single values replace, lists are
// appended, and images are merged by name.
func merge(w *walker, dir string, k *types.Kustomization, add gitops.Kustomize) error {
	w.engine = types.Kustomization{Namespace: add.TargetNamespace, NamePrefix: add.NamePrefix, NameSuffix: add.NameSuffix}
	k.Namespace = cmp.Or(add.TargetNamespace, k.Namespace)
	k.NamePrefix = cmp.Or(add.NamePrefix, k.NamePrefix)
	k.NameSuffix = cmp.Or(add.NameSuffix, k.NameSuffix)
	for _, p := range add.Patches {
		w.engine.Patches = append(w.engine.Patches, types.Patch{Patch: p.Patch, Target: selector(p.Target)})
	}
	k.Patches = append(k.Patches, w.engine.Patches...)
	for _, c := range add.Components {
		if remoteBase(c) || path.IsAbs(c) {
			return remote(cmp.Or(w.file, "the engine's object"), "components", c)
		}
		if add.IgnoreMissingComponents && !w.fs.isDir(w.in(dir, c)) {
			for _, name := range kustomizationNames() {
				w.fs.src.missed(path.Join(dir, c, name))
			}
			continue
		}
		k.Components = append(k.Components, c)
	}
	for _, image := range add.Images {
		w.engine.Images = append(w.engine.Images, kustomizeImage(image))
		if add.Generate {
			k.Images = withImage(k.Images, kustomizeImage(image))
		} else {
			k.Images = setImage(k.Images, kustomizeImage(image))
		}
	}
	if len(add.BuildMetadata) > 0 {
		k.BuildMetadata = add.BuildMetadata
	}
	return edit(w, k, add)
}

func kustomizeImage(i gitops.Image) types.Image {
	return types.Image{Name: i.Name, NewName: i.NewName, NewTag: i.NewTag, Digest: i.Digest}
}

// withImage merges an override into those that are there, as Flux does: an entry of the same name keeps what the new
// one leaves open, while tag and digest, which both pick the version, go together.
func withImage(images []types.Image, image types.Image) []types.Image {
	at := slices.IndexFunc(images, func(i types.Image) bool { return i.Name == image.Name })
	if at < 0 {
		return append(images, image)
	}
	images[at].NewName = cmp.Or(image.NewName, images[at].NewName)
	if image.NewTag != "" || image.Digest != "" {
		images[at].NewTag, images[at].Digest = image.NewTag, image.Digest
	}
	return images
}

func selector(t *gitops.PatchTarget) *types.Selector {
	if t == nil {
		return nil
	}
	s := &types.Selector{LabelSelector: t.LabelSelector, AnnotationSelector: t.AnnotationSelector}
	s.Group, s.Version, s.Kind = t.Group, t.Version, t.Kind
	s.Namespace, s.Name = t.Namespace, t.Name
	return s
}

// manifests lists what Flux puts into a generated kustomization: all YAML files below dir that the source
// does not ignore, and the nearest sub-folders that have a kustomization of their own.
func manifests(fs *treeFS, dir string) []string {
	fs.src.listed(dir, true)
	ignored := fs.src.ignore(dir)
	var out []string
	seen, own := map[string]bool{}, map[string]bool{}
	hasOwn := func(folder string) bool {
		answer, known := own[folder]
		if !known {
			answer = len(fs.kustomization(folder)) > 0
			own[folder] = answer
		}
		return answer
	}
	for _, name := range fs.src.tree.Paths(dir) {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" && !isKustomization(name) || ignored(name) {
			continue
		}
		rest := strings.TrimPrefix(name, dir+"/")
		if dir == "." {
			rest = name
		}
		entry := rest
		for i, r := range rest {
			if r == '/' && hasOwn(path.Join(dir, rest[:i])) {
				entry = rest[:i]
				break
			}
		}
		if !seen[entry] {
			seen[entry] = true
			out = append(out, "./"+entry)
		}
	}
	return out
}

// ignore gives the rules by which Flux's source-controller leaves files out of an artifact: its defaults
// and the .sourceignore files above and below dir.
func (s *source) ignore(dir string) func(name string) bool {
	var patterns []gitignore.Pattern
	add := func(folder string) {
		name := path.Join(folder, sourceignore.IgnoreFile)
		data, ok, err := s.read(name)
		if err == nil && ok {
			patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(string(data)), parts(folder))...)
		}
	}
	add(".")
	for i, r := range dir {
		if r == '/' {
			add(dir[:i])
		}
	}
	if dir != "." {
		add(dir)
	}
	for _, name := range s.tree.Paths(dir) {
		if path.Base(name) == sourceignore.IgnoreFile && path.Dir(name) != dir {
			add(path.Dir(name))
		}
	}
	matcher := sourceignore.NewDefaultMatcher(patterns, nil)
	return func(name string) bool { return matcher.Match(parts(name), false) }
}

func parts(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// annotate adds the common metadata of an engine's object, which stands in file.
func annotate(o *gitops.Declared, labels, annotations map[string]string, file string) {
	if len(labels)+len(annotations) == 0 {
		return
	}
	metadata, ok := o.Content["metadata"].(map[string]any)
	if !ok {
		return
	}
	put := func(field string, values map[string]string) {
		if len(values) == 0 {
			return
		}
		there, ok := metadata[field].(map[string]any)
		if !ok {
			there = map[string]any{}
		}
		for key, value := range values {
			there[key] = value
		}
		metadata[field] = there
	}
	put("labels", labels)
	put("annotations", annotations)
	o.Origin.Transformers = append(slices.Clip(o.Origin.Transformers), gitops.Transformer{Kind: "CommonMetadata", File: file})
}
