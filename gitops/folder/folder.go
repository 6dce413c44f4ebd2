// Package folder decodes holdfast/v1 Applications: folders of a repository that no engine object describes.
package folder

import (
	"cmp"
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

// DefaultNamespace is where kubectl puts what names no namespace, unless it is told otherwise.
const DefaultNamespace = "default"

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
		// Namespace is the target for objects that name none. By default it is that of the Application.
		Namespace string `json:"namespace,omitempty"`
		Kustomize *struct {
			Substitute map[string]string `json:"substitute,omitempty"`
		} `json:"kustomize,omitempty"`
		Helm  *helm `json:"helm,omitempty"`
		Plain *struct {
			Recurse bool `json:"recurse,omitempty"`
		} `json:"plain,omitempty"`
		Tracking string `json:"tracking,omitempty"`
	} `json:"spec"`
}

// helm is spec.helm. Value files are paths in the repository, from its root like spec.path; the later ones win, and
// values over all of them.
type helm struct {
	ReleaseName string         `json:"releaseName,omitempty"`
	Namespace   string         `json:"namespace,omitempty"`
	ValueFiles  []string       `json:"valueFiles,omitempty"`
	Values      map[string]any `json:"values,omitempty"`
	KubeVersion string         `json:"kubeVersion,omitempty"`
	APIVersions []string       `json:"apiVersions,omitempty"`
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
		Render: gitops.Render{Namespace: cmp.Or(d.Spec.Namespace, d.Metadata.Namespace, DefaultNamespace), NamespaceAssumed: d.Spec.Namespace == "", Detect: d.Spec.Kustomize == nil && d.Spec.Plain == nil && d.Spec.Helm == nil},
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
	case several(d.Spec.Kustomize != nil, d.Spec.Plain != nil, d.Spec.Helm != nil):
		return app, fmt.Errorf("%s %s %s: spec.kustomize, spec.helm and spec.plain exclude each other", APIVersion, Kind, app.Name)
	}
	if d.Spec.Helm != nil {
		if err := d.helm(&app); err != nil {
			return app, fmt.Errorf("%s %s %s: %w", APIVersion, Kind, app.Name, err)
		}
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

func several(given ...bool) bool {
	n := 0
	for _, g := range given {
		if g {
			n++
		}
	}
	return n > 1
}

// helm decodes spec.helm. The release is named like the Application, and lies where its objects do, unless it says
// otherwise.
func (d document) helm(app *gitops.Application) error {
	h := d.Spec.Helm
	out := &gitops.Helm{
		ReleaseName: cmp.Or(h.ReleaseName, app.Name), Namespace: cmp.Or(h.Namespace, app.Render.Namespace),
		KubeVersion: h.KubeVersion, APIVersions: h.APIVersions,
	}
	if h.Namespace != "" && d.Spec.Namespace != "" && h.Namespace != d.Spec.Namespace {
		return fmt.Errorf("spec.namespace is %s and spec.helm.namespace %s: a release has one namespace", d.Spec.Namespace, h.Namespace)
	}
	for i, file := range h.ValueFiles {
		clean := path.Clean(file)
		if file == "" || path.IsAbs(file) || strings.Contains(file, "://") || clean == ".." || strings.HasPrefix(clean, "../") {
			return fmt.Errorf("spec.helm.valueFiles[%d] %q: want a path in the repository, from its root", i, file)
		}
		out.Values = append(out.Values, gitops.Values{File: clean})
	}
	if h.Values != nil {
		out.Values = append(out.Values, gitops.Values{
			Inline: h.Values, At: gitops.Path{gitops.Field("spec"), gitops.Field("helm"), gitops.Field("values")},
		})
	}
	app.Render.Helm, app.Render.Namespace = out, out.Namespace
	app.Render.NamespaceAssumed = app.Render.NamespaceAssumed && h.Namespace == ""
	return nil
}

// engine sets whose writer names and marks hold. The names are those that the engines' code passes
// (fluxcd/kustomize-controller, argoproj/argo-cd common/common.go).
func engine(app gitops.Application, d document) (gitops.Application, error) {
	switch gitops.Engine(d.Spec.Engine) {
	case gitops.Flux:
		app.Engine = gitops.Flux
		app.Managers = []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}, {Name: "helm-controller"}}
		group := "kustomize.toolkit.fluxcd.io"
		if app.Render.Helm != nil {
			group = "helm.toolkit.fluxcd.io"
		}
		app.Tracking.Labels = map[string]string{group + "/name": app.Name, group + "/namespace": app.Namespace}
		app.Tracking.Selector = group + "/name"
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
