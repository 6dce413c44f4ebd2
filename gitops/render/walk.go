package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"holdfast/gitops"
)

// walker goes through a kustomization and all that it refers to in the order in which kustomize will. It
// refuses what is remote, and it learns which transformers each resource file and generator is in the
// scope of, so that kustomize need not write that into the objects.
type walker struct {
	fs    *treeFS
	marks *marks
	// generated are the objects that generators make.
	generated []*unit
	// vars are the kustomizations with vars, which act on the whole result at the end.
	vars []gitops.Transformer
	// openapi says that a kustomization brings a schema, which stays in kustomize's global state.
	openapi bool
	// config is set while the configuration of transformers is walked; its files are no resources.
	config  bool
	visited int
	// engine is what the engine's own object adds at the root; file is where that object stands.
	engine types.Kustomization
	file   string
	// build renders a folder of transformer configurations.
	build func(dir string) (resmap.ResMap, error)
}

// unit is one reading of a resource file, or one generator entry: what travels through the transformers.
type unit struct {
	// path of a resource file; empty for a generator.
	path string
	// written is the identity that a generator gives.
	written gitops.ObjectID
	steps   []step
	// prefix and suffix are what kustomizations around a generator add to its name.
	prefix, suffix string
}

// step is a transformer in whose scope a unit lies. Generators that merge act on one object only.
type step struct {
	gitops.Transformer
	only gitops.ObjectID
	// by is the kustomization that asks, to leave out what certainly passes an object by; nil keeps all.
	by *types.Kustomization
}

// maxKustomizations bounds a walk; bases that include each other twofold grow without end.
const maxKustomizations = 5000

func kustomizationNames() []string { return konfig.RecognizedKustomizationFileNames() }

func isKustomization(name string) bool {
	return slices.Contains(kustomizationNames(), path.Base(name))
}

// kustomization finds the kustomization files of a folder. None or several are kustomize's to refuse.
func (t *treeFS) kustomization(dir string) (found []string) {
	for _, name := range kustomizationNames() {
		file, ok := t.src.resolve(path.Join(dir, name))
		if ok && t.isFile(file) {
			found = append(found, file)
		} else if ok {
			t.src.missed(file)
		}
	}
	return found
}

// walk adds the units of a folder to acc. above are the folders that led here.
func (w *walker) walk(dir string, acc []*unit, above []string) ([]*unit, error) {
	w.visited++
	if w.visited > maxKustomizations {
		return nil, fmt.Errorf("%w: more than %d kustomizations", ErrLimit, maxKustomizations)
	}
	found := w.fs.kustomization(dir)
	switch {
	case len(found) > 1:
		return nil, fmt.Errorf("%s: several kustomization files: %s; kustomize wants one", dir, strings.Join(found, ", "))
	case len(found) == 0:
		return acc, nil // kustomize says so
	}
	file := found[0]
	data, err := w.fs.content(file)
	if err != nil {
		return nil, err
	}
	w.fs.approved[file] = true
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	k.FixKustomization()
	if err := local(file, &k); err != nil {
		return nil, err
	}
	w.openapi = w.openapi || len(k.OpenAPI) > 0
	for _, f := range files(&k) {
		w.marks.exclude(w.in(dir, f.ref))
	}
	above = append(slices.Clip(above), dir)
	if acc, err = w.resources(dir, k.Resources, acc, above); err != nil {
		return nil, err
	}
	if acc, err = w.generators(dir, file, &k, acc); err != nil {
		return nil, err
	}
	for _, ref := range k.Components {
		if next := w.in(dir, ref); w.fs.isDir(next) && !slices.Contains(above, next) {
			if acc, err = w.walk(next, acc, above); err != nil {
				return nil, err
			}
		}
	}
	return acc, w.transformers(dir, file, &k, acc, len(above) == 1 && !w.config)
}

// in resolves a reference of a kustomization in dir; what leaves the tree is left for kustomize to refuse.
func (w *walker) in(dir, ref string) string {
	name, ok := w.fs.src.resolve(path.Join(dir, ref))
	if !ok {
		return ""
	}
	return name
}

func (w *walker) resources(dir string, refs []string, acc []*unit, above []string) ([]*unit, error) {
	for _, ref := range refs {
		name := w.in(dir, ref)
		switch {
		case name == "":
		case w.fs.isFile(name):
			if w.config {
				w.marks.exclude(name)
				continue
			}
			u := &unit{path: name}
			w.marks.expect(u)
			acc = append(acc, u)
		case w.fs.isDir(name) && !slices.Contains(above, name):
			sub, err := w.walk(name, nil, above)
			if err != nil {
				return nil, err
			}
			acc = append(acc, sub...)
		}
	}
	return acc, nil
}

// generators adds what a kustomization generates. One that merges or replaces is a step of what it meets.
func (w *walker) generators(dir, file string, k *types.Kustomization, acc []*unit) ([]*unit, error) {
	add := func(kind string, args types.GeneratorArgs) {
		by := gitops.Transformer{Kind: kind + "Generator", File: file}
		id := gitops.ObjectID{Kind: kind, Namespace: args.Namespace, Name: args.Name}
		switch types.NewGenerationBehavior(args.Behavior) {
		case types.BehaviorMerge, types.BehaviorReplace:
			for _, u := range acc {
				u.steps = append(u.steps, step{Transformer: by, only: id})
			}
		default:
			u := &unit{written: id, steps: []step{{Transformer: by}}}
			acc = append(acc, u)
			if !w.config {
				w.generated = append(w.generated, u)
			}
		}
	}
	for _, g := range k.ConfigMapGenerator {
		add("ConfigMap", g.GeneratorArgs)
	}
	for _, g := range k.SecretGenerator {
		add("Secret", g.GeneratorArgs)
	}
	configs, err := w.configs(dir, file, k.Generators)
	if err != nil {
		return nil, err
	}
	for _, c := range configs {
		if kind, ok := strings.CutSuffix(c.GetKind(), "Generator"); ok {
			add(kind, types.GeneratorArgs{Name: c.GetName(), Namespace: c.GetNamespace()})
		}
	}
	return acc, nil
}

// transformers notes the steps that a kustomization takes with all units that it has gathered, in
// kustomize's order.
func (w *walker) transformers(dir, file string, k *types.Kustomization, acc []*unit, root bool) error {
	external, err := w.configs(dir, file, k.Transformers)
	if err != nil {
		return err
	}
	if _, err := w.configs(dir, file, k.Validators); err != nil {
		return err
	}
	var steps []step
	own, engine := asked(k), []string(nil)
	if root {
		engine = asked(&w.engine)
		own = slices.DeleteFunc(own, func(kind string) bool {
			return slices.Contains(engine, kind) && !w.alone(file, kind)
		})
	}
	for _, kind := range transformerOrder() {
		if slices.Contains(own, kind) {
			steps = append(steps, step{Transformer: gitops.Transformer{Kind: kind, File: file}, by: k})
		}
		if slices.Contains(engine, kind) {
			steps = append(steps, step{Transformer: gitops.Transformer{Kind: kind, File: w.file}, by: &w.engine})
		}
	}
	for _, c := range external {
		steps = append(steps, step{Transformer: gitops.Transformer{Kind: c.GetKind(), File: file}})
	}
	if len(k.Vars) > 0 { //nolint:staticcheck // repositories still use it
		w.vars = append(w.vars, gitops.Transformer{Kind: "RefVarTransformer", File: file})
	}
	for _, u := range acc {
		u.steps = append(u.steps, steps...)
		u.prefix, u.suffix = k.NamePrefix+u.prefix, u.suffix+k.NameSuffix
	}
	return nil
}

// alone says whether the root's own kustomization, as it lies in the repository, still counts where the
// engine's object asks for the same kind of transformer: lists are merged, single values replaced.
func (w *walker) alone(file, kind string) bool {
	if kind != "PatchTransformer" && kind != "ImageTagTransformer" {
		return false
	}
	stored, ok := w.fs.src.tree.File(file)
	if !ok {
		return false
	}
	var k types.Kustomization
	if k.Unmarshal(stored.Data) != nil {
		return false
	}
	k.FixKustomization()
	return slices.Contains(asked(&k), kind)
}

// transformerOrder is the order in which one kustomization applies its fields.
func transformerOrder() []string {
	return []string{
		"PatchStrategicMergeTransformer", "PatchTransformer", "NamespaceTransformer", "PrefixTransformer",
		"SuffixTransformer", "LabelTransformer", "AnnotationsTransformer", "PatchJson6902Transformer",
		"ReplicaCountTransformer", "ImageTagTransformer", "ReplacementTransformer",
	}
}

// asked lists the built-in transformers that the fields of a kustomization ask for.
func asked(k *types.Kustomization) []string {
	var out []string
	for kind, there := range map[string]bool{
		"PatchStrategicMergeTransformer": len(k.PatchesStrategicMerge) > 0, //nolint:staticcheck // repositories still use it
		"PatchTransformer":               len(k.Patches) > 0,
		"NamespaceTransformer":           k.Namespace != "",
		"PrefixTransformer":              k.NamePrefix != "",
		"SuffixTransformer":              k.NameSuffix != "",
		"LabelTransformer":               len(k.Labels) > 0 || len(k.CommonLabels) > 0, //nolint:staticcheck // repositories still use it
		"AnnotationsTransformer":         len(k.CommonAnnotations) > 0,
		"PatchJson6902Transformer":       len(k.PatchesJson6902) > 0, //nolint:staticcheck // repositories still use it
		"ReplicaCountTransformer":        len(k.Replicas) > 0,
		"ImageTagTransformer":            len(k.Images) > 0,
		"ReplacementTransformer":         len(k.Replacements) > 0,
	} {
		if there {
			out = append(out, kind)
		}
	}
	return out
}

func resources() *resmap.Factory {
	return resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())
}
