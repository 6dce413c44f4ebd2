package render

import (
	"fmt"

	"sigs.k8s.io/kustomize/api/resource"
)

// configs reads the configurations of generators, transformers or validators: inline, in a file, or in a
// folder that is a kustomization itself and is rendered first, so that what it comes to can be checked.
func (w *walker) configs(dir, file string, refs []string) ([]*resource.Resource, error) {
	var all []*resource.Resource
	for _, ref := range refs {
		found, err := w.configsOf(dir, file, ref)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			read, err := builtinConfig(file, c)
			if err != nil {
				return nil, err
			}
			for _, name := range read {
				w.marks.exclude(w.in(dir, name))
			}
		}
		all = append(all, found...)
	}
	return all, nil
}

func (w *walker) configsOf(dir, file, ref string) ([]*resource.Resource, error) {
	// This test for inline text is the one that kustomize makes.
	if inline, err := resources().NewResMapFromBytes([]byte(ref)); err == nil {
		return inline.Resources(), nil
	}
	if remoteBase(ref) {
		return nil, remote(file, "generators, transformers or validators", ref)
	}
	name := w.in(dir, ref)
	switch {
	case name == "":
		return nil, nil
	case w.fs.isFile(name):
		w.marks.exclude(name)
		data, err := w.fs.content(name)
		if err != nil {
			return nil, err
		}
		found, err := resources().RF().SliceFromBytes(data)
		if err != nil {
			return nil, nil // kustomize refuses the file in the same way
		}
		return found, nil
	case w.fs.isDir(name):
		return w.configFolder(name)
	}
	return nil, nil
}

// configFolder renders a folder of configurations. Its own files become no objects of the result.
func (w *walker) configFolder(name string) ([]*resource.Resource, error) {
	before := w.config
	w.config = true
	defer func() { w.config = before }()
	if _, err := w.walk(name, nil, nil); err != nil {
		return nil, err
	}
	built, err := w.build(name)
	if err != nil {
		return nil, fmt.Errorf("transformers in %s: %w", name, err)
	}
	return built.Resources(), nil
}
