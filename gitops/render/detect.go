package render

import (
	"cmp"
	"path"
	"slices"

	"holdfast/gitops"
)

// Detected settles how folders are rendered that leave it to their files: a kustomization is built, a chart is
// rendered, and anything else is plain. A folder with both is a kustomization, as for Argo CD. Mounts have to be in
// the tree already.
func Detected(tree gitops.Tree, app gitops.Application) gitops.Application {
	app.Render = detected(tree, app, app.Source.Path, app.Render)
	app.Parts = slices.Clone(app.Parts)
	for i, part := range app.Parts {
		app.Parts[i].Render = detected(tree, app, part.Path, part.Render)
	}
	return app
}

func detected(tree gitops.Tree, app gitops.Application, folder string, how gitops.Render) gitops.Render {
	if !how.Detect {
		return how
	}
	how.Detect = false
	has := func(name string) bool {
		_, ok := tree.Read(path.Join(folder, name))
		return ok
	}
	switch {
	case slices.ContainsFunc(kustomizationNames(), has):
		how.Kustomize = &gitops.Kustomize{}
	case has("Chart.yaml"):
		how.Helm = &gitops.Helm{ReleaseName: app.Name, Namespace: how.Namespace}
		if app.Engine == gitops.None { // as `helm template` does
			how.Helm.Namespace = cmp.Or(how.Namespace, app.Namespace, "default")
		}
	}
	return how
}
