package access

import (
	"slices"
	"strings"
)

// Way is how somebody becomes somebody else, or changes objects without a right on them.
type Way string

// The ways. Source: https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
const (
	ImpersonateUser    Way = "impersonates users"
	ImpersonateGroup   Way = "impersonates groups"
	ImpersonateAccount Way = "impersonates service accounts"
	MintToken          Way = "mints service-account tokens"
	RunPods            Way = "runs pods as any service account"
	Exec               Way = "runs commands in pods"
	Debug              Way = "adds ephemeral containers to pods"
	ReachNodes         Way = "reaches kubelets through nodes/proxy"
	ReadTokens         Way = "reads Secrets, service-account tokens among them"
	MakeTokens         Way = "makes service-account token Secrets and reads them"
	BindRoles          Way = "binds roles that it does not have"
	EscalateRoles      Way = "writes roles with rights that it does not have"
	SignCertificates   Way = "approves client certificates"
	RewriteWebhooks    Way = "changes admission webhooks or mutating policies"
	RewritePolicies    Way = "changes validating admission policies, these guards among them"
	RewriteAPIs        Way = "changes which server answers for an API"
	ChangeNamespaces   Way = "changes or deletes namespaces with all that is in them"
	HandOn             Way = "hands its own rights to others"
	ForwardPorts       Way = "reaches pods' ports past network policies"
)

// ability is a right from which more follows, as one role has it. Several of them may be needed for one Way.
type ability int

const (
	impersonateUser ability = iota
	impersonateGroup
	impersonateAccount
	createToken
	createPods
	execInPods
	debugPods
	proxyNodes
	readSecrets
	createSecrets
	bindClusterRoles
	bindRoles
	escalateClusterRoles
	escalateRoles
	writeClusterBindings
	writeBindings
	writeClusterRoles
	writeRoles
	createCSR
	approveCSR
	useSigner
	writeWebhooks
	writePolicies
	writeAPIServices
	writeNamespaces
	forwardPorts
	abilities
)

// probes are requests of which any shows an ability.
func probes(a ability) []Request {
	req := func(verbs, group, resources string) []Request {
		var out []Request
		for _, v := range strings.Fields(verbs) {
			for _, r := range strings.Fields(resources) {
				resource, sub, _ := strings.Cut(r, "/")
				out = append(out, Request{Verb: v, Group: group, Resource: resource, Subresource: sub})
			}
		}
		return out
	}
	const admission, certificates = "admissionregistration.k8s.io", "certificates.k8s.io"
	switch a {
	case impersonateUser:
		return req("impersonate", "", "users")
	case impersonateGroup:
		return req("impersonate", "", "groups")
	case impersonateAccount:
		return req("impersonate", "", "serviceaccounts")
	case createToken:
		return req("create", "", "serviceaccounts/token")
	case createPods:
		return slices.Concat(req("create", "", "pods"), req("create update patch", "", "replicationcontrollers"),
			req("create update patch", "apps", "deployments statefulsets daemonsets replicasets"),
			req("create", "batch", "jobs"), req("create update patch", "batch", "cronjobs"))
	case execInPods: // a WebSocket is opened by GET, which RBAC counts as get (create since 1.35)
		return req("create get", "", "pods/exec pods/attach")
	case debugPods:
		return req("update patch", "", "pods/ephemeralcontainers")
	case proxyNodes:
		return req("get create", "", "nodes/proxy")
	case readSecrets:
		return req("get list watch", "", "secrets")
	case createSecrets:
		return req("create", "", "secrets")
	case bindClusterRoles:
		return req("bind", rbacGroup, "clusterroles")
	case bindRoles:
		return req("bind", rbacGroup, "roles")
	case escalateClusterRoles:
		return req("escalate", rbacGroup, "clusterroles")
	case escalateRoles:
		return req("escalate", rbacGroup, "roles")
	case writeClusterBindings:
		return req("create update patch", rbacGroup, "clusterrolebindings")
	case writeBindings:
		return req("create update patch", rbacGroup, "rolebindings")
	case writeClusterRoles:
		return req("create update patch", rbacGroup, "clusterroles")
	case writeRoles:
		return req("create update patch", rbacGroup, "roles")
	case createCSR:
		return req("create", certificates, "certificatesigningrequests")
	case approveCSR:
		return req("update patch", certificates, "certificatesigningrequests/approval")
	case useSigner:
		return req("approve", certificates, "signers")
	case writeWebhooks:
		return req("create update patch delete", admission, "mutatingwebhookconfigurations validatingwebhookconfigurations mutatingadmissionpolicies mutatingadmissionpolicybindings")
	case writePolicies:
		return req("update patch delete deletecollection", admission, "validatingadmissionpolicies validatingadmissionpolicybindings")
	case writeAPIServices:
		return req("create update patch", "apiregistration.k8s.io", "apiservices")
	case writeNamespaces:
		return req("update patch delete", "", "namespaces")
	case forwardPorts:
		return req("create get", "", "pods/portforward")
	case abilities:
	}
	return nil
}

// clusterOnly says whether an ability is about objects without a namespace, so that a RoleBinding gives nothing of it.
// To bind a ClusterRole by a RoleBinding asks for bind in the binding's namespace.
func (a ability) clusterOnly() bool {
	switch a {
	case impersonateUser, impersonateGroup, proxyNodes, escalateClusterRoles, writeClusterBindings, writeClusterRoles,
		createCSR, approveCSR, useSigner, writeWebhooks, writePolicies, writeAPIServices:
		return true
	}
	return false
}

// able is what a role has of an ability.
type able struct {
	has bool
	// names narrow it; nil means all.
	names []string
	// by is a request that shows it.
	by Request
}

// abilitiesOf looks through a role's rules once.
func abilitiesOf(r *Role) [abilities]able {
	var out [abilities]able
	for a := range abilities {
		for _, q := range probes(a) {
			for _, rule := range r.Rules {
				if !holds(rule.Verbs, q.Verb) || !holds(rule.Groups, q.Group) || !rule.covers(q.Resource, q.Subresource) {
					continue
				}
				if len(rule.Names) > 0 && (q.Verb == "create" && q.Subresource == "" || q.Verb == "deletecollection") {
					continue // such a request has no name
				}
				have := &out[a]
				switch {
				case !have.has:
					*have = able{has: true, names: rule.Names, by: q}
				case len(rule.Names) == 0 && have.names != nil:
					have.names, have.by = nil, q
				case have.names != nil:
					have.names = append(slices.Clip(have.names), rule.Names...)
				}
			}
		}
		slices.Sort(out[a].names)
		out[a].names = slices.Compact(out[a].names)
	}
	return out
}

// allows says whether an ability is for a name.
func (a able) allows(name string) bool {
	return a.has && (len(a.names) == 0 || slices.Contains(a.names, name))
}

// signs says whether a signer's certificates let somebody sign in to the API server.
// Source: https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
func (a able) signs() bool {
	return a.allows("kubernetes.io/kube-apiserver-client") || a.allows("kubernetes.io/*")
}
