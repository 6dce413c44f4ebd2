package gitops

import (
	"slices"
	"strings"
)

// BuiltinNamespaced tells the scope of the kinds that Kubernetes itself serves (1.36, and older ones that
// manifests still name) and of the engines' own kinds. known is false for every other kind.
// Source: the API reference of Kubernetes, the CustomResourceDefinitions of Flux and Argo CD.
func BuiltinNamespaced(kind GroupKind) (namespaced, known bool) {
	switch kind.Group {
	case "":
		return scope(kind.Kind, coreNamespaced, coreCluster)
	case "apps":
		return scope(kind.Kind, "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", "")
	case "batch":
		return scope(kind.Kind, "CronJob Job", "")
	case "autoscaling":
		return scope(kind.Kind, "HorizontalPodAutoscaler", "")
	case "policy":
		return scope(kind.Kind, "PodDisruptionBudget", "PodSecurityPolicy")
	case "networking.k8s.io":
		return scope(kind.Kind, "Ingress NetworkPolicy", "IngressClass IPAddress ServiceCIDR")
	case "rbac.authorization.k8s.io":
		return scope(kind.Kind, "Role RoleBinding", "ClusterRole ClusterRoleBinding")
	case "storage.k8s.io":
		return scope(kind.Kind, "CSIStorageCapacity",
			"CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass")
	case "admissionregistration.k8s.io":
		return scope(kind.Kind, "", "MutatingWebhookConfiguration ValidatingWebhookConfiguration"+
			" ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"+
			" MutatingAdmissionPolicy MutatingAdmissionPolicyBinding")
	case "apiextensions.k8s.io":
		return scope(kind.Kind, "", "CustomResourceDefinition")
	case "apiregistration.k8s.io":
		return scope(kind.Kind, "", "APIService")
	case "scheduling.k8s.io":
		return scope(kind.Kind, "PodGroup Workload", "PriorityClass")
	case "node.k8s.io":
		return scope(kind.Kind, "", "RuntimeClass")
	case "certificates.k8s.io":
		return scope(kind.Kind, "PodCertificateRequest", "CertificateSigningRequest ClusterTrustBundle")
	case "coordination.k8s.io":
		return scope(kind.Kind, "Lease LeaseCandidate", "")
	case "discovery.k8s.io":
		return scope(kind.Kind, "EndpointSlice", "")
	case "events.k8s.io":
		return scope(kind.Kind, "Event", "")
	case "flowcontrol.apiserver.k8s.io":
		return scope(kind.Kind, "", "FlowSchema PriorityLevelConfiguration")
	case "resource.k8s.io":
		return scope(kind.Kind, "ResourceClaim ResourceClaimTemplate", "DeviceClass DeviceTaintRule ResourceSlice")
	case "storagemigration.k8s.io":
		return scope(kind.Kind, "", "StorageVersionMigration")
	case "internal.apiserver.k8s.io":
		return scope(kind.Kind, "", "StorageVersion")
	case "kustomize.toolkit.fluxcd.io":
		return scope(kind.Kind, "Kustomization", "")
	case "helm.toolkit.fluxcd.io":
		return scope(kind.Kind, "HelmRelease", "")
	case "source.toolkit.fluxcd.io":
		return scope(kind.Kind, "Bucket ExternalArtifact GitRepository HelmChart HelmRepository OCIRepository", "")
	case "notification.toolkit.fluxcd.io":
		return scope(kind.Kind, "Alert Provider Receiver", "")
	case "image.toolkit.fluxcd.io":
		return scope(kind.Kind, "ImagePolicy ImageRepository ImageUpdateAutomation", "")
	case "argoproj.io":
		return scope(kind.Kind, "Application ApplicationSet AppProject", "")
	}
	return false, false
}

const (
	coreNamespaced = "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate" +
		" ReplicationController ResourceQuota Secret Service ServiceAccount"
	coreCluster = "ComponentStatus Namespace Node PersistentVolume"
)

// scope looks a kind up in two lists of names parted by spaces.
func scope(kind, namespaced, cluster string) (isNamespaced, known bool) {
	switch {
	case slices.Contains(strings.Fields(namespaced), kind):
		return true, true
	case slices.Contains(strings.Fields(cluster), kind):
		return false, true
	}
	return false, false
}
