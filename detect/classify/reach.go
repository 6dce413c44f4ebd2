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
			return f.asks(namespacedOnly(hook, "rules"), namespace, declared) || f.asksAbout(hook, namespace)
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

// Everywhere says whether an object gives rights in every namespace: a binding in the whole cluster, for people whatever
// it gives, for accounts of the cluster a role that writes or reads secrets, where a person's tool gave it; and a role that
// others take rules from.
func (f *Facts) Everywhere(object gitops.Object) bool {
	switch object.ID.Kind {
	case "ClusterRole":
		return f.OpensAccess(object)
	case "ClusterRoleBinding":
		subjects := mappings(object.Content["subjects"])
		return slices.ContainsFunc(subjects, isPeople) || len(subjects) > 0 && f.byTool(object) && f.bindsMuch(object)
	}
	return false
}

// isPeople says whether a subject is a user or a group of people.
func isPeople(subject map[string]any) bool {
	name, _ := subject["name"].(string)
	return subject["kind"] == "User" && !strings.HasPrefix(name, "system:") ||
		subject["kind"] == "Group" && (!strings.HasPrefix(name, "system:") || name == "system:masters")
}

// byTool says whether a person's tool wrote what an object opens.
func (f *Facts) byTool(object gitops.Object) bool { return f.maker(gitops.Application{}, object).tool }

// bindsMuch says whether the role that a binding names lets its holder write, or read secrets, as far as it is known. A
// chart's binding of its own role to its own accounts is not meant: who may install charts decides that.
func (f *Facts) bindsMuch(binding gitops.Object) bool {
	ref, _ := binding.Content["roleRef"].(map[string]any)
	name, _ := ref["name"].(string)
	if slices.Contains(administrators(), name) {
		return true
	}
	if ofOwnChart(binding) {
		return false
	}
	role, ok := f.find(gitops.ObjectID{Group: binding.ID.Group, Kind: "ClusterRole", Name: name})
	if !ok {
		return name != "view" && !strings.HasPrefix(name, "system:")
	}
	return slices.ContainsFunc(mappings(role.Content["rules"]), givesMuch)
}

// ofOwnChart says whether a binding is marked as part of a release, and for accounts of its namespace alone.
func ofOwnChart(binding gitops.Object) bool {
	release := binding.Annotations()["meta.helm.sh/release-namespace"]
	return release != "" && binding.Labels()["app.kubernetes.io/managed-by"] == "Helm" &&
		!slices.ContainsFunc(mappings(binding.Content["subjects"]), func(s map[string]any) bool {
			return s["kind"] != "ServiceAccount" || s["namespace"] != release
		})
}

// givesMuch says whether a rule lets its holder write objects of the built-in groups, or read Secrets. Locks, events and
// questions about access are not meant, nor are single objects by name.
func givesMuch(rule map[string]any) bool {
	if len(texts(rule["resourceNames"])) > 0 || !aboutBuiltIn(rule) {
		return false
	}
	var resources []string
	for _, r := range texts(rule["resources"]) {
		if r != "events" && r != "leases" && !strings.HasSuffix(r, "reviews") && !strings.HasSuffix(r, "/status") {
			resources = append(resources, r)
		}
	}
	reads := func(verb string) bool { return slices.Contains([]string{"get", "list", "watch"}, verb) }
	return len(resources) > 0 && slices.ContainsFunc(texts(rule["verbs"]), func(verb string) bool {
		return !reads(verb) || slices.Contains(resources, "secrets") || slices.Contains(resources, "*")
	})
}

// aboutBuiltIn says whether a rule is about objects of Kubernetes itself, or of all groups.
func aboutBuiltIn(rule map[string]any) bool {
	return slices.ContainsFunc(texts(rule["apiGroups"]), func(group string) bool { return group == "*" || builtInGroup(group) })
}

// asksAbout says whether a webhook is asked about the Namespace itself: it may keep it from being changed or removed.
func (f *Facts) asksAbout(hook map[string]any, namespace string) bool {
	object := gitops.Object{ID: gitops.ObjectID{Kind: "Namespace", Namespace: namespace, Name: namespace}}
	return slices.ContainsFunc(mappings(hook["rules"]), func(r map[string]any) bool {
		return f.Admission.matches(admissionRule{groups: texts(r["apiGroups"]), resources: texts(r["resources"]), namespaces: selector(hook["namespaceSelector"])}, object)
	})
}

// namespacedOnly reads what a webhook or policy is asked about, without the rules that are about objects of the whole cluster alone. Who is asked before
// somebody runs a command in a pod, or scales, is asked about the object; who is asked about its status is not.
func namespacedOnly(match map[string]any, rules string) admissionRule {
	rule := admissionRule{namespaces: selector(match["namespaceSelector"]), objects: labels.Everything()}
	for _, r := range mappings(match[rules]) {
		if r["scope"] != "Cluster" {
			rule.groups = append(rule.groups, texts(r["apiGroups"])...)
			for _, resource := range texts(r["resources"]) {
				if base, sub, _ := strings.Cut(resource, "/"); sub != "status" {
					rule.resources = append(rule.resources, base)
				}
			}
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
