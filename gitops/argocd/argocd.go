// Package argocd turns Argo CD's Applications into Applications: where their files come from, how they are
// rendered, what the controller says that it applied, when it corrects, and how its objects are told from
// others. Argo CD's own types are not used: small structs here name the fields that matter, and unknown ones
// are ignored, since newer versions add some.
//
// Sources: pkg/apis/application/v1alpha1/types.go, reposerver/repository/repository.go and
// controller/appcontroller.go of argoproj/argo-cd at 3.6, and its user guide.
package argocd

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/gitops"
)

// Group is the API group of Argo CD's own objects.
const Group = "argoproj.io"

// Kind is the kind of what becomes an Application.
const Kind = "Application"

// Annotations and labels that Argo CD reads or writes.
const (
	TrackingAnnotation     = "argocd.argoproj.io/tracking-id"
	InstallationAnnotation = "argocd.argoproj.io/installation-id"
	InstanceLabel          = "app.kubernetes.io/instance"

	skipReconcile = "argocd.argoproj.io/skip-reconcile"
	generatePaths = "argocd.argoproj.io/manifest-generate-paths"
	secretType    = "argocd.argoproj.io/secret-type"
)

// ConfigMap is the name of Argo CD's own settings; Namespace is where a stock install keeps them.
const (
	ConfigMap = "argocd-cm"
	Namespace = "argocd"
)

// Decode gives an Application for each Application of Argo CD among the objects of one cluster, in their
// order. The settings in argocd-cm, the AppProject and the cluster Secrets are looked for among the same
// objects; what is not there stays unknown.
func Decode(cluster string, objects []gitops.Object) ([]gitops.Application, []gitops.EngineProblem) {
	d := decoder{cluster: cluster, objects: objects}
	for _, o := range objects {
		if isApplication(o.ID) {
			d.application(o)
		}
	}
	return d.applications, d.problems
}

func isApplication(id gitops.ObjectID) bool { return id.Group == Group && id.Kind == Kind }

type decoder struct {
	cluster      string
	objects      []gitops.Object
	applications []gitops.Application
	problems     []gitops.EngineProblem
}

func (d *decoder) problem(id gitops.ObjectID, kind gitops.EngineProblemKind, blocks bool, format string, args ...any) {
	d.problems = append(d.problems, gitops.EngineProblem{Object: id, Kind: kind, Blocks: blocks, Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) application(o gitops.Object) {
	var a application
	if err := into(o, &a); err != nil {
		d.problem(o.ID, gitops.Undecodable, true, "%s: %v", o.APIVersion, err)
		return
	}
	settings := d.settings(a.Status.ControllerNamespace, o.ID)
	app := gitops.Application{
		Cluster: d.cluster, Namespace: o.ID.Namespace, Name: o.ID.Name, Engine: gitops.ArgoCD, Kind: Kind,
		Managers: []gitops.Manager{{Name: "argocd-controller"}, {Name: "argocd-application-controller", Operation: "Update"}},
		Tracking: settings.tracking(a.trackingName(o.ID)),
		Project:  a.Spec.Project,
		Interval: settings.interval,
		Ignore:   slices.Concat(a.ignore(), settings.ignore),
	}
	l := layout{decoder: d, id: o.ID, spec: a, sources: a.sources(), applied: a.applied()}
	if err := l.place(&app); err != nil {
		d.problem(o.ID, gitops.Unsupported, true, "%v", err)
	}
	a.state(&app)
	a.policy(&app)
	if settings.interval < 0 {
		app.Switches = append(app.Switches, "data.timeout.reconciliation of "+ConfigMap+": Git is not asked by itself")
	}
	app.Switches = slices.Concat(app.Switches, d.windows(a, o.ID), wideIgnores(app.Ignore))
	d.destination(a.Spec.Destination, o.ID)
	for _, owner := range a.Metadata.OwnerReferences {
		if owner.Kind == "ApplicationSet" {
			d.problem(o.ID, gitops.Generated, false, "the ApplicationSet %s makes it: what its spec says is edited there", owner.Name)
		}
	}
	if o := a.Status.OperationState; o != nil && o.Operation.Sync != nil && len(o.Operation.Sync.Manifests) > 0 {
		d.problem(l.id, gitops.OutsideRepository, false, "its last sync applied files of somebody's own machine (argocd app sync --local), not of Git")
	}
	if a.Spec.SourceHydrator != nil {
		d.problem(o.ID, gitops.Generated, false, "spec.sourceHydrator writes its files from %s: they are edited there", gitops.WithoutCredentials(a.Spec.SourceHydrator.DrySource.RepoURL))
	}
	d.applications = append(d.applications, app)
}

// into decodes an object's content. Errors name the field, never a value.
func into(o gitops.Object, target any) error {
	encoded, err := json.Marshal(o.Content)
	if err != nil {
		return err
	}
	return json.Unmarshal(encoded, target)
}
