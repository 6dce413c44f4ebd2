package classify

import (
	"fmt"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/argocd"
	"holdfast/gitops/flux"
)

// engineClaim is what a live object's marks say of the engine's object that delivers it.
type engineClaim struct {
	// mark is the mark as it stands on the object: key: value.
	mark string
	// names says whether the mark names one of the engines' own objects.
	names func(gitops.ObjectID) bool
}

// claimOf reads the mark that the engine behind a field manager's name sets on what it applies; the marks of other
// engines say nothing. False where there is none, and for engines whose own objects are not read.
func claimOf(live gitops.Object, manager string, app gitops.Application) (engineClaim, bool) {
	switch manager {
	case flux.Manager:
		return fluxClaim(live, gitops.GroupKind{Group: flux.KustomizeGroup, Kind: "Kustomization"})
	case "helm-controller":
		return fluxClaim(live, gitops.GroupKind{Group: flux.HelmGroup, Kind: "HelmRelease"})
	case "argocd-controller", "argocd-application-controller", "argocd-applicationset-controller":
		return argoClaim(live, app)
	}
	return engineClaim{}, false
}

// fluxClaim reads the labels that Flux sets whatever its settings. Source: fluxcd/kustomize-controller
// internal/controller/kustomization_controller.go, fluxcd/helm-controller internal/postrender/labels.go.
func fluxClaim(live gitops.Object, kind gitops.GroupKind) (engineClaim, bool) {
	name, ok := live.Labels()[kind.Group+"/name"]
	namespace := live.Labels()[kind.Group+"/namespace"]
	want := gitops.ObjectID{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: name}
	return engineClaim{
		mark:  kind.Group + "/name: " + name,
		names: func(id gitops.ObjectID) bool { return id == want },
	}, ok
}

// argoClaim reads Argo CD's annotation, which must name this very object, else its label.
func argoClaim(live gitops.Object, app gitops.Application) (engineClaim, bool) {
	claim := func(key, value, name string) engineClaim {
		return engineClaim{mark: key + ": " + value, names: func(id gitops.ObjectID) bool {
			return id.Group == argocd.Group && id.Kind == argocd.Kind && argocd.IsTrackingName(name, id.Namespace, id.Name)
		}}
	}
	if value, ok := live.Annotations()[argoTrackingKey]; ok {
		name, rest, _ := strings.Cut(value, ":")
		if !namesObject(rest, live.ID) {
			name = ""
		}
		return claim(argoTrackingKey, value, name), true
	}
	keys := []string{"app.kubernetes.io/instance"}
	if app.Engine == gitops.ArgoCD {
		keys = append(sortedKeys(app.Tracking.Labels), keys...)
	}
	for _, key := range keys {
		if value, ok := live.Labels()[key]; ok {
			return claim(key, value, value), true
		}
	}
	return engineClaim{}, false
}

// deliveredElsewhere says whether the mark of the engine behind a manager's name names an Application that is there
// and not scanned, and how the answer reads. What a scanned Application delivers is tracked by it, so that a stray's
// mark that names a scanned one is borrowed.
func (f *Facts) deliveredElsewhere(live gitops.Object, manager string, app gitops.Application) (bool, string) {
	claim, ok := claimOf(live, manager, app)
	if !ok {
		return false, fmt.Sprintf("It carries the name %s and no mark of this engine that can be checked: the name may be borrowed, or the mark was taken off.", manager)
	}
	for id := range f.Outside {
		if claim.names(id) {
			return true, fmt.Sprintf("%s made it for %s, which is not scanned here (%s).", manager, id, claim.mark)
		}
	}
	return false, fmt.Sprintf("It carries the name %s and the mark %s, which names no Application that is known here besides those scanned, and those do not track it: name and mark may be borrowed.", manager, claim.mark)
}
