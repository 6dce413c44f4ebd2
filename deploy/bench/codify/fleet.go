package main

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/render"
)

// estate is a repository with its Applications.
type estate struct {
	repository
	tree gitops.Tree
	// fleet is everything that is deployed from the repository, as far as it tells; apps are those of it that
	// are tried.
	fleet []gitops.Application
	apps  []gitops.Application
	// skipped says of Applications why they are not tried.
	skipped []skip
}

type skip struct{ app, reason string }

// kubeVersion is what charts see of the cluster, in both renders.
const kubeVersion = "v1.34.1"

func newEstate(r repository, tree gitops.Tree) *estate {
	e := &estate{repository: r, tree: tree}
	declared, _ := engines.InTree(tree)
	for _, app := range declared {
		app = settled(tree, app)
		if app.Source.Repo != "" && !gitops.SameRepository(app.Source.Repo, r.URL) {
			e.skip(app, "its source is another repository: "+app.Source.Repo)
			continue
		}
		if app.Source.Repo != "" && !slices.Contains([]string{"", "HEAD", "main", "master"}, app.Source.Branch) {
			e.skip(app, "it follows another branch: "+app.Source.Branch)
			continue
		}
		if slices.ContainsFunc(app.Mounts, func(m gitops.Mount) bool { return !m.Known }) {
			// With a network it would be rendered; without, it would be in the way of every edit of its object.
			e.skip(app, "its chart or values come from elsewhere: it is left out of the Fleet too")
			continue
		}
		e.fleet = append(e.fleet, app)
		if !slices.ContainsFunc(r.Engines, func(folder string) bool { return within(app.Render.File, folder) }) {
			continue
		}
		switch {
		case app.Source.Kind != "GitRepository" && app.Source.Kind != "Git":
			e.skip(app, "its source is a "+app.Source.Kind)
		default:
			e.apps = append(e.apps, app)
		}
	}
	for _, dir := range roots(tree) {
		named := slices.ContainsFunc(e.fleet, func(a gitops.Application) bool { return path.Clean(a.Source.Path) == dir })
		if !named && slices.ContainsFunc(r.Roots, func(folder string) bool { return within(dir, folder) }) {
			e.add(gitops.Application{Name: dir, Source: gitops.Source{Path: dir}, Render: gitops.Render{Kustomize: &gitops.Kustomize{}}})
		}
	}
	for _, folder := range r.Plain {
		e.add(gitops.Application{Name: folder, Source: gitops.Source{Path: folder}})
	}
	for _, c := range r.Charts {
		e.add(chartApp(c))
	}
	return e
}

func (e *estate) skip(app gitops.Application, reason string) {
	e.skipped = append(e.skipped, skip{appName(app), reason})
}

func (e *estate) add(app gitops.Application) {
	app.Namespace, app.Engine, app.Kind = "bench", gitops.None, "Application"
	app.Source.Repo, app.Source.Kind = e.URL, "Git"
	e.fleet, e.apps = append(e.fleet, app), append(e.apps, app)
}

func chartApp(c namedChart) gitops.Application {
	name, namespace := c.Name, c.Namespace
	if name == "" {
		name = path.Base(c.Path)
	}
	if namespace == "" {
		namespace = "default"
	}
	helm := &gitops.Helm{ReleaseName: name, Namespace: namespace, KubeVersion: kubeVersion}
	for _, file := range c.Values {
		helm.Values = append(helm.Values, gitops.Values{File: file})
	}
	return gitops.Application{
		Name: "release/" + name, Source: gitops.Source{Path: c.Path},
		Render: gitops.Render{Namespace: namespace, Helm: helm},
	}
}

// settled settles how a folder is rendered that leaves it to its files, and what charts see of the cluster.
func settled(tree gitops.Tree, app gitops.Application) gitops.Application {
	has := func(name string) bool {
		_, ok := tree.Read(path.Join(app.Source.Path, name))
		return ok
	}
	if app.Render.Detect {
		app.Render.Detect = false
		switch {
		case slices.ContainsFunc(kustomizationFiles(), has):
			app.Render.Kustomize = &gitops.Kustomize{}
		case has("Chart.yaml"):
			app.Render.Helm = &gitops.Helm{ReleaseName: app.Name, Namespace: app.Render.Namespace}
		}
	}
	if h := app.Render.Helm; h != nil && h.KubeVersion == "" {
		helm := *h
		helm.KubeVersion = kubeVersion
		app.Render.Helm = &helm
	}
	return app
}

// appName tells the Applications of a repository apart.
func appName(app gitops.Application) string {
	name := app.Name
	if app.Kind != "Application" || app.Engine != gitops.None {
		name = app.Kind + "/" + app.Name
	}
	if app.Render.File != "" {
		name += "@" + app.Render.File
	}
	return name
}

// The kinds of source, as the report has them.
const (
	sourceRaw        = "raw manifests"
	sourceKustomize  = "kustomize"
	sourceFlux       = "Flux: patches, images, variables"
	sourceArgo       = "Argo CD: kustomize options"
	sourceHelmFiles  = "Helm: values files"
	sourceHelmFlux   = "Helm: HelmRelease"
	sourceHelmArgoCD = "Helm: Argo CD options"
)

// sourceKinds are all of them, in the order of the report.
func sourceKinds() []string {
	return []string{sourceRaw, sourceKustomize, sourceFlux, sourceArgo, sourceHelmFiles, sourceHelmFlux, sourceHelmArgoCD}
}

func sourceKind(app gitops.Application) string {
	k, h := app.Render.Kustomize, app.Render.Helm
	switch {
	case h != nil && app.Engine == gitops.Flux:
		return sourceHelmFlux
	case h != nil && app.Engine == gitops.ArgoCD:
		return sourceHelmArgoCD
	case h != nil:
		return sourceHelmFiles
	case k == nil:
		return sourceRaw
	case app.Engine == gitops.ArgoCD && (len(k.Images)+len(k.Replicas)+len(k.Patches) > 0 || k.NamePrefix != "" || k.Labels != nil || k.Annotations != nil):
		return sourceArgo
	case app.Engine == gitops.Flux && (len(k.Images)+len(k.Patches)+len(k.Components) > 0 || k.PostBuild != nil):
		return sourceFlux
	}
	return sourceKustomize
}

// helmSource says whether a kind of source is one of Helm's.
func helmSource(kind string) bool { return strings.HasPrefix(kind, "Helm") }

// kustomizationFiles are the names that kustomize reads.
func kustomizationFiles() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// roots gives the folders that kustomize can build and that no other kustomization refers to.
func roots(tree gitops.Tree) []string {
	all := render.Roots(tree)
	referred := map[string]bool{}
	for _, name := range tree.Paths("") {
		if !slices.Contains(kustomizationFiles(), path.Base(name)) {
			continue
		}
		for _, key := range []string{"resources", "bases", "components"} {
			for _, ref := range listOf(kustomizationAt(tree, name)[key]) {
				if text, ok := ref.(string); ok {
					referred[path.Join(path.Dir(name), text)] = true
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(dir string) bool { return referred[dir] })
}

func kustomizationAt(tree gitops.Tree, name string) map[string]any {
	data, _ := tree.Read(name)
	var out map[string]any
	_ = yaml.Unmarshal(data, &out) // what is broken refers to nothing; building it says what is wrong
	return out
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func textOf(v any) string {
	text, _ := v.(string)
	return text
}
