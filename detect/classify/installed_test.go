package classify_test

import (
	"strings"
	"testing"

	"holdfast/detect/classify"
)

// TestWhatCloudsInstallIsQuietByItsContent judges what clouds and operators put into clusters, and what looks like it.
func TestWhatCloudsInstallIsQuietByItsContent(t *testing.T) {
	hook := func(name, metadata, client string) string {
		return "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: " + name + metadata + ", managedFields: [ENTRIES]}, webhooks: [{name: a, clientConfig: {" + client + "}}]}"
	}
	binding := func(kind, name, metadata, role, subjects string) string {
		return "{apiVersion: rbac.authorization.k8s.io/v1, kind: " + kind + ", metadata: {name: '" + name + "'" + metadata + ", managedFields: [ENTRIES]}, roleRef: {kind: ClusterRole, name: '" + role + "'}, subjects: [" + subjects + "]}"
	}
	daemon := func(name, metadata, image string) string {
		return "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: " + name + ", namespace: kube-system" + metadata + ", managedFields: [ENTRIES]}, spec: {template: {spec: {hostNetwork: true, containers: [{name: a, image: '" + image + "'}]}}}}"
	}
	const (
		fields = `"f:webhooks": {}, "f:subjects": {}, "f:roleRef": {}, "f:spec": {}`
		apply  = "kubectl-client-side-apply"
		addon  = ", labels: {addonmanager.kubernetes.io/mode: Reconcile}"
		olm    = ", labels: {olm.owner: o.v1, olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: ops}"
		norman = ", labels: {cattle.io/creator: norman}"
		child  = ", namespace: shop, labels: {hnc.x-k8s.io/inherited-from: parent}"
		sre    = "{kind: Group, name: sre}"
		alice  = "{kind: User, name: alice}"
		parent = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: sre, namespace: parent}, roleRef: {kind: ClusterRole, name: edit}, subjects: [{kind: Group, name: sre}]}"
	)
	tests := []struct {
		name, manager, object string
		quiet                 bool
	}{
		{"EKS's webhook beside the API server", apply, hook("pod-identity-webhook", "", "url: 'https://127.0.0.1:23443/mutate'"), true},
		{"its name elsewhere", apply, hook("pod-identity-webhook", "", "url: 'https://evil.example/mutate'"), false},
		{"a host that only begins like it", apply, hook("pod-identity-webhook", "", "url: 'https://127.0.0.1.evil.example/mutate'"), false},
		{"another name beside the API server", apply, hook("other", "", "url: 'https://127.0.0.1:23443/mutate'"), false},
		{"EKS's component", apply, binding("ClusterRoleBinding", "eks:addon-manager", "", "eks:addon-manager", "{kind: User, name: 'eks:addon-manager'}"), true},
		{"a person beside EKS's component", apply, binding("ClusterRoleBinding", "eks:addon-manager", "", "eks:addon-manager", "{kind: User, name: 'eks:addon-manager'}, "+alice), false},
		{"EKS's component as administrator", apply, binding("ClusterRoleBinding", "eks:addon-manager", "", "cluster-admin", "{kind: User, name: 'eks:addon-manager'}"), false},
		{"an add-on of EKS", "eks", daemon("ebs-csi-node", "", "x"), true},
		{"a DaemonSet of no add-on", "eks", daemon("miner", "", "x"), false},
		{"an add-on's name by kubectl", apply, daemon("ebs-csi-node", "", "x"), false},
		{"EKS's first network plugin", apply, daemon("aws-node", "", "602401143452.dkr.ecr.us-east-1.amazonaws.com/amazon-k8s-cni:v1.19"), true},
		{"another image in it", apply, daemon("aws-node", "", "evil/amazon-k8s-cni:v1.19"), false},

		{"GKE's webhook", "GCE", hook("warden-mutating.config.common-webhooks.networking.gke.io", "", "url: 'https://localhost:5443/webhook/warden-mutating'"), true},
		{"GKE's name elsewhere", "GCE", hook("warden-mutating.config.common-webhooks.networking.gke.io", "", "service: {name: s, namespace: evil}"), false},
		{"an add-on of GKE", "kube-addon-manager", daemon("pdcsi-node", addon, "x"), true},
		{"an add-on of GKE without its mark", "kube-addon-manager", daemon("pdcsi-node", "", "x"), false},

		{"AKS's webhook in the control plane", apply, hook("aks-node-mutating-webhook", ", labels: {kubernetes.azure.com/controlPlaneWebhook: Reconcile}", "url: 'https://ccp-webhook.x.svc.cluster.local.:8443/mutate-nodes'"), true},
		{"AKS's name elsewhere", apply, hook("aks-node-mutating-webhook", ", labels: {kubernetes.azure.com/controlPlaneWebhook: Reconcile}", "url: 'https://evil.example'"), false},

		{"OLM's binding for an operator", "olm", binding("ClusterRoleBinding", "o.v1-abc", olm, "o.v1-abc", "{kind: ServiceAccount, name: o, namespace: ops}"), true},
		{"OLM's binding for an account elsewhere", "olm", binding("ClusterRoleBinding", "o.v1-abc", olm, "o.v1-abc", "{kind: ServiceAccount, name: o, namespace: evil}"), false},
		{"OLM's binding as administrator", "olm", binding("ClusterRoleBinding", "o.v1-abc", olm, "cluster-admin", "{kind: ServiceAccount, name: o, namespace: ops}"), false},

		{"Rancher's member of a cluster", "rancher", binding("ClusterRoleBinding", "globaladmin-user-abc", norman, "cluster-admin", "{kind: User, name: user-abc}"), true},
		{"somebody whom Rancher does not name", "rancher", binding("ClusterRoleBinding", "globaladmin-user-abc", norman, "cluster-admin", alice), false},

		{"HNC's copy", "manager", binding("RoleBinding", "sre", child, "edit", sre), true},
		{"a copy of something else", "manager", binding("RoleBinding", "sre", child, "cluster-admin", sre), false},
		{"a copy for somebody else", "manager", binding("RoleBinding", "sre", child, "edit", alice), false},

		{"Datadog's webhook", "datadog-cluster-agent", hook("datadog-webhook", "", "service: {name: datadog-admission-controller, namespace: datadog}"), true},
		{"Datadog's webhook by another name", "manager", hook("datadog-webhook", "", "service: {name: datadog-admission-controller, namespace: datadog}"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			facts := around(t, parent)
			live := object(t, strings.ReplaceAll(tt.object, "ENTRIES", entry(tt.manager, "", "01", fields)))
			if cause, drift, _, reason := facts.Stray(classify.Subject{App: shop, Live: &live}); drift == tt.quiet {
				t.Errorf("%s, drift %v (%s)", cause, drift, reason)
			}
			edited := object(t, strings.ReplaceAll(tt.object, "ENTRIES", entry(tt.manager, "", "01", fields)+", "+entry("kubectl-edit", "", "20", fields)))
			if cause, drift, writer, reason := facts.Stray(classify.Subject{App: shop, Live: &edited}); !drift || writer.Manager != "kubectl-edit" {
				t.Errorf("edited since: %s, drift %v, by %v (%s)", cause, drift, writer, reason)
			}
		})
	}
}
