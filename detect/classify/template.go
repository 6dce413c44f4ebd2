package classify

import (
	"slices"
	"strings"

	"holdfast/gitops"
)

// ownsSuch says whether an owner may be there and may have made such an object. Of the built-in kinds only those of
// workloads make others, and these fit their template; nothing built in makes bindings, webhooks or policies. Custom
// resources may make anything, but for those of the engines, which set no owner.
func (f *Facts) ownsSuch(ref gitops.ObjectID, uid string, live gitops.Object) bool {
	owner, found, may := f.owner(ref, uid, live.ID.Namespace)
	kind := ref.GroupKind()
	switch {
	case !builtInGroup(ref.Group):
		return may && !ofEngine(kind)
	case live.ID.GroupKind() == (gitops.GroupKind{Kind: "Pod"}) && kind == (gitops.GroupKind{Kind: "Node"}):
		return may && mirrors(live, ref.Name)
	case !slices.Contains(workloadOwners(live.ID.GroupKind()), kind):
		return false
	case found:
		return may && (changing(owner) || f.fitsTemplate(live, owner))
	}
	return may || f.fitsTemplate(live, owner) // what is not there is not read either because it gives no hold on the node
}

// ofEngine tells the engines' own objects. Argo's Rollouts and Workflows share a group with Argo CD's.
func ofEngine(kind gitops.GroupKind) bool {
	return strings.HasSuffix(kind.Group, ".toolkit.fluxcd.io") ||
		kind.Group == "argoproj.io" && slices.Contains([]string{"Application", "ApplicationSet", "AppProject"}, kind.Kind)
}

// builtInGroup says whether an API group is one of Kubernetes itself.
func builtInGroup(group string) bool {
	return slices.Contains([]string{"", "apps", "batch", "autoscaling", "policy", "extensions", "admissionregistration.k8s.io",
		"apiextensions.k8s.io", "apiregistration.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io",
		"events.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
		"scheduling.k8s.io", "storage.k8s.io", "flowcontrol.apiserver.k8s.io"}, group)
}

// workloadOwners are the built-in kinds that make objects of a kind.
func workloadOwners(kind gitops.GroupKind) []gitops.GroupKind {
	switch kind {
	case gitops.GroupKind{Kind: "Pod"}:
		return []gitops.GroupKind{{Group: "apps", Kind: "ReplicaSet"}, {Group: "apps", Kind: "DaemonSet"}, {Group: "apps", Kind: "StatefulSet"},
			{Group: "batch", Kind: "Job"}, {Kind: "ReplicationController"}}
	case gitops.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		return []gitops.GroupKind{{Group: "apps", Kind: "Deployment"}}
	case gitops.GroupKind{Group: "batch", Kind: "Job"}:
		return []gitops.GroupKind{{Group: "batch", Kind: "CronJob"}}
	}
	return nil
}

// mirrors recognises the pod by which a kubelet shows a static one of its node: of a namespace of the control plane, and
// named after the node. Source: kubernetes/kubernetes pkg/kubelet/config/common.go.
func mirrors(live gitops.Object, node string) bool {
	control := strings.HasPrefix(live.ID.Namespace, "kube-") || strings.HasPrefix(live.ID.Namespace, "openshift-")
	_, marked := live.Annotations()["kubernetes.io/config.mirror"]
	at, scheduled := podSpec(live)["nodeName"]
	return control && marked && strings.HasSuffix(live.ID.Name, "-"+node) && (!scheduled || at == node)
}

// changing says whether a workload's objects may still be of an older template: while it rolls out, and where it leaves
// them until somebody deletes them.
func changing(owner gitops.Object) bool {
	spec, _ := owner.Content["spec"].(map[string]any)
	status, _ := owner.Content["status"].(map[string]any)
	for _, key := range []string{"strategy", "updateStrategy"} {
		if s, _ := spec[key].(map[string]any); s["type"] == "OnDelete" {
			return true
		}
	}
	metadata, _ := owner.Content["metadata"].(map[string]any)
	if seen, ok := gitops.Number(status["observedGeneration"]); ok {
		if now, ok := gitops.Number(metadata["generation"]); ok && now != seen {
			return true
		}
	}
	for updated, all := range map[string]string{"updatedReplicas": "replicas", "updatedNumberScheduled": "currentNumberScheduled"} {
		if n, ok := gitops.Number(status[all]); ok {
			if done, _ := gitops.Number(status[updated]); done < n {
				return true
			}
		}
	}
	return false
}

// fitsTemplate says whether an object has no hold on the node that its owner's template does not give it. What is scaled
// to nothing or has finished runs nothing. Admission may add capabilities and host paths, as service meshes do.
func (f *Facts) fitsTemplate(live, owner gitops.Object) bool {
	spec, _ := live.Content["spec"].(map[string]any)
	status, _ := live.Content["status"].(map[string]any)
	if count, ok := gitops.Number(spec["replicas"]); ok && count == 0 && live.ID.Kind == "ReplicaSet" || status["completionTime"] != nil {
		return true
	}
	given := nodeHolds(podSpec(owner))
	for hold := range nodeHolds(podSpec(live)) {
		injected := strings.HasPrefix(hold, "capability ") || strings.HasPrefix(hold, "path ")
		if !given[hold] && !(injected && live.ID.Kind == "Pod" && f.Admission.Mutates(live) != "") {
			return false
		}
	}
	return true
}

// nodeHolds names what a pod may do to its node.
func nodeHolds(spec map[string]any) map[string]bool {
	holds := map[string]bool{}
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if spec[key] == true {
			holds[key] = true
		}
	}
	for _, v := range mappings(spec["volumes"]) {
		if path, ok := v["hostPath"].(map[string]any); ok {
			text, _ := path["path"].(string)
			holds["path "+text] = true
		}
	}
	for _, list := range containerLists() {
		for _, c := range mappings(spec[list]) {
			name, _ := c["name"].(string)
			security, _ := c["securityContext"].(map[string]any)
			if security["privileged"] == true {
				holds["privileged "+name] = true
			}
			capabilities, _ := security["capabilities"].(map[string]any)
			for _, capability := range texts(capabilities["add"]) {
				holds["capability "+name+" "+capability] = true
			}
		}
	}
	return holds
}
