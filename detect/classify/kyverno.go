package classify

import (
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// autogenKey lists the controllers of Pods to which Kyverno carries a rule about Pods over: all without it.
const autogenKey = "pod-policies.kyverno.io/autogen-controllers"

// kyvernoRules reads the rules of a policy that mutate at admission, and those that pin images by digest as they verify
// them. Source: kyverno/kyverno api/kyverno/v1.
func kyvernoRules(object gitops.Object) []mutating {
	spec, _ := object.Content["spec"].(map[string]any)
	if spec["admission"] == false {
		return nil
	}
	rules := mappings(spec["rules"])
	controllers := autogenControllers(object, rules)
	var out []mutating
	for _, r := range rules {
		name, _ := r["name"].(string)
		m := mutating{name: "the Kyverno policy " + object.ID.Name + ", rule " + name, sets: kyvernoSettings(r)}
		_, mutates := r["mutate"]
		if !mutates && len(m.sets) == 0 {
			continue
		}
		m.about, m.all, m.none = kyvernoMatch(r, object.ID.Namespace)
		out = append(out, m)
		for _, kind := range controllers {
			if pods := forController(m, kind); len(pods.about) > 0 {
				out = append(out, pods)
			}
		}
	}
	return out
}

// autogenControllers gives the kinds to which Kyverno carries the policy over: none where a rule names, selects, mixes
// kinds or patches by JSON patch. Source: kyverno/kyverno pkg/autogen/v1/autogen.go.
func autogenControllers(object gitops.Object, rules []map[string]any) []string {
	for _, r := range rules {
		mutate, _ := r["mutate"].(map[string]any)
		foreach := mappings(mutate["foreach"])
		if r["generate"] != nil || mutate["patchesJson6902"] != nil ||
			slices.ContainsFunc(foreach, func(f map[string]any) bool { return f["patchesJson6902"] != nil }) {
			return nil
		}
		match, _ := r["match"].(map[string]any)
		exclude, _ := r["exclude"].(map[string]any)
		for _, resources := range slices.Concat(resourceBlocks(match), resourceBlocks(exclude)) {
			kinds := texts(resources["kinds"])
			mixed := len(kinds) > 1 && slices.ContainsFunc(kinds, isPodKind)
			if mixed || resources["name"] != nil || resources["names"] != nil || resources["selector"] != nil || resources["annotations"] != nil {
				return nil
			}
		}
	}
	if given, ok := object.Annotations()[autogenKey]; ok {
		return strings.Split(given, ",") // or none, which is no kind
	}
	return []string{"DaemonSet", "Deployment", "Job", "StatefulSet", "ReplicaSet", "ReplicationController", "CronJob"}
}

func isPodKind(kind string) bool { return kind[strings.LastIndexByte(kind, '/')+1:] == "Pod" }

// resourceBlocks gives the resources of match or exclude, in all three forms.
func resourceBlocks(match map[string]any) []map[string]any {
	var out []map[string]any
	for _, block := range slices.Concat([]map[string]any{match}, mappings(match["any"]), mappings(match["all"])) {
		if resources, ok := block["resources"].(map[string]any); ok {
			out = append(out, resources)
		}
	}
	return out
}

// forController is a rule about Pods for the template of another kind.
func forController(m mutating, kind string) mutating {
	prefix := fields("spec", "template")
	if kind == "CronJob" {
		prefix = fields("spec", "jobTemplate", "spec", "template")
	}
	about := m.about
	m.about = nil
	for _, rule := range about {
		if slices.ContainsFunc(rule.resources, isPodKind) {
			rule.resources = []string{kind}
			m.about = append(m.about, rule)
		}
	}
	carry := func(rules []admissionRule) []admissionRule {
		rules = slices.Clone(rules)
		for i := range rules {
			if slices.ContainsFunc(rules[i].resources, isPodKind) {
				rules[i].resources = []string{kind}
			}
		}
		return rules
	}
	m.all, m.none = carry(m.all), carry(m.none)
	sets := m.sets
	m.sets = nil
	for _, s := range sets {
		s.path = slices.Concat(prefix, s.path)
		m.sets = append(m.sets, s)
	}
	return m
}

// kyvernoMatch reads match.any, match.all, the old match.resources and exclude; of a rule that changes other objects
// than those which trigger it, its targets. What is limited to some people's requests excludes nothing.
func kyvernoMatch(r map[string]any, namespace string) (about, all, none []admissionRule) {
	mutate, _ := r["mutate"].(map[string]any)
	for _, target := range mappings(mutate["targets"]) {
		kind, _ := target["kind"].(string)
		about = append(about, admissionRule{groups: []string{"*"}, resources: []string{kind}, inNamespace: namespace,
			names: oneText(target["name"]), spaces: oneText(target["namespace"]), objects: selector(target["selector"])})
	}
	if len(about) > 0 {
		return about, nil, nil
	}
	match, _ := r["match"].(map[string]any)
	exclude, _ := r["exclude"].(map[string]any)
	blocks := mappings(match["any"])
	if match["resources"] != nil {
		blocks = append(blocks, match)
	}
	for _, block := range blocks {
		about = append(about, kyvernoBlock(block, namespace))
	}
	for i, block := range mappings(match["all"]) {
		if rule := kyvernoBlock(block, namespace); i == 0 {
			about = append(about, rule)
		} else {
			all = append(all, rule.ofAnyKind())
		}
	}
	blocks = mappings(exclude["any"])
	if exclude["resources"] != nil {
		blocks = append(blocks, exclude)
	}
	if whole := mappings(exclude["all"]); len(whole) == 1 {
		blocks = append(blocks, whole...)
	}
	for _, block := range blocks {
		if block["resources"] != nil && block["subjects"] == nil && block["roles"] == nil && block["clusterRoles"] == nil {
			none = append(none, kyvernoBlock(block, "").ofAnyKind())
		}
	}
	return about, all, none
}

func (r admissionRule) ofAnyKind() admissionRule {
	if len(r.resources) == 0 {
		r.resources = []string{"*"}
	}
	return r
}

func kyvernoBlock(block map[string]any, namespace string) admissionRule {
	resources, _ := block["resources"].(map[string]any)
	rule := admissionRule{groups: []string{"*"}, inNamespace: namespace,
		namespaces: selector(resources["namespaceSelector"]), objects: selector(resources["selector"]),
		names: append(oneText(resources["name"]), texts(resources["names"])...), spaces: texts(resources["namespaces"])}
	for _, kind := range texts(resources["kinds"]) {
		// Group/Version/Kind, Version/Kind or Kind, each with an optional /subresource.
		for part := range strings.SplitSeq(kind, "/") {
			if part != "" && part[0] >= 'A' && part[0] <= 'Z' || part == "*" {
				rule.resources = append(rule.resources, part)
			}
		}
	}
	return rule
}

func oneText(v any) []string {
	if s, ok := v.(string); ok && s != "" {
		return []string{s}
	}
	return nil
}

func kyvernoSettings(r map[string]any) []setting {
	mutate, _ := r["mutate"].(map[string]any)
	out := kyvernoPatch(mutate)
	for _, image := range mappings(r["verifyImages"]) {
		if image["mutateDigest"] != false {
			for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
				out = append(out, setting{path: append(fields("spec", list), place{entry: true}, place{field: "image"}), image: isPinned})
			}
		}
	}
	return out
}

func kyvernoPatch(mutate map[string]any) []setting {
	var out []setting
	if patch, ok := mutate["patchStrategicMerge"]; ok {
		out = strategicPatch(nil, patch, false)
	}
	if text, ok := mutate["patchesJson6902"].(string); ok {
		var operations []map[string]any
		if yaml.Unmarshal([]byte(text), &operations) == nil {
			out = append(out, patchOperations(operations)...)
		}
	}
	for _, each := range mappings(mutate["foreach"]) {
		out = append(out, kyvernoPatch(each)...)
	}
	return out
}

// strategicPatch reads the leaves of a patch with Kyverno's anchors: (x) is a condition, +(x) adds where nothing is.
func strategicPatch(path []place, patch any, once bool) []setting {
	switch patch := patch.(type) {
	case map[string]any:
		var out []setting
		for key, v := range patch {
			field, add := strings.CutPrefix(key, "+(")
			if add {
				field = strings.TrimSuffix(field, ")")
			} else if strings.HasSuffix(key, ")") && strings.Contains(key, "(") || strings.HasPrefix(key, "$") {
				continue
			}
			out = append(out, strategicPatch(append(slices.Clip(path), place{field: field}), v, once || add)...)
		}
		if len(patch) == 0 {
			out = append(out, setting{path: path, value: patch, once: once})
		}
		return out
	case []any:
		entries := mappings(patch)
		if len(entries) < len(patch) || len(patch) == 0 {
			return []setting{{path: path, value: patch, once: once}}
		}
		var out []setting
		for _, entry := range entries {
			at := place{entry: true}
			for _, key := range []string{"name", "(name)"} {
				if name, ok := entry[key].(string); ok && !strings.Contains(name, "{{") {
					at.name = name
				}
			}
			out = append(out, strategicPatch(append(slices.Clip(path), at), entry, once)...)
		}
		return out
	}
	return []setting{{path: path, value: patch, once: once}}
}
