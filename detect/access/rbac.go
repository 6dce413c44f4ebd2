package access

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"holdfast/gitops"
)

// Rule is one rule of a role: every verb on every resource of every group, narrowed to names where there are any.
type Rule struct {
	Verbs, Groups, Resources, Names, URLs []string
}

// Role is a Role or ClusterRole with the rules that it has now. The API server allows by them alone, also where the
// role is an aggregate: then a controller has written them.
type Role struct {
	ID    gitops.ObjectID
	Rules []Rule
	// Parts are the names of the ClusterRoles that an aggregate takes its rules from, parts of parts included, in
	// order; nil for a role that is none.
	Parts []string

	selectors []selector
	labels    map[string]string
}

// Grant is a role that a binding gives to one subject.
type Grant struct {
	Subject Subject
	Binding gitops.ObjectID
	Role    *Role
	// Namespace is where the grant holds; empty for the whole cluster, objects without a namespace included.
	Namespace string
}

// RBAC is the access control of one cluster, resolved. It is made by Load and may be read by several goroutines.
type RBAC struct {
	// Problems are in order: bindings to roles that are not there, aggregates that are not as their parts say.
	Problems []Problem

	roles  map[gitops.ObjectID]*Role
	grants map[Subject][]Grant
	// accounts are the service accounts that are known, by namespace; used are those that some pod runs as.
	accounts, used map[string]map[string]bool
}

// Reads says whether Load looks at objects of a kind.
func Reads(kind gitops.GroupKind) bool {
	return slices.Contains(Kinds(), kind) || kind == gitops.GroupKind{Kind: "ServiceAccount"} || runsPods(kind)
}

// Kinds are the kinds without which nothing can be said.
func Kinds() []gitops.GroupKind {
	return []gitops.GroupKind{
		{Group: rbacGroup, Kind: "ClusterRole"}, {Group: rbacGroup, Kind: "ClusterRoleBinding"},
		{Group: rbacGroup, Kind: "Role"}, {Group: rbacGroup, Kind: "RoleBinding"},
	}
}

// Load resolves the roles and bindings among the objects of a cluster. Service accounts, and workloads for the accounts
// that they run as, are taken where they are there. What is malformed, which no API server stores, gives no right.
func Load(objects iter.Seq[gitops.Object]) *RBAC {
	x := &RBAC{
		roles: map[gitops.ObjectID]*Role{}, grants: map[Subject][]Grant{},
		accounts: map[string]map[string]bool{}, used: map[string]map[string]bool{},
	}
	var bindings []gitops.Object
	for o := range objects {
		switch {
		case o.ID.Group == rbacGroup && (o.ID.Kind == "Role" || o.ID.Kind == "ClusterRole"):
			x.roles[o.ID] = decodeRole(o)
		case o.ID.Group == rbacGroup && (o.ID.Kind == "RoleBinding" || o.ID.Kind == "ClusterRoleBinding"):
			bindings = append(bindings, o)
		case o.ID.GroupKind() == gitops.GroupKind{Kind: "ServiceAccount"}:
			enter(x.accounts, o.ID.Namespace, o.ID.Name)
		case runsPods(o.ID.GroupKind()):
			enter(x.used, o.ID.Namespace, accountOf(o))
		}
	}
	x.aggregate()
	for _, b := range bindings {
		x.bind(b)
	}
	for _, grants := range x.grants {
		slices.SortFunc(grants, func(a, b Grant) int { return a.Binding.Compare(b.Binding) })
	}
	slices.SortFunc(x.Problems, func(a, b Problem) int {
		return cmp.Or(a.Object.Compare(b.Object), cmp.Compare(a.Message, b.Message))
	})
	return x
}

// Subjects gives all whom bindings name, in order.
func (x *RBAC) Subjects() []Subject {
	return slices.SortedFunc(maps.Keys(x.grants), Subject.Compare)
}

// Grants gives what bindings give to a subject by its own name, in order of the bindings.
func (x *RBAC) Grants(s Subject) []Grant { return x.grants[s] }

// Role finds a role.
func (x *RBAC) Role(id gitops.ObjectID) (*Role, bool) {
	r, ok := x.roles[id]
	return r, ok
}

func enter(set map[string]map[string]bool, namespace, name string) {
	if set[namespace] == nil {
		set[namespace] = map[string]bool{}
	}
	set[namespace][name] = true
}

// bind adds the grants of a binding. A subject that stands in it twice gets one.
func (x *RBAC) bind(o gitops.Object) {
	ref, _ := o.Content["roleRef"].(map[string]any)
	id := gitops.ObjectID{Group: rbacGroup, Kind: text(ref["kind"]), Name: text(ref["name"])}
	if id.Kind == "Role" {
		id.Namespace = o.ID.Namespace
	}
	role, ok := x.roles[id]
	if !ok {
		x.Problems = append(x.Problems, Problem{o.ID, fmt.Sprintf("binds the %s %s, which is not there: it gives no right now, and all that a role of this name will have as soon as somebody makes one", id.Kind, id.Name)})
		return
	}
	seen := map[Subject]bool{}
	subjects, _ := o.Content["subjects"].([]any)
	for _, raw := range subjects {
		entry, _ := raw.(map[string]any)
		s := Subject{Kind: SubjectKind(text(entry["kind"])), Name: text(entry["name"])}
		switch s.Kind {
		case ServiceAccount: // of a RoleBinding's own namespace where it names none
			if s.Namespace = cmp.Or(text(entry["namespace"]), o.ID.Namespace); s.Namespace == "" {
				continue
			}
			enter(x.accounts, s.Namespace, s.Name)
		case User:
			if s = SubjectOf(s.Name); s.Kind == ServiceAccount {
				enter(x.accounts, s.Namespace, s.Name)
			}
		case Group:
		default:
			continue
		}
		if !seen[s] {
			seen[s] = true
			x.grants[s] = append(x.grants[s], Grant{Subject: s, Binding: o.ID, Role: role, Namespace: o.ID.Namespace})
		}
	}
}

func decodeRole(o gitops.Object) *Role {
	r := &Role{ID: o.ID, labels: o.Labels()}
	rules, _ := o.Content["rules"].([]any)
	for _, raw := range rules {
		rule, _ := raw.(map[string]any)
		r.Rules = append(r.Rules, Rule{
			Verbs: texts(rule["verbs"]), Groups: texts(rule["apiGroups"]), Resources: texts(rule["resources"]),
			Names: texts(rule["resourceNames"]), URLs: texts(rule["nonResourceURLs"]),
		})
	}
	aggregation, _ := o.Content["aggregationRule"].(map[string]any)
	selectors, _ := aggregation["clusterRoleSelectors"].([]any)
	for _, raw := range selectors {
		s, _ := raw.(map[string]any)
		r.selectors = append(r.selectors, decodeSelector(s))
	}
	return r
}

// runsPods says whether objects of a kind have a pod template, or are pods.
func runsPods(kind gitops.GroupKind) bool {
	switch kind.Group {
	case "":
		return kind.Kind == "Pod" || kind.Kind == "ReplicationController"
	case "apps":
		return kind.Kind == "Deployment" || kind.Kind == "StatefulSet" || kind.Kind == "DaemonSet" || kind.Kind == "ReplicaSet"
	case "batch":
		return kind.Kind == "Job" || kind.Kind == "CronJob"
	}
	return false
}

// accountOf gives the service account that an object's pods run as.
func accountOf(o gitops.Object) string {
	at, _ := o.Content["spec"].(map[string]any)
	for _, step := range []string{"jobTemplate", "spec", "template", "spec"} {
		if next, ok := at[step].(map[string]any); ok {
			at = next
		}
	}
	return cmp.Or(text(at["serviceAccountName"]), text(at["serviceAccount"]), "default")
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func texts(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
