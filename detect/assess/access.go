package assess

import (
	"slices"

	"holdfast/detect"
	"holdfast/gitops"
)

// rbacEscalation looks at what the live object allows that the declared one does not. What hands out the
// cluster is critical in every tier.
func rbacEscalation(in Input) escalation {
	if in.Live == nil {
		return escalation{}
	}
	switch in.Object.Kind {
	case "Role", "ClusterRole":
		gained := newRights(in.Declared, in.Live)
		if slices.ContainsFunc(gained, opensCluster) {
			return escalation{detect.Critical, true}
		}
		if len(in.Field.Path) > 0 && in.Field.Path[0].Field == "metadata" {
			return escalation{detect.Critical, true} // only aggregation labels come here: see tables/matches.yaml
		}
		if in.Declared != nil && len(gained) == 0 && in.Field.Path != nil {
			return escalation{level: detect.High} // it only lost rights
		}
	case "RoleBinding", "ClusterRoleBinding":
		if bindsCluster(in.Declared, in.Live) {
			return escalation{detect.Critical, true}
		}
		if in.Declared != nil && len(newSubjects(in.Declared, in.Live)) == 0 && in.Field.Path != nil && in.Field.Path[0].Field == "subjects" {
			return escalation{level: detect.High}
		}
	}
	return escalation{}
}

// right is a verb on a resource of a group. A rule of a Role is the product of its lists.
type right struct {
	verb, group, resource string
}

// newRights gives the rights that live allows and declared does not. A wildcard covers what it names.
func newRights(declared, live *gitops.Object) []right {
	before := rights(declared)
	var out []right
	for _, r := range rights(live) {
		if !slices.ContainsFunc(before, func(b right) bool { return b.covers(r) }) {
			out = append(out, r)
		}
	}
	return out
}

func (r right) covers(other right) bool {
	return wild(r.verb, other.verb) && wild(r.group, other.group) && wild(r.resource, other.resource)
}

func wild(have, want string) bool { return have == "*" || have == want }

func rights(object *gitops.Object) []right {
	rules, _ := part(object, "rules").([]any)
	var out []right
	for _, raw := range rules {
		rule, ok := raw.(map[string]any)
		if !ok {
			continue
		}
		for _, verb := range list(rule["verbs"]) {
			for _, url := range list(rule["nonResourceURLs"]) {
				out = append(out, right{verb, "url", url})
			}
			for _, group := range list(rule["apiGroups"]) {
				for _, resource := range list(rule["resources"]) {
					out = append(out, right{verb, group, resource})
				}
			}
		}
	}
	return out
}

func list(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		out = append(out, text(item))
	}
	return out
}

// opensCluster names the rights from which more rights follow: wildcards, escalate, bind and impersonate,
// reading Secrets, running in others' pods, minting tokens, and writing RBAC or webhooks
// (kubernetes.io/docs/concepts/security/rbac-good-practices).
func opensCluster(r right) bool {
	if r.verb == "*" || r.resource == "*" || slices.Contains([]string{"escalate", "bind", "impersonate"}, r.verb) {
		return true
	}
	reads := slices.Contains([]string{"get", "list", "watch"}, r.verb)
	if r.resource == "secrets" && r.group == "" && reads {
		return true
	}
	if reads {
		return false
	}
	switch r.group {
	case "", "*":
		return slices.Contains([]string{"secrets", "pods/exec", "pods/attach", "serviceaccounts/token", "nodes/proxy"}, r.resource)
	case "rbac.authorization.k8s.io", "admissionregistration.k8s.io":
		return true
	}
	return false
}

// bindsCluster says whether a binding newly hands out cluster-admin, or anything to everybody.
func bindsCluster(declared, live *gitops.Object) bool {
	fresh := newSubjects(declared, live)
	role := text(part(live, "roleRef", "name"))
	roleChanged := text(part(declared, "roleRef", "name")) != role
	if role == "cluster-admin" && (roleChanged || len(fresh) > 0) {
		return true
	}
	for _, name := range fresh {
		if slices.Contains([]string{"system:masters", "system:anonymous", "system:unauthenticated", "system:authenticated"}, name) {
			return true
		}
	}
	return false
}

// newSubjects gives the names of subjects that live binds and declared does not.
func newSubjects(declared, live *gitops.Object) []string {
	before, _ := part(declared, "subjects").([]any)
	after, _ := part(live, "subjects").([]any)
	var out []string
	for _, raw := range after {
		subject, _ := raw.(map[string]any)
		same := func(other any) bool {
			o, _ := other.(map[string]any)
			return text(o["kind"]) == text(subject["kind"]) && text(o["name"]) == text(subject["name"]) && text(o["namespace"]) == text(subject["namespace"])
		}
		if !slices.ContainsFunc(before, same) {
			out = append(out, text(subject["name"]))
		}
	}
	return out
}

// networkEscalation: a policy that lets in, or out, what the declared one does not.
func networkEscalation(in Input) escalation {
	if in.Live == nil {
		if in.Declared != nil {
			return escalation{detect.Critical, deniesByDefault(in.Declared)}
		}
		return escalation{}
	}
	if in.Object.Kind == "PeerAuthentication" && text(in.Field.Git.V) == "STRICT" && text(in.Field.Live.V) != "STRICT" {
		return escalation{detect.Critical, true}
	}
	for _, side := range [][2]string{{"ingress", "from"}, {"egress", "to"}} {
		if allowsAll(part(in.Live, "spec", side[0]), side[1]) && !allowsAll(part(in.Declared, "spec", side[0]), side[1]) {
			return escalation{detect.Critical, true}
		}
	}
	if in.Field.Path != nil && (len(list(part(in.Declared, "spec", "policyTypes"))) > len(list(part(in.Live, "spec", "policyTypes")))) {
		return escalation{detect.Critical, true}
	}
	return escalation{}
}

// deniesByDefault: the policy selects every pod and lets nothing through.
func deniesByDefault(policy *gitops.Object) bool {
	selector, isMap := part(policy, "spec", "podSelector").(map[string]any)
	ingress, _ := part(policy, "spec", "ingress").([]any)
	return isMap && len(selector) == 0 && len(ingress) == 0
}

// allowsAll says whether one of the rules lets everybody through: [] allows nobody, while an entry without
// peers allows everybody, and so does the whole address space
// (kubernetes.io/docs/concepts/services-networking/network-policies).
func allowsAll(rules any, peers string) bool {
	entries, _ := rules.([]any)
	for _, raw := range entries {
		rule, ok := raw.(map[string]any)
		if !ok {
			continue
		}
		from, _ := rule[peers].([]any)
		if len(from) == 0 {
			return true
		}
		for _, rawPeer := range from {
			peer, _ := rawPeer.(map[string]any)
			block, _ := peer["ipBlock"].(map[string]any)
			if cidr := text(block["cidr"]); cidr == "0.0.0.0/0" || cidr == "::/0" {
				return true
			}
			if namespaces, isMap := peer["namespaceSelector"].(map[string]any); isMap && len(namespaces) == 0 && peer["podSelector"] == nil {
				return true
			}
		}
	}
	return false
}
