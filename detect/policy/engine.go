package policy

import (
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
)

// EngineRemoves says whether an engine takes an undeclared field away by itself on its next apply.
//
// Flux's kustomize-controller adopts, before it applies, the field sets of managers whose name starts
// with kubectl, of before-first-apply and of its own Update entry, where the entry has no subresource;
// what Git then does not declare goes. Other managers' additions stay, and so do fields without an owner.
// Flux's helm-controller and Argo CD put declared fields back only; Argo CD's Replace=true does remove, and
// everything else that others own with it. Seen on kustomize-controller 1.9.6 and Argo CD 2.14.21.
// An object that only lives on the cluster is not removed by any: what an engine prunes is what it
// applied itself.
func EngineRemoves(app gitops.Application, finding detect.Finding, field *detect.Field) bool {
	if app.Kind == "HelmRelease" || app.Suspended || field == nil || finding.Presence != detect.Both || field.Git.Set {
		return false
	}
	switch app.Engine {
	case gitops.ArgoCD:
		return app.Correction != gitops.ByHand && slices.Contains(app.Options, "Replace=true")
	case gitops.Flux:
		return field.Writer != nil && fluxAdopts(*field.Writer)
	}
	return false
}

// fluxAdopts says whether kustomize-controller takes over what a writer wrote (fluxcd/pkg, ssa).
func fluxAdopts(w detect.Writer) bool {
	switch {
	case w.Subresource != "":
		return false
	case strings.HasPrefix(w.Manager, "kubectl"):
		return true
	case w.Manager == "before-first-apply", w.Manager == "kustomize-controller":
		return w.Operation == "Update"
	}
	return false
}

// EngineUndoes says whether an engine undoes the drift of one field when it next applies; where it does not, why,
// as the rest of a sentence. Declared fields come back, with one exception: Flux drops empty values from what
// it applies, so an empty list or text that Git declares (deny all, in a NetworkPolicy) comes back only where
// Flux takes the field over from its writer (seen on kustomize-controller 1.9.6).
func EngineUndoes(app gitops.Application, finding detect.Finding, field *detect.Field) (ok bool, why string) {
	if !field.Git.Set {
		switch {
		case EngineRemoves(app, finding, field):
			return true, ""
		case app.Engine == gitops.ArgoCD:
			return false, "Argo CD puts back what Git declares and leaves additions alone; remove it, or sync once with Replace=true, which removes what every other manager owns too"
		case app.Kind == "HelmRelease":
			return false, "an upgrade puts back what the chart declares and leaves additions alone; remove it"
		case app.Engine == gitops.Flux:
			return false, "Flux takes over additions of kubectl's managers only; remove it, or start kustomize-controller with --override-manager"
		}
		return false, "no engine removes it"
	}
	if app.Engine == gitops.Flux && app.Kind == "Kustomization" && empty(field.Git.V) && !mapEntry(field.Path) && (field.Writer == nil || !fluxAdopts(*field.Writer)) {
		return false, "Flux drops empty values from what it applies, so it does not see this one; remove the live value"
	}
	return true, ""
}

// empty says whether a value is one that a Go struct with omitempty leaves out.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

// mapEntry says whether a path leads into a mapping of texts, whose empty values stay.
func mapEntry(path gitops.Path) bool {
	if len(path) < 2 {
		return false
	}
	switch path[len(path)-2].Field {
	case "data", "stringData", "binaryData", "labels", "annotations", "matchLabels", "nodeSelector", "selector":
		return true
	}
	return false
}
