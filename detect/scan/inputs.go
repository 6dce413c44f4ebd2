package scan

import (
	"slices"

	"holdfast/detect/live"
	"holdfast/gitops"
)

// withoutAbsent settles the optional inputs of an Application that the cluster is known not to have: the engine goes on
// without them (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-substitute-from,
// https://fluxcd.io/flux/components/helm/helmreleases/#values-references). What a dump lacks may be there all the same.
func withoutAbsent(app *gitops.Application, read *live.Snapshot) {
	absent := func(kind, name string, optional bool) bool {
		id := gitops.ObjectID{Kind: kind, Namespace: app.Namespace, Name: name}
		_, unread := read.Why(id)
		return optional && !unread && read.Cluster != "" && !read.Objects.Has(id)
	}
	if k := app.Render.Kustomize; k != nil && k.PostBuild != nil {
		for i := range k.PostBuild.SubstituteFrom {
			from := &k.PostBuild.SubstituteFrom[i]
			from.Known = from.Known || absent(from.Kind, from.Name, from.Optional)
		}
	}
	if h := app.Render.Helm; h != nil {
		h.Values = slices.DeleteFunc(h.Values, func(v gitops.Values) bool {
			return v.From != nil && !v.From.Known && absent(v.From.Kind, v.From.Name, v.Optional)
		})
	}
}
