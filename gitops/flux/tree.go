package flux

import (
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// InTree gives an Application for each Kustomization and HelmRelease that stands in a YAML file of a repository, with
// Render.File and Document saying where. Objects are taken as written: what a kustomization around them
// changes is not seen. Cluster is empty, and so is Namespace where the file has none; two clusters'
// folders may hold Kustomizations of one name.
//
// Source.Path is a path of this repository only if Source.Kind is GitRepository and Source.Repo is this
// repository's address or empty: empty means that the GitRepository is not in the tree, so that it cannot
// be told. Where several files declare the source, the one nearest to the Kustomization counts.
func InTree(tree gitops.Tree) ([]gitops.Application, []gitops.EngineProblem) {
	all, problems := render.Naming(tree, KustomizeGroup, HelmGroup, SourceGroup)
	var applications []gitops.Application
	for _, o := range all {
		d := decoder{find: nearest(all, o.Origin.File)}
		d.decode(o.Object)
		if slices.ContainsFunc(d.problems, func(p gitops.EngineProblem) bool { return p.Kind == gitops.Undecodable && p.Blocks }) {
			d.applications = nil // a patch of one, as a rule
		}
		for _, app := range d.applications {
			app.Render.File, app.Render.Document = o.Origin.File, o.Origin.Document
			applications = append(applications, app)
		}
		for _, p := range d.problems {
			if p.Kind == gitops.NoSource {
				continue // the usual case: bootstrap put the source beside the cluster, not into this folder
			}
			p.File, p.Document = o.Origin.File, o.Origin.Document
			problems = append(problems, p)
		}
	}
	return applications, problems
}

// nearest finds a source by name; a namespace that either side leaves open matches. Of several it takes
// the one whose file shares the most folders with from.
func nearest(all []gitops.Declared, from string) func(gitops.ObjectID) (gitops.Object, bool) {
	return func(id gitops.ObjectID) (gitops.Object, bool) {
		best, score := gitops.Object{}, -1
		for _, o := range all {
			same := o.ID.GroupKind() == id.GroupKind() && o.ID.Name == id.Name &&
				(o.ID.Namespace == id.Namespace || o.ID.Namespace == "" || id.Namespace == "")
			if !same {
				continue
			}
			if shared := common(o.Origin.File, from); shared > score {
				best, score = o.Object, shared
			}
		}
		return best, score >= 0
	}
}

// common counts the folders that two files share.
func common(a, b string) int {
	as, bs := strings.Split(path.Dir(a), "/"), strings.Split(path.Dir(b), "/")
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return n
}
