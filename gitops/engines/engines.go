// Package engines reads the objects of all GitOps engines that are known: each engine's decoder is named here
// and nowhere else.
package engines

import (
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/argocd"
	"holdfast/gitops/flux"
)

// Names says which objects become Applications, for errors that find none.
const Names = "Kustomization or HelmRelease of Flux, or Application of Argo CD"

// Decode gives the Applications of all engines among the objects of one cluster, and what limits them. An
// Application that names no Git source of its own, only charts, has its home where its object is declared.
func Decode(cluster string, objects []gitops.Object) ([]gitops.Application, []gitops.EngineProblem) {
	var apps []gitops.Application
	var problems []gitops.EngineProblem
	for _, decode := range []func(string, []gitops.Object) ([]gitops.Application, []gitops.EngineProblem){flux.Decode, argocd.Decode} {
		more, wrong := decode(cluster, objects)
		apps, problems = append(apps, more...), append(problems, wrong...)
	}
	housed(apps, objects)
	return apps, problems
}

// InTree gives the Applications that the engines' objects in a repository declare.
func InTree(tree gitops.Tree) ([]gitops.Application, []gitops.EngineProblem) {
	apps, problems := flux.InTree(tree)
	more, wrong := argocd.InTree(tree)
	return append(apps, more...), append(problems, wrong...)
}

// Reads says whether decoding may look at an object: the engines' own objects, and the ConfigMaps and Secrets
// that settings, variables and values come from.
func Reads(id gitops.ObjectID) bool {
	return Declares(id) || id.Group == "" && (id.Kind == "ConfigMap" || id.Kind == "Secret")
}

// Declares says whether an object is one of an engine's own.
func Declares(id gitops.ObjectID) bool {
	return strings.HasSuffix(id.Group, ".toolkit.fluxcd.io") || id.Group == argocd.Group
}

// Becomes says whether an object is one that an Application is made from.
func Becomes(id gitops.ObjectID) bool {
	app := gitops.Application{Namespace: id.Namespace, Name: id.Name}
	for _, app.Kind = range []string{"Kustomization", "HelmRelease", argocd.Kind} {
		if ObjectID(app) == id {
			return true
		}
	}
	return false
}

// ObjectID names the engine's object that an Application was made from.
func ObjectID(app gitops.Application) gitops.ObjectID {
	group := map[string]string{"Kustomization": flux.KustomizeGroup, "HelmRelease": flux.HelmGroup, argocd.Kind: argocd.Group}[app.Kind]
	return gitops.ObjectID{Group: group, Kind: app.Kind, Namespace: app.Namespace, Name: app.Name}
}

// housed gives each Application that has mounts alone the source of the Application that declares its object:
// what its spec says is edited there.
func housed(apps []gitops.Application, objects []gitops.Object) {
	for i := range apps {
		app := &apps[i]
		if app.Source.Repo != "" || app.Source.Kind != "" || len(app.Mounts) == 0 {
			continue
		}
		at := slices.IndexFunc(objects, func(o gitops.Object) bool { return o.ID == ObjectID(*app) })
		if at < 0 {
			continue
		}
		for n, parent := range apps {
			if n != i && parent.Source.Repo != "" && owns(parent, objects[at]) {
				path := app.Source.Path
				app.Source = parent.Source
				app.Source.Path = path
				break
			}
		}
	}
}

// owns says whether an object carries the Application's tracking mark.
func owns(app gitops.Application, o gitops.Object) bool {
	if key := app.Tracking.Annotation; key != "" {
		name, _, ok := strings.Cut(o.Annotations()[key], ":")
		if ok {
			return argocd.IsTrackingName(name, app.Namespace, app.Name)
		}
	}
	have := o.Labels()
	for key, want := range app.Tracking.Labels {
		if have[key] != want {
			return false
		}
	}
	return len(app.Tracking.Labels) > 0
}
