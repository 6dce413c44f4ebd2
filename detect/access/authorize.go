package access

import (
	"slices"
	"strings"
)

// Request is what somebody asks of the API server. For a request that is about no resource only Verb and URL are set.
// The API server counts a Namespace as lying in itself.
type Request struct {
	Verb, Group, Resource, Subresource, Namespace, Name, URL string
}

// String gives "patch deployments.apps/scale shop/web".
func (q Request) String() string {
	if q.URL != "" {
		return q.Verb + " " + q.URL
	}
	out := q.Verb + " " + resourceName(q.Group, q.Resource, q.Subresource)
	if at := strings.Trim(q.Namespace+"/"+q.Name, "/"); at != "" {
		out += " " + at
	}
	return out
}

// resourceName gives deployments.apps/scale.
func resourceName(group, resource, subresource string) string {
	if group != "" {
		resource += "." + group
	}
	if subresource != "" {
		resource += "/" + subresource
	}
	return resource
}

// Allows says whether the rule allows a request, as k8s.io/kubernetes/pkg/apis/rbac/v1 evaluation_helpers.go has it.
func (r Rule) Allows(q Request) bool {
	if !holds(r.Verbs, q.Verb) {
		return false
	}
	if q.URL != "" {
		return slices.ContainsFunc(r.URLs, func(u string) bool {
			prefix, wild := strings.CutSuffix(u, "*")
			return u == q.URL || wild && strings.HasPrefix(q.URL, prefix)
		})
	}
	return holds(r.Groups, q.Group) && r.covers(q.Resource, q.Subresource) && (len(r.Names) == 0 || q.Name != "" && slices.Contains(r.Names, q.Name))
}

// covers matches a resource: * is all of them with their subresources, */scale that subresource of all.
func (r Rule) covers(resource, subresource string) bool {
	want := resource
	if subresource != "" {
		want += "/" + subresource
	}
	return slices.ContainsFunc(r.Resources, func(have string) bool {
		return have == "*" || have == want || subresource != "" && have == "*/"+subresource
	})
}

func holds(have []string, want string) bool {
	return slices.Contains(have, want) || slices.Contains(have, "*")
}

// whole says whether the rule allows every verb on every resource.
func (r Rule) whole() bool {
	return len(r.Names) == 0 && slices.Contains(r.Verbs, "*") && slices.Contains(r.Groups, "*") && slices.Contains(r.Resources, "*")
}

// Allows says whether an identity may make a request, and by which grant. The answer is the API server's own, as long
// as RBAC is its only authorizer; a node's rights come from another. Members of system:masters may do everything, by
// no grant.
func (x *RBAC) Allows(who Identity, q Request) (by Grant, ok bool) {
	if slices.Contains(who.Groups, Masters) {
		return Grant{Subject: Subject{Kind: Group, Name: Masters}}, true
	}
	for _, s := range who.subjects() {
		for _, g := range x.grants[s] {
			if g.allows(q) {
				return g, true
			}
		}
	}
	return Grant{}, false
}

func (g Grant) allows(q Request) bool {
	if g.Namespace != "" && (g.Namespace != q.Namespace || q.URL != "") {
		return false
	}
	return slices.ContainsFunc(g.Role.Rules, func(r Rule) bool { return r.Allows(q) })
}
