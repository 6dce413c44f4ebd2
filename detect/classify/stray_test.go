package classify_test

import (
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/gitops"
)

func TestAnEnginesNameExcusesABindingOnlyWithAMarkOfAnApplicationThatIsThere(t *testing.T) {
	const ownID = "guest:rbac.authorization.k8s.io/RoleBinding:shop/hand"
	kustomization := gitops.ObjectID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "flux-system", Name: "guest"}
	release := gitops.ObjectID{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: "flux-system", Name: "guest"}
	application := gitops.ObjectID{Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "guest"}
	flux := func(group, name string) map[string]any {
		return map[string]any{group + "/name": name, group + "/namespace": "flux-system"}
	}
	tests := []struct {
		name, manager       string
		labels, annotations map[string]any
		outside             []gitops.ObjectID
		quiet               bool
	}{
		{name: "a Kustomization that is there", manager: "kustomize-controller", labels: flux(kustomization.Group, "guest"), outside: []gitops.ObjectID{kustomization}, quiet: true},
		{name: "a Kustomization that is not there", manager: "kustomize-controller", labels: flux(kustomization.Group, "ghost"), outside: []gitops.ObjectID{kustomization}},
		{name: "no engine's object is known", manager: "kustomize-controller", labels: flux(kustomization.Group, "guest")},
		{name: "the label of a chart under Flux's name", manager: "kustomize-controller", labels: map[string]any{"app.kubernetes.io/instance": "guest"}, outside: []gitops.ObjectID{kustomization, release, application}},
		{name: "the mark of another controller of Flux", manager: "kustomize-controller", labels: flux(release.Group, "guest"), outside: []gitops.ObjectID{release}},
		{name: "a HelmRelease that is there", manager: "helm-controller", labels: flux(release.Group, "guest"), outside: []gitops.ObjectID{release}, quiet: true},
		{name: "the label of a chart under Helm's controller", manager: "helm-controller", labels: map[string]any{"app.kubernetes.io/instance": "guest"}, outside: []gitops.ObjectID{release}},
		{name: "Argo CD's name alone", manager: "argocd-controller", outside: []gitops.ObjectID{application}},
		{name: "Argo CD's annotation", manager: "argocd-controller", annotations: map[string]any{"argocd.argoproj.io/tracking-id": ownID}, outside: []gitops.ObjectID{application}, quiet: true},
		{name: "Argo CD's annotation with the namespace", manager: "argocd-controller", annotations: map[string]any{"argocd.argoproj.io/tracking-id": "argocd_" + ownID}, outside: []gitops.ObjectID{application}, quiet: true},
		{name: "Argo CD's annotation of another object", manager: "argocd-controller", annotations: map[string]any{"argocd.argoproj.io/tracking-id": "guest:apps/Deployment:shop/web"}, outside: []gitops.ObjectID{application}},
		{name: "Argo CD's annotation of an Application that is not there", manager: "argocd-controller", annotations: map[string]any{"argocd.argoproj.io/tracking-id": ownID}, outside: []gitops.ObjectID{kustomization}},
		{name: "Argo CD's label", manager: "argocd-controller", labels: map[string]any{"app.kubernetes.io/instance": "guest"}, outside: []gitops.ObjectID{application}, quiet: true},
		{name: "a label of an Application that is not there", manager: "argocd-controller", labels: map[string]any{"app.kubernetes.io/instance": "ghost"}, outside: []gitops.ObjectID{application}},
		{name: "an engine whose objects are not read", manager: "configsync.gke.io", annotations: map[string]any{"configsync.gke.io/resource-id": "x"}},
	}
	rules, err := classify.LoadRules()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			facts := classify.NewFacts(nil, rules)
			facts.Outside = map[gitops.ObjectID]bool{}
			for _, id := range tt.outside {
				facts.Outside[id] = true
			}
			made := []any{map[string]any{"manager": tt.manager, "operation": "Apply", "time": time.Unix(0, 0).UTC().Format(time.RFC3339), "fieldsV1": map[string]any{"f:roleRef": map[string]any{}}}}
			binding := gitops.Object{
				ID: gitops.ObjectID{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding", Namespace: "shop", Name: "hand"},
				Content: map[string]any{"metadata": map[string]any{
					"name": "hand", "namespace": "shop", "labels": tt.labels, "annotations": tt.annotations, "managedFields": made,
				}},
			}
			want := detect.CauseUnknown
			if tt.quiet {
				want = detect.CauseController
			}
			cause, drift, _, reason := facts.Stray(classify.Subject{App: gitops.Application{Engine: gitops.Flux, Name: "shop", Namespace: "flux-system"}, Live: &binding})
			if cause != want || drift == tt.quiet {
				t.Errorf("%s, drift %v (%s); want %s, drift %v", cause, drift, reason, want, !tt.quiet)
			}
		})
	}
}
