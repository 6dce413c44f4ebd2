package classify

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast/gitops"
)

// Admission holds what changes objects as they are written: mutating webhooks, MutatingAdmissionPolicies,
// Kyverno's and Gatekeeper's mutating policies.
type Admission struct {
	mutators   []mutating
	namespaces map[string]map[string]string
	// bindings are what bindings of MutatingAdmissionPolicies let these act on, by the policy's name.
	bindings map[string][]admissionRule
}

// mutating is a webhook, or a rule of a policy: which objects it changes, and how, as far as that can be read.
type mutating struct {
	name string
	// about are the objects, one of which the object must match; so must all and none.
	about     []admissionRule
	all, none []admissionRule
	// bound names the policy without a binding of which nothing happens.
	bound string
	// opaque: what a webhook's program does stands in no object.
	opaque bool
	sets   []setting
}

// admissionRule is a choice of objects.
type admissionRule struct {
	// kinds match by group (or *) and by resource or kind name, lower case, plural or singular (or *).
	groups, resources []string
	namespaces        labels.Selector
	objects           labels.Selector
	// inNamespace limits a namespaced policy.
	inNamespace string
	// names and spaces limit names and namespaces; notIn takes namespaces out. * is a wildcard.
	names, spaces, notIn []string
}

func (a *Admission) add(object gitops.Object) {
	switch id := object.ID; {
	case id.Group == "" && id.Kind == "Namespace":
		if a.namespaces == nil {
			a.namespaces = map[string]map[string]string{}
		}
		a.namespaces[id.Name] = object.Labels()
	case id.Kind == "MutatingWebhookConfiguration":
		a.addWebhooks(object)
	case id.Kind == "MutatingAdmissionPolicy":
		m := celPolicy(object)
		m.bound = id.Name
		a.mutators = append(a.mutators, m)
	case id.Kind == "MutatingAdmissionPolicyBinding":
		a.addBinding(object)
	case id.Group == "mutations.gatekeeper.sh":
		a.mutators = append(a.mutators, gatekeeperMutator(object))
	case id.Group == "kyverno.io" && (id.Kind == "ClusterPolicy" || id.Kind == "Policy"):
		a.mutators = append(a.mutators, kyvernoRules(object)...)
	case id.Group == "policies.kyverno.io" && (id.Kind == "MutatingPolicy" || id.Kind == "NamespacedMutatingPolicy"):
		a.mutators = append(a.mutators, celPolicy(object))
	}
}

// addWebhooks leaves out those of Kyverno and Gatekeeper, which do what their policies say and nothing else.
func (a *Admission) addWebhooks(object gitops.Object) {
	for _, hook := range mappings(object.Content["webhooks"]) {
		name, _ := hook["name"].(string)
		if strings.HasSuffix(name, ".gatekeeper.sh") || strings.Contains(name, ".kyverno.svc") {
			continue
		}
		if about := writeRules(hook, "rules"); len(about) > 0 {
			a.mutators = append(a.mutators, mutating{name: "the mutating webhook " + name, about: about, opaque: true})
		}
	}
}

func (a *Admission) addBinding(object gitops.Object) {
	spec, _ := object.Content["spec"].(map[string]any)
	policy, _ := spec["policyName"].(string)
	match, _ := spec["matchResources"].(map[string]any)
	rules := writeRules(match, "resourceRules")
	if _, narrowed := match["resourceRules"]; !narrowed {
		rules = []admissionRule{{groups: []string{"*"}, resources: []string{"*"},
			namespaces: selector(match["namespaceSelector"]), objects: selector(match["objectSelector"])}}
	}
	if a.bindings == nil {
		a.bindings = map[string][]admissionRule{}
	}
	a.bindings[policy] = append(a.bindings[policy], rules...)
}

// writeRules reads what a webhook, or an admission policy's matchConstraints, is asked about when objects are made or
// changed. Rules names its list of rules.
func writeRules(match map[string]any, rules string) []admissionRule {
	var out []admissionRule
	for _, r := range mappings(match[rules]) {
		operations := texts(r["operations"])
		if len(operations) > 0 && !slices.ContainsFunc(operations, func(o string) bool { return o == "*" || o == "CREATE" || o == "UPDATE" }) {
			continue
		}
		out = append(out, admissionRule{groups: texts(r["apiGroups"]), resources: texts(r["resources"]), names: texts(r["resourceNames"]),
			namespaces: selector(match["namespaceSelector"]), objects: selector(match["objectSelector"])})
	}
	return out
}

// Mutates names what may change such an object at admission, or "" when nothing on this cluster does. A
// match condition in CEL counts as matching; so does a namespace selector when the namespace is not known.
func (a Admission) Mutates(object gitops.Object) string {
	for _, m := range a.mutators {
		if a.touches(m, object) {
			return m.name
		}
	}
	return ""
}

// webhookFor names a webhook that is asked about such objects as they are written, or "".
func (a Admission) webhookFor(object gitops.Object) string {
	for _, m := range a.mutators {
		if m.opaque && a.touches(m, object) {
			return m.name
		}
	}
	return ""
}

// sets names the policy that sets a field of such an object to what it lives as, or "". Weighs says whether a field
// below it needs that at all.
func (a Admission) sets(object gitops.Object, path gitops.Path, git, live gitops.Value, weighs func(gitops.Path, gitops.Value) bool) string {
	for _, m := range a.mutators {
		if len(m.sets) > 0 && a.touches(m, object) && m.explains(path, git, live, weighs) {
			return m.name
		}
	}
	return ""
}

func (a Admission) touches(m mutating, object gitops.Object) bool {
	matched := func(rule admissionRule) bool { return a.matches(rule, object) }
	return slices.ContainsFunc(m.about, matched) &&
		!slices.ContainsFunc(m.all, func(rule admissionRule) bool { return !matched(rule) }) &&
		!slices.ContainsFunc(m.none, matched) &&
		(m.bound == "" || slices.ContainsFunc(a.bindings[m.bound], matched))
}

func (a Admission) matches(rule admissionRule, object gitops.Object) bool {
	id := object.ID
	if !anyGlobOf(rule.groups, id.Group) || !namesKind(rule.resources, id.Kind) || !anyGlob(rule.names, id.Name) || !anyGlob(rule.spaces, id.Namespace) {
		return false
	}
	if rule.inNamespace != "" && rule.inNamespace != id.Namespace || len(rule.notIn) > 0 && anyGlob(rule.notIn, id.Namespace) {
		return false
	}
	if id.Namespace != "" && rule.namespaces != nil && !rule.namespaces.Empty() {
		if have, known := a.namespaces[id.Namespace]; known && !rule.namespaces.Matches(labels.Set(have)) {
			return false
		}
	}
	return rule.objects == nil || rule.objects.Empty() || rule.objects.Matches(labels.Set(object.Labels()))
}

func anyGlobOf(patterns []string, text string) bool {
	return len(patterns) > 0 && anyGlob(patterns, text)
}

// namesKind says whether a list of resources (plural, lower case) or kinds names the kind.
func namesKind(names []string, kind string) bool {
	singular := strings.ToLower(kind)
	for _, name := range names {
		name, sub, _ := strings.Cut(strings.ToLower(name), "/")
		if sub != "" && sub != "*" {
			continue
		}
		if name == "*" || name == singular || name == plural(singular) {
			return true
		}
	}
	return false
}

// plural is the usual form of a resource's name.
func plural(kind string) string {
	switch {
	case strings.HasSuffix(kind, "y") && !strings.HasSuffix(kind, "ay") && !strings.HasSuffix(kind, "ey"):
		return kind[:len(kind)-1] + "ies"
	case strings.HasSuffix(kind, "s") || strings.HasSuffix(kind, "x") || strings.HasSuffix(kind, "ch"):
		return kind + "es"
	}
	return kind + "s"
}

// selector reads a label selector; one that is absent or broken matches everything.
func selector(v any) labels.Selector {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return labels.Everything()
	}
	var parsed metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(m, &parsed) != nil {
		return labels.Everything()
	}
	s, err := metav1.LabelSelectorAsSelector(&parsed)
	if err != nil {
		return labels.Everything()
	}
	return s
}

func mappings(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
