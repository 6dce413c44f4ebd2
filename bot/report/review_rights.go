package report

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// mutationRights looks for what would let people change clusters past the pipeline: roles with other verbs than those that read,
// bindings of people to roles that are not of this report, and allowances in Argo CD's own access control.
func (v reviewer) mutationRights() []string {
	var out []string
	for _, a := range v.report.Plan.Actions {
		for _, m := range a.Manifests {
			for _, fault := range givesRights(m.YAML) {
				out = append(out, a.ID+": "+fault)
			}
		}
	}
	return out
}

func givesRights(manifest string) []string {
	var object struct {
		Kind        string              `json:"kind"`
		Rules       []rbacv1.PolicyRule `json:"rules"`
		RoleRef     rbacv1.RoleRef      `json:"roleRef"`
		Subjects    []rbacv1.Subject    `json:"subjects"`
		Aggregation any                 `json:"aggregationRule"`
		Data        map[string]string   `json:"data"`
		Spec        struct {
			Roles []struct {
				Policies []string `json:"policies"`
			} `json:"roles"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		return []string{err.Error()}
	}
	var out []string
	switch object.Kind {
	case "Role", "ClusterRole":
		for _, rule := range object.Rules {
			for _, verb := range rule.Verbs {
				if !slices.Contains([]string{"get", "list", "watch"}, verb) {
					out = append(out, "a role with the verb "+verb)
				}
			}
			for _, resource := range rule.Resources {
				if slices.Contains(rule.APIGroups, "") && (resource == "*" || resource == "secrets" || strings.HasPrefix(resource, "pods/") && resource != "pods/log") {
					out = append(out, "a role that reaches "+resource)
				}
			}
		}
		if object.Aggregation != nil {
			out = append(out, "a role that takes in the rules of others")
		}
	case "RoleBinding", "ClusterRoleBinding":
		for _, s := range object.Subjects {
			if s.Kind != rbacv1.ServiceAccountKind && object.RoleRef.Name != "gitops-reader" && object.RoleRef.Name != "view" {
				out = append(out, fmt.Sprintf("%s %s is bound to %s", s.Kind, s.Name, object.RoleRef.Name))
			}
		}
	}
	policies := []string{}
	for _, role := range object.Spec.Roles {
		policies = append(policies, role.Policies...)
	}
	for key, text := range object.Data {
		if strings.HasPrefix(key, "policy") {
			policies = append(policies, strings.Split(text, "\n")...)
		}
	}
	for _, p := range policies {
		fields := strings.Split(p, ",")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if len(fields) >= 6 && fields[0] == "p" && fields[5] == "allow" && fields[3] != "get" {
			out = append(out, "Argo CD's access control allows "+fields[3])
		}
	}
	return out
}
