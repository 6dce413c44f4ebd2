package classify

import (
	"slices"
	"strings"

	"holdfast/gitops"
)

// generates says whether a Kyverno policy has a rule that generates such an object: its kind and, where the rule writes
// them out, its name, namespace and content. What is no policy of that form is not looked into.
func generates(policy, live gitops.Object) bool {
	if policy.ID.Group != "kyverno.io" {
		return true
	}
	spec, _ := policy.Content["spec"].(map[string]any)
	return slices.ContainsFunc(mappings(spec["rules"]), func(rule map[string]any) bool {
		g, _ := rule["generate"].(map[string]any)
		return slices.ContainsFunc(append(mappings(g["foreach"]), g), func(target map[string]any) bool { return targets(target, live) })
	})
}

func targets(target map[string]any, live gitops.Object) bool {
	if list, ok := target["cloneList"].(map[string]any); ok {
		return slices.ContainsFunc(texts(list["kinds"]), func(kind string) bool {
			return kind == live.ID.Kind || strings.HasSuffix(kind, "/"+live.ID.Kind)
		}) && templated(target["namespace"], live.ID.Namespace)
	}
	if target["kind"] != live.ID.Kind || !templated(target["name"], live.ID.Name) || !templated(target["namespace"], live.ID.Namespace) {
		return false
	}
	for key, want := range asMap(target["data"]) {
		if key != "metadata" && !templated(want, live.Content[key]) {
			return false
		}
	}
	return true
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// templated says whether a value may be what a template makes: texts with a variable stand for anything, mappings may
// have gained fields. What the template leaves out is the rule's default.
func templated(template, value any) bool {
	switch t := template.(type) {
	case nil:
		return true
	case string:
		if strings.Contains(t, "{{") {
			return true
		}
	case map[string]any:
		m, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for key, want := range t {
			if !templated(want, m[key]) {
				return false
			}
		}
		return true
	case []any:
		list, ok := value.([]any)
		return ok && slices.EqualFunc(t, list, templated)
	}
	return sameValue(template, value)
}
