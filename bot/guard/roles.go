package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/detect/access"
	"holdfast/gitops"
)

const (
	rbac       = "rbac.authorization.k8s.io"
	readerName = "holdfast-guard-reader"
)

// reads are the verbs that change nothing.
func reads() []string { return []string{"get", "list", "watch"} }

// always is what people look at to see how a workload is, whatever is tracked. Secrets are not among it.
func always() []Resource {
	return []Resource{
		{"", "configmaps"}, {"", "events"}, {"", "namespaces"}, {"", "nodes"}, {"", "persistentvolumeclaims"}, {"", "pods"}, {"", "pods/log"}, {"", "services"},
		{"apps", "controllerrevisions"}, {"apps", "daemonsets"}, {"apps", "deployments"}, {"apps", "replicasets"}, {"apps", "statefulsets"},
		{"autoscaling", "horizontalpodautoscalers"}, {"batch", "cronjobs"}, {"batch", "jobs"}, {"discovery.k8s.io", "endpointslices"},
		{"events.k8s.io", "events"}, {"networking.k8s.io", "ingresses"}, {"networking.k8s.io", "networkpolicies"}, {"policy", "poddisruptionbudgets"},
	}
}

// roles makes a role to read what is tracked, and what shows how it does, and binds those to it who can write now. It
// takes no right away: the bindings that give more are named beside the findings, and are to be removed where they
// stand.
func (in Input) roles() []Manifest {
	byGroup := map[string][]any{}
	for _, r := range slices.SortedFunc(slices.Values(append(always(), in.Resources...)), func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	}) {
		secret := r.Group == "" && r.Resource == "secrets"
		if !secret && !slices.Contains(byGroup[r.Group], any(r.Resource)) {
			byGroup[r.Group] = append(byGroup[r.Group], r.Resource)
		}
	}
	var groups []string
	for group := range byGroup {
		groups = append(groups, group)
	}
	slices.Sort(groups)
	var rules []any
	for _, group := range groups {
		rules = append(rules, map[string]any{"apiGroups": list(group), "resources": byGroup[group], "verbs": list(reads()...)})
	}
	out := []Manifest{object(rbac+"/v1", "ClusterRole", "", readerName,
		"What people need to see how things are. It reads, and changes nothing; Secrets are left out.", map[string]any{"rules": rules})}
	byPlace := map[string][]access.Subject{}
	for _, r := range in.Readers {
		places := r.Namespaces
		if len(places) == 0 {
			places = []string{""}
		}
		for _, p := range places {
			if !slices.Contains(byPlace[p], r.Subject) {
				byPlace[p] = append(byPlace[p], r.Subject)
			}
		}
	}
	var places []string
	for p := range byPlace {
		places = append(places, p)
	}
	slices.Sort(places)
	for _, p := range places {
		kind, where := "RoleBinding", "the namespace "+p
		if p == "" {
			kind, where = "ClusterRoleBinding", "the whole cluster"
		}
		slices.SortFunc(byPlace[p], access.Subject.Compare)
		var subjects []any
		for _, s := range byPlace[p] {
			subjects = append(subjects, map[string]any{"apiGroup": rbac, "kind": string(s.Kind), "name": s.Name})
		}
		out = append(out, object(rbac+"/v1", kind, p, readerName, fmt.Sprintf("Who can write in %s now reads there by this. Remove what lets them write.", where),
			map[string]any{"roleRef": map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": readerName}, "subjects": subjects}))
	}
	return out
}

// Grants says what of some manifests lets anybody change anything, one text each, in order: nothing that Holdfast
// proposes may. A role must read only, and by itself, and a binding must be to such a role among the manifests.
func Grants(manifests []Manifest) []string {
	var out []string
	readOnly := map[string]bool{}
	for _, m := range manifests {
		id := m.Object.ID
		if id.Group != rbac || id.Kind != "Role" && id.Kind != "ClusterRole" {
			continue
		}
		wrong := roleGrants(m.Object)
		for _, w := range wrong {
			out = append(out, access.Named(id)+": "+w)
		}
		readOnly[access.Named(id)] = len(wrong) == 0
	}
	for _, m := range manifests {
		id := m.Object.ID
		if id.Group != rbac || id.Kind != "RoleBinding" && id.Kind != "ClusterRoleBinding" {
			continue
		}
		ref, _ := m.Object.Content["roleRef"].(map[string]any)
		role := gitops.ObjectID{Group: rbac, Kind: text(ref["kind"]), Name: text(ref["name"])}
		if role.Kind == "Role" {
			role.Namespace = id.Namespace
		}
		if !readOnly[access.Named(role)] {
			out = append(out, access.Named(id)+": binds "+access.Named(role)+", which is not among the manifests as a role that only reads")
		}
	}
	return out
}

func roleGrants(o gitops.Object) []string {
	var out []string
	if o.Content["aggregationRule"] != nil {
		out = append(out, "is an aggregate, whose rules others write")
	}
	for key := range o.Labels() {
		if strings.HasPrefix(key, "rbac.authorization.k8s.io/aggregate-to-") {
			out = append(out, "adds its rules to other roles ("+key+")")
		}
	}
	rules, _ := o.Content["rules"].([]any)
	for _, raw := range rules {
		r, _ := raw.(map[string]any)
		for _, verb := range texts(r["verbs"]) {
			if !slices.Contains(reads(), verb) {
				out = append(out, "allows the verb "+verb)
			}
		}
		for _, resource := range texts(r["resources"]) {
			switch _, sub, _ := strings.Cut(resource, "/"); {
			case strings.Contains(resource, "*"):
				out = append(out, "names resources by "+resource+", what runs commands in pods and Secrets among them")
			case slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, sub):
				out = append(out, "allows "+resource+", which does more than read whatever the verb")
			case resource == "secrets":
				out = append(out, "reads Secrets, and with them tokens of service accounts")
			}
		}
		if slices.Contains(texts(r["apiGroups"]), "*") {
			out = append(out, "names groups of the API by *")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func texts(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		out = append(out, text(item))
	}
	return out
}
