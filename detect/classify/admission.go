package classify

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast/gitops"
)

// Admission holds what changes objects as they are written: mutating webhooks, MutatingAdmissionPolicies,
// Kyverno's and Gatekeeper's mutating policies.
type Admission struct {
	mutators   []admissionRule
	namespaces map[string]map[string]string
}

// admissionRule is one of them and the objects that it matches.
type admissionRule struct {
	name   string
	policy bool
	// kinds match by group (or *) and by resource or kind name, lower case, plural or singular (or *).
	groups, resources []string
	namespaces        labels.Selector
	objects           labels.Selector
	// inNamespace limits a namespaced policy.
	inNamespace string
}

func (a *Admission) add(object gitops.Object) {
	switch {
	case object.ID.Group == "" && object.ID.Kind == "Namespace":
		if a.namespaces == nil {
			a.namespaces = map[string]map[string]string{}
		}
		a.namespaces[object.ID.Name] = object.Labels()
	case object.ID.Kind == "MutatingWebhookConfiguration":
		a.addWebhooks(object)
	case object.ID.Kind == "MutatingAdmissionPolicy":
		spec, _ := object.Content["spec"].(map[string]any)
		match, _ := spec["matchConstraints"].(map[string]any)
		rule := matching(match, "resourceRules")
		rule.name, rule.policy = "MutatingAdmissionPolicy "+object.ID.Name, true
		a.mutators = append(a.mutators, rule)
	case object.ID.Group == "mutations.gatekeeper.sh":
		a.addGatekeeper(object)
	case object.ID.Group == "kyverno.io" && (object.ID.Kind == "ClusterPolicy" || object.ID.Kind == "Policy"):
		a.addKyverno(object)
	case object.ID.Group == "policies.kyverno.io" && object.ID.Kind == "MutatingPolicy":
		spec, _ := object.Content["spec"].(map[string]any)
		match, _ := spec["matchConstraints"].(map[string]any)
		rule := matching(match, "resourceRules")
		rule.name, rule.policy = "MutatingPolicy "+object.ID.Name, true
		a.mutators = append(a.mutators, rule)
	}
}

func (a *Admission) addWebhooks(object gitops.Object) {
	for _, hook := range mappings(object.Content["webhooks"]) {
		name, _ := hook["name"].(string)
		rule := matching(hook, "rules")
		rule.name = "the mutating webhook " + name
		a.mutators = append(a.mutators, rule)
	}
}

// matching reads what a webhook, or an admission policy's matchConstraints, is asked about. Rules names its list of
// rules.
func matching(match map[string]any, rules string) admissionRule {
	rule := admissionRule{namespaces: selector(match["namespaceSelector"]), objects: selector(match["objectSelector"])}
	for _, r := range mappings(match[rules]) {
		rule.groups = append(rule.groups, texts(r["apiGroups"])...)
		rule.resources = append(rule.resources, texts(r["resources"])...)
	}
	return rule
}

// addGatekeeper reads Assign, AssignMetadata, AssignImage and ModifySet. AssignMetadata matches by
// spec.match, the others by spec.applyTo too.
func (a *Admission) addGatekeeper(object gitops.Object) {
	spec, _ := object.Content["spec"].(map[string]any)
	match, _ := spec["match"].(map[string]any)
	rule := admissionRule{name: "Gatekeeper's " + object.ID.Kind + " " + object.ID.Name, policy: true,
		namespaces: selector(match["namespaceSelector"]), objects: selector(match["labelSelector"])}
	for _, list := range [][]map[string]any{mappings(spec["applyTo"]), mappings(match["kinds"])} {
		for _, m := range list {
			rule.groups = append(rule.groups, append(texts(m["groups"]), texts(m["apiGroups"])...)...)
			rule.resources = append(rule.resources, texts(m["kinds"])...)
		}
	}
	if len(rule.resources) == 0 && object.ID.Kind == "AssignMetadata" {
		rule.groups, rule.resources = []string{"*"}, []string{"*"}
	}
	a.mutators = append(a.mutators, rule)
}

// addKyverno reads the mutate rules of a policy: match.any, match.all and the old match.resources.
func (a *Admission) addKyverno(object gitops.Object) {
	spec, _ := object.Content["spec"].(map[string]any)
	for _, r := range mappings(spec["rules"]) {
		if _, mutates := r["mutate"]; !mutates {
			continue
		}
		name, _ := r["name"].(string)
		match, _ := r["match"].(map[string]any)
		blocks := append(mappings(match["any"]), mappings(match["all"])...)
		if _, old := match["resources"]; old {
			blocks = append(blocks, match)
		}
		for _, block := range blocks {
			resources, _ := block["resources"].(map[string]any)
			rule := admissionRule{name: "the Kyverno policy " + object.ID.Name + ", rule " + name, policy: true,
				groups: []string{"*"}, inNamespace: object.ID.Namespace,
				namespaces: selector(resources["namespaceSelector"]), objects: selector(resources["selector"])}
			for _, kind := range texts(resources["kinds"]) {
				// Group/Version/Kind, Version/Kind or Kind, each with an optional /subresource.
				parts := strings.Split(kind, "/")
				for _, part := range parts {
					if part != "" && part[0] >= 'A' && part[0] <= 'Z' || part == "*" {
						rule.resources = append(rule.resources, part)
					}
				}
			}
			a.mutators = append(a.mutators, rule)
		}
	}
}

// Mutates names what may change such an object at admission, or "" when nothing on this cluster does. A
// match condition in CEL counts as matching; so does a namespace selector when the namespace is not known.
func (a Admission) Mutates(object gitops.Object) string {
	for _, rule := range a.mutators {
		if a.matches(rule, object) {
			return rule.name
		}
	}
	return ""
}

// policyFor is Mutates without webhooks: only policies, whose rules stand in the cluster.
func (a Admission) policyFor(object gitops.Object) string {
	for _, rule := range a.mutators {
		if rule.policy && a.matches(rule, object) {
			return rule.name
		}
	}
	return ""
}

func (a Admission) matches(rule admissionRule, object gitops.Object) bool {
	if !anyGlobOf(rule.groups, object.ID.Group) || !namesKind(rule.resources, object.ID.Kind) {
		return false
	}
	if rule.inNamespace != "" && rule.inNamespace != object.ID.Namespace {
		return false
	}
	if object.ID.Namespace != "" && !rule.namespaces.Empty() {
		if have, known := a.namespaces[object.ID.Namespace]; known && !rule.namespaces.Matches(labels.Set(have)) {
			return false
		}
	}
	return rule.objects.Empty() || rule.objects.Matches(labels.Set(object.Labels()))
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
