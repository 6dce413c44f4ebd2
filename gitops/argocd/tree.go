package argocd

import (
	"holdfast/gitops"
	"holdfast/gitops/render"
)

// InTree gives an Application for each Application of Argo CD that stands in a YAML file of a repository, with
// Render.File and Document saying where. Objects are taken as written: what a kustomization around them changes
// is not seen. Cluster is empty, and so is Namespace where the file has none. What an ApplicationSet would make
// is not there.
func InTree(tree gitops.Tree) ([]gitops.Application, []gitops.EngineProblem) {
	objects, problems := render.Naming(tree, Group)
	var applications []gitops.Application
	for _, o := range objects {
		if !isApplication(o.ID) {
			continue
		}
		d := decoder{}
		d.application(o.Object)
		for _, app := range d.applications {
			if app.Source.Path == "" {
				continue // none of its sources is known here: a patch of one, as a rule
			}
			app.Render.File, app.Render.Document = o.Origin.File, o.Origin.Document
			applications = append(applications, app)
		}
		for _, p := range d.problems {
			p.File, p.Document = o.Origin.File, o.Origin.Document
			problems = append(problems, p)
		}
	}
	return applications, problems
}
