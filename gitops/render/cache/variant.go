package cache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// scope is render.Env.Namespaced.
type scope func(gitops.GroupKind) (namespaced, known bool)

func newVariant(inputs render.Inputs, asked map[gitops.GroupKind]bool) *variant {
	kinds := slices.SortedFunc(maps.Keys(asked), func(a, b gitops.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	h := sha256.New()
	fmt.Fprintf(h, "%s %q", inputs.Names(), kinds)
	return &variant{names: hex.EncodeToString(h.Sum(nil)), inputs: inputs, kinds: kinds, entries: map[string]*entry{}}
}

// digest is over what tree holds of the inputs, and over the scopes of the kinds that the render asked for.
func (v *variant) digest(tree gitops.Tree, namespaced scope) string {
	h := sha256.New()
	fmt.Fprintln(h, v.inputs.Digest(tree), namespaced != nil)
	for _, kind := range v.kinds {
		if namespaced != nil {
			is, known := namespaced(kind)
			fmt.Fprintln(h, is, known)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
