package render

import (
	"fmt"
	"strings"

	"holdfast/gitops"
)

// settle gives each object its effective namespace, and keeps the later of two objects that are the same
// one.
func settle(result *Result, namespace string, asked func(gitops.GroupKind) (namespaced, known bool)) {
	scope := scopes(result.Objects, asked)
	effective := func(id gitops.ObjectID) gitops.ObjectID {
		if namespaced, _ := scope(id.GroupKind()); !namespaced {
			id.Namespace = ""
		} else if id.Namespace == "" {
			id.Namespace = namespace
		}
		return id
	}
	for i := range result.Hooks {
		result.Hooks[i].ID = effective(result.Hooks[i].ID)
	}
	index := make(map[gitops.ObjectID]int, len(result.Objects))
	kept := result.Objects[:0]
	for _, o := range result.Objects {
		written := o.ID
		result.note(written, substituted{unsure: encrypted(o.Content)})
		o.ID = effective(written)
		move(result.Unsure, written, o.ID)
		move(result.Secret, written, o.ID)
		move(result.Unstable, written, o.ID)
		if at, twice := index[o.ID]; twice {
			result.Problems = append(result.Problems, Problem{
				File: o.Origin.File, Document: o.Origin.Document, Kind: DuplicateObject, Object: o.ID,
				Message: fmt.Sprintf("%s is declared here and in %s; this one counts", o.ID, place(kept[at].Origin)),
			})
			kept[at] = o
			continue
		}
		index[o.ID] = len(kept)
		kept = append(kept, o)
	}
	clear(result.Objects[len(kept):])
	result.Objects = kept
}

func move(fields map[gitops.ObjectID][]gitops.Path, from, to gitops.ObjectID) {
	if paths, ok := fields[from]; ok && from != to {
		delete(fields, from)
		fields[to] = paths
	}
}

func place(o gitops.Origin) string {
	if o.File == "" {
		return "a generator"
	}
	return fmt.Sprintf("%s, document %d", o.File, o.Document)
}

// scopes answers for a kind: the cluster's own word first, then CRDs among the objects, then the table of
// built-in kinds. Unknown kinds are taken as namespaced.
func scopes(objects []gitops.Declared, asked func(gitops.GroupKind) (bool, bool)) func(gitops.GroupKind) (namespaced, known bool) {
	crds := map[gitops.GroupKind]bool{}
	for _, o := range objects {
		if o.ID.Group != "apiextensions.k8s.io" || o.ID.Kind != "CustomResourceDefinition" {
			continue
		}
		group := gitops.Lookup(o.Content, gitops.Path{gitops.Field("spec"), gitops.Field("group")}).V
		kind := gitops.Lookup(o.Content, gitops.Path{gitops.Field("spec"), gitops.Field("names"), gitops.Field("kind")}).V
		scope := gitops.Lookup(o.Content, gitops.Path{gitops.Field("spec"), gitops.Field("scope")}).V
		g, _ := group.(string)
		k, _ := kind.(string)
		crds[gitops.GroupKind{Group: g, Kind: k}] = scope != "Cluster"
	}
	return func(gk gitops.GroupKind) (bool, bool) {
		if asked != nil {
			if namespaced, known := asked(gk); known {
				return namespaced, true
			}
		}
		if namespaced, known := crds[gk]; known {
			return namespaced, true
		}
		if namespaced, known := BuiltinScope(gk); known {
			return namespaced, true
		}
		return true, false
	}
}

// BuiltinScope says whether a kind that every cluster serves is namespaced. Groups and scopes are those
// of the Kubernetes API reference, removed beta kinds included, since old manifests still name them.
func BuiltinScope(gk gitops.GroupKind) (namespaced, known bool) {
	kinds, ok := builtinKinds(gk.Group)
	if !ok {
		return false, false
	}
	for _, k := range strings.Fields(kinds.cluster) {
		if k == gk.Kind {
			return false, true
		}
	}
	for _, k := range strings.Fields(kinds.namespaced) {
		if k == gk.Kind {
			return true, true
		}
	}
	return false, false
}

type builtin struct{ cluster, namespaced string }

func builtinKinds(group string) (builtin, bool) {
	switch group {
	case "":
		return builtin{
			cluster: "Namespace Node PersistentVolume ComponentStatus",
			namespaced: "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate " +
				"ReplicationController ResourceQuota Secret Service ServiceAccount",
		}, true
	case "apps":
		return builtin{namespaced: "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"}, true
	case "batch":
		return builtin{namespaced: "CronJob Job"}, true
	case "autoscaling":
		return builtin{namespaced: "HorizontalPodAutoscaler Scale"}, true
	case "policy":
		return builtin{cluster: "PodSecurityPolicy", namespaced: "PodDisruptionBudget Eviction"}, true
	case "networking.k8s.io":
		return builtin{cluster: "IngressClass IPAddress ServiceCIDR", namespaced: "Ingress NetworkPolicy"}, true
	case "extensions":
		return builtin{cluster: "PodSecurityPolicy", namespaced: "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet"}, true
	case "rbac.authorization.k8s.io":
		return builtin{cluster: "ClusterRole ClusterRoleBinding", namespaced: "Role RoleBinding"}, true
	case "storage.k8s.io":
		return builtin{cluster: "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass", namespaced: "CSIStorageCapacity"}, true
	case "storagemigration.k8s.io":
		return builtin{cluster: "StorageVersionMigration"}, true
	case "scheduling.k8s.io":
		return builtin{cluster: "PriorityClass", namespaced: "Workload PodGroup"}, true
	case "node.k8s.io":
		return builtin{cluster: "RuntimeClass"}, true
	case "coordination.k8s.io":
		return builtin{namespaced: "Lease LeaseCandidate"}, true
	case "discovery.k8s.io":
		return builtin{namespaced: "EndpointSlice"}, true
	case "events.k8s.io":
		return builtin{namespaced: "Event"}, true
	case "certificates.k8s.io":
		return builtin{cluster: "CertificateSigningRequest ClusterTrustBundle", namespaced: "PodCertificateRequest"}, true
	case "admissionregistration.k8s.io":
		return builtin{cluster: "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration " +
			"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"}, true
	case "apiextensions.k8s.io":
		return builtin{cluster: "CustomResourceDefinition"}, true
	case "apiregistration.k8s.io":
		return builtin{cluster: "APIService"}, true
	case "flowcontrol.apiserver.k8s.io":
		return builtin{cluster: "FlowSchema PriorityLevelConfiguration"}, true
	case "internal.apiserver.k8s.io":
		return builtin{cluster: "StorageVersion"}, true
	case "authentication.k8s.io":
		return builtin{cluster: "SelfSubjectReview TokenReview", namespaced: "TokenRequest"}, true
	case "authorization.k8s.io":
		return builtin{cluster: "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview", namespaced: "LocalSubjectAccessReview"}, true
	case "resource.k8s.io":
		return builtin{cluster: "DeviceClass DeviceTaintRule ResourceSlice", namespaced: "ResourceClaim ResourceClaimTemplate"}, true
	}
	return builtin{}, false
}
