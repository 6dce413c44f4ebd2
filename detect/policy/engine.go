package policy

import (
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
)

// EngineRemoves says whether an engine takes an undeclared field away by itself on its next apply.
//
// Flux's kustomize-controller adopts, before it applies, the field sets of managers whose name starts
// with kubectl, of before-first-apply and of its own Update entry, where the entry has no subresource;
// what Git then does not declare goes. Other managers' additions stay, and so do fields without an owner.
// Flux's helm-controller and Argo CD put declared fields back only (seen on kustomize-controller 1.9.6
// and Argo CD 2.14.21; Argo CD's Replace=true does remove, and everything else that others own with it).
// An object that only lives on the cluster is not removed by any: what an engine prunes is what it
// applied itself.
func EngineRemoves(app gitops.Application, finding detect.Finding, field *detect.Field) bool {
	if app.Engine != gitops.Flux || app.Kind == "HelmRelease" || app.Suspended {
		return false
	}
	if field == nil || finding.Presence != detect.Both || field.Git.Set || field.Writer == nil {
		return false
	}
	w := field.Writer
	if w.Subresource != "" {
		return false
	}
	switch {
	case strings.HasPrefix(w.Manager, "kubectl"):
		return true
	case w.Manager == "before-first-apply", w.Manager == "kustomize-controller":
		return w.Operation == "Update"
	}
	return false
}
