// Package folder decodes holdfast/v1 Applications: folders of a repository that no engine object describes.
package folder

import (
	"fmt"
	"path"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/strictyaml"
)

// APIVersion and Kind of the document.
const (
	APIVersion = "holdfast/v1"
	Kind       = "Application"
)

type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace,omitempty"`
	} `json:"metadata"`
	Spec struct {
		Engine   string   `json:"engine,omitempty"`
		Managers []string `json:"managers,omitempty"`
		Repo     string   `json:"repo,omitempty"`
		Path     string   `json:"path,omitempty"`
		Branch   string   `json:"branch,omitempty"`
		// Namespace is the target for objects that name none.
		Namespace string `json:"namespace,omitempty"`
		Kustomize *struct {
			Substitute map[string]string `json:"substitute,omitempty"`
		} `json:"kustomize,omitempty"`
		Plain *struct {
			Recurse bool `json:"recurse,omitempty"`
		} `json:"plain,omitempty"`
		Tracking string `json:"tracking,omitempty"`
	} `json:"spec"`
}

// Is says whether an object is a holdfast/v1 Application.
func Is(o gitops.Object) bool { return o.APIVersion == APIVersion && o.ID.Kind == Kind }

// Decode reads the one document of a file. Unknown and repeated keys are refused, with their line. file is
// used in errors.
func Decode(file string, data []byte) (gitops.Application, error) {
	var d document
	if err := strictyaml.Decode(file, data, &d); err != nil {
		return gitops.Application{}, err
	}
	app, err := d.application()
	if err != nil {
		return app, fmt.Errorf("%s: %w", file, err)
	}
	return app, nil
}

func (d document) application() (gitops.Application, error) {
	app := gitops.Application{
		Namespace: d.Metadata.Namespace, Name: d.Metadata.Name, Kind: Kind, Ready: true,
		Source: gitops.Source{Repo: d.Spec.Repo, Path: path.Clean(d.Spec.Path), Branch: d.Spec.Branch, Kind: "Git"},
		Render: gitops.Render{Namespace: d.Spec.Namespace, Detect: d.Spec.Kustomize == nil && d.Spec.Plain == nil},
	}
	switch {
	case d.Metadata.Name == "":
		return app, fmt.Errorf("%s %s: metadata.name is missing", APIVersion, Kind)
	case d.Spec.Path == "":
		return app, fmt.Errorf("%s %s %s: spec.path is missing: name a folder or file of the repository, . for its root", APIVersion, Kind, app.Name)
	case path.IsAbs(d.Spec.Path) || app.Source.Path == ".." || strings.HasPrefix(app.Source.Path, "../"):
		return app, fmt.Errorf("%s %s %s: spec.path %q leaves the repository", APIVersion, Kind, app.Name, d.Spec.Path)
	case gitops.WithoutCredentials(d.Spec.Repo) != d.Spec.Repo:
		return app, fmt.Errorf("%s %s %s: spec.repo holds a user or password: put them under repositories, auth in holdfast.yaml", APIVersion, Kind, app.Name)
	case d.Spec.Kustomize != nil && d.Spec.Plain != nil:
		return app, fmt.Errorf("%s %s %s: spec.kustomize and spec.plain exclude each other", APIVersion, Kind, app.Name)
	}
	if d.Spec.Plain != nil {
		app.Render.Recurse = d.Spec.Plain.Recurse
	}
	if k := d.Spec.Kustomize; k != nil {
		app.Render.Kustomize = &gitops.Kustomize{}
		if k.Substitute != nil {
			app.Render.Kustomize.PostBuild = &gitops.PostBuild{Substitute: k.Substitute}
		}
	}
	return engine(app, d)
}

// engine sets whose writer names and marks hold. The names are those that the engines' code passes
// (fluxcd/kustomize-controller, argoproj/argo-cd common/common.go).
func engine(app gitops.Application, d document) (gitops.Application, error) {
	switch gitops.Engine(d.Spec.Engine) {
	case gitops.Flux:
		app.Engine = gitops.Flux
		app.Managers = []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}, {Name: "helm-controller"}}
		app.Tracking.Labels = map[string]string{
			"kustomize.toolkit.fluxcd.io/name": app.Name, "kustomize.toolkit.fluxcd.io/namespace": app.Namespace,
		}
		app.Tracking.Selector = "kustomize.toolkit.fluxcd.io/name"
	case gitops.ArgoCD:
		app.Engine = gitops.ArgoCD
		app.Managers = []gitops.Manager{{Name: "argocd-controller"}, {Name: "argocd-application-controller", Operation: "Update"}}
		switch d.Spec.Tracking {
		case "", "annotation":
			app.Tracking.Annotation = "argocd.argoproj.io/tracking-id"
		case "label":
			app.Tracking.Labels = map[string]string{"app.kubernetes.io/instance": app.Name}
		default:
			return app, fmt.Errorf("%s %s %s: spec.tracking %q: want annotation or label", APIVersion, Kind, app.Name, d.Spec.Tracking)
		}
	case gitops.None, "":
		app.Engine = gitops.None
		if len(d.Spec.Managers) == 0 {
			return app, fmt.Errorf("%s %s %s: spec.managers is missing: with engine none, list the field managers that apply from Git, such as [deployer]",
				APIVersion, Kind, app.Name)
		}
	default:
		return app, fmt.Errorf("%s %s %s: spec.engine %q: want none, flux or argocd", APIVersion, Kind, app.Name, d.Spec.Engine)
	}
	for _, name := range d.Spec.Managers {
		app.Managers = append(app.Managers, gitops.Manager{Name: name})
	}
	return app, nil
}
