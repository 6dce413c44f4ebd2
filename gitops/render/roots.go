package render

import (
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"holdfast/gitops"
)

// Roots lists the folders that kustomize can build, sorted: those with a kustomization file, bases that
// others refer to included, components excepted. The root of the tree is ".".
func Roots(tree gitops.Tree) []string {
	var roots []string
	for _, name := range tree.Paths("") {
		if !isKustomization(name) {
			continue
		}
		data, ok := tree.Read(name)
		if !ok {
			continue
		}
		var k types.Kustomization
		if k.Unmarshal(data) == nil && k.Kind == types.ComponentKind {
			continue
		}
		roots = append(roots, path.Dir(name))
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}
