package live

import (
	"fmt"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/argocd"
)

// wantSettings adds what the listed engine objects, and the given ones, refer to: Argo CD's settings, and the ConfigMaps and Secrets
// that variables and values come from. Nothing fails without them: what depends on them is then unknown.
func (r *reader) wantSettings() {
	var all []gitops.ObjectID
	for _, o := range slices.AppendSeq(slices.Clone(r.cluster.given), r.objects.All()) {
		spec, _ := o.Content["spec"].(map[string]any)
		switch o.ID.GroupKind() {
		case gitops.GroupKind{Group: "argoproj.io", Kind: "Application"}:
			for _, namespace := range []string{o.ID.Namespace, argocd.Namespace} {
				all = append(all, gitops.ObjectID{Kind: "ConfigMap", Namespace: namespace, Name: argocd.ConfigMap})
			}
		case gitops.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}:
			postBuild, _ := spec["postBuild"].(map[string]any)
			all = append(all, references(o.ID.Namespace, postBuild["substituteFrom"])...)
		case gitops.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}:
			all = append(all, references(o.ID.Namespace, spec["valuesFrom"])...)
		}
	}
	for _, id := range all {
		r.want(id, false)
	}
}

// references reads a list of {kind, name} of ConfigMaps and Secrets in a namespace.
func references(namespace string, list any) []gitops.ObjectID {
	var out []gitops.ObjectID
	entries, _ := list.([]any)
	for _, entry := range entries {
		e, _ := entry.(map[string]any)
		kind, _ := e["kind"].(string)
		name, _ := e["name"].(string)
		if (kind == "ConfigMap" || kind == "Secret") && name != "" {
			out = append(out, gitops.ObjectID{Kind: kind, Namespace: namespace, Name: name})
		}
	}
	return out
}

// unreadSettings says that Argo CD's settings could not be read.
func unreadSettings(unread []Unread) []string {
	var out []string
	for _, u := range unread {
		if u.Kind == "ConfigMap" && u.Group == "" && (u.Name == argocd.ConfigMap || u.Name == "" && u.Namespace == argocd.Namespace) {
			out = append(out, fmt.Sprintf("Argo CD's settings in %s/%s cannot be read (%s): its ignore rules for all Applications and its way of tracking are not known",
				u.Namespace, argocd.ConfigMap, u.Reason))
		}
	}
	return out
}
