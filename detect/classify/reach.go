package classify

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"holdfast/gitops"
)

// Bears says whether an object of the whole cluster bears on a namespace: a binding that gives rights to what runs
// there, a webhook or an admission policy that is asked about objects there. Declared are the kinds that an
// Application declares in the namespace; a webhook that is only about other custom kinds has nothing to do with it.
// Of a namespace whose labels are not known, every selector counts as matching; so does a condition in CEL.
func (f *Facts) Bears(object gitops.Object, namespace string, declared []gitops.GroupKind) bool {
	switch object.ID.Kind {
	case "ClusterRoleBinding":
		return slices.ContainsFunc(mappings(object.Content["subjects"]), func(s map[string]any) bool { return livesIn(s, namespace) })
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		return slices.ContainsFunc(mappings(object.Content["webhooks"]), func(hook map[string]any) bool {
			return f.asks(namespacedOnly(hook, "rules"), namespace, declared)
		})
	case "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy":
		spec, _ := object.Content["spec"].(map[string]any)
		match, _ := spec["matchConstraints"].(map[string]any)
		return f.asks(namespacedOnly(match, "resourceRules"), namespace, declared)
	case "MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding":
		spec, _ := object.Content["spec"].(map[string]any)
		match, _ := spec["matchResources"].(map[string]any)
		rule := namespacedOnly(match, "resourceRules")
		if len(rule.resources) == 0 { // what its policy is about
			rule.groups, rule.resources = []string{"*"}, []string{"*"}
		}
		return f.asks(rule, namespace, declared)
	}
	return false
}

// livesIn says whether a subject is something that runs in the namespace, alone or among others.
func livesIn(subject map[string]any, namespace string) bool {
	name, _ := subject["name"].(string)
	switch subject["kind"] {
	case "ServiceAccount":
		return subject["namespace"] == namespace
	case "User":
		return strings.HasPrefix(name, "system:serviceaccount:"+namespace+":") || name == "system:anonymous"
	case "Group":
		return slices.Contains([]string{
			"system:serviceaccounts:" + namespace, "system:serviceaccounts", "system:authenticated", "system:unauthenticated",
		}, name)
	}
	return false
}

// EmpowersPeople says whether an object gives a user or a group of people rights in the whole cluster, and so in every
// namespace.
func EmpowersPeople(object gitops.Object) bool {
	return object.ID.Kind == "ClusterRoleBinding" && slices.ContainsFunc(mappings(object.Content["subjects"]), func(s map[string]any) bool {
		name, _ := s["name"].(string)
		return s["kind"] == "User" && !strings.HasPrefix(name, "system:") ||
			s["kind"] == "Group" && (!strings.HasPrefix(name, "system:") || name == "system:masters")
	})
}

// namespacedOnly is matching without the rules that are about objects of the whole cluster alone.
func namespacedOnly(match map[string]any, rules string) admissionRule {
	rule := admissionRule{namespaces: selector(match["namespaceSelector"]), objects: labels.Everything()}
	for _, r := range mappings(match[rules]) {
		if r["scope"] != "Cluster" {
			rule.groups = append(rule.groups, texts(r["apiGroups"])...)
			rule.resources = append(rule.resources, texts(r["resources"])...)
		}
	}
	return rule
}

// asks says whether a rule is about something that stands, or is sure to come, in the namespace.
func (f *Facts) asks(rule admissionRule, namespace string, declared []gitops.GroupKind) bool {
	for _, kind := range slices.Concat(declared, usualKinds()) {
		object := gitops.Object{ID: gitops.ObjectID{Group: kind.Group, Kind: kind.Kind, Namespace: namespace}}
		if f.Admission.matches(rule, object) {
			return true
		}
	}
	return false
}

// usualKinds are what every namespace has, or gets from what is declared in it.
func usualKinds() []gitops.GroupKind {
	return []gitops.GroupKind{
		{Kind: "Pod"}, {Kind: "Secret"}, {Kind: "ConfigMap"}, {Kind: "ServiceAccount"}, {Kind: "Service"}, {Kind: "PersistentVolumeClaim"},
		{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "ReplicaSet"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"},
		{Group: "batch", Kind: "Job"}, {Group: "batch", Kind: "CronJob"},
		{Group: "rbac.authorization.k8s.io", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"},
		{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, {Group: "networking.k8s.io", Kind: "Ingress"},
	}
}
