// Package access resolves the access control (RBAC) of one cluster, and says who can change what a GitOps engine
// manages past the pipeline: directly, or by becoming somebody who can. It works on objects that were read before and
// knows no cluster.
//
// [Load] reads roles and bindings. [RBAC.Allows] answers for one request as the API server's own authorizer does.
// [RBAC.Survey] lists the answers that matter for the managed objects, worst first, each with the grants that lead
// there.
package access

import (
	"cmp"
	"strings"

	"holdfast/gitops"
)

// The group of roles and bindings, and of subjects that are users and groups.
const rbacGroup = "rbac.authorization.k8s.io"

// SubjectKind is what a binding names: a user, a group, or a service account.
type SubjectKind string

// The kinds of subject.
const (
	User           SubjectKind = "User"
	Group          SubjectKind = "Group"
	ServiceAccount SubjectKind = "ServiceAccount"
)

// Groups that the API server itself puts users in, or knows.
// Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
const (
	Masters         = "system:masters"
	Authenticated   = "system:authenticated"
	Unauthenticated = "system:unauthenticated"
	allAccounts     = "system:serviceaccounts"
	anonymous       = "system:anonymous"
	firstAdmin      = "system:admin" // a person's certificate on OpenShift and k3s
	accountPrefix   = "system:serviceaccount:"
)

// Subject is whom a binding names. Namespace is set for service accounts only.
type Subject struct {
	Kind            SubjectKind
	Namespace, Name string
}

// SubjectOf gives the subject that a user name stands for: service accounts sign in as users with names of their own.
func SubjectOf(user string) Subject {
	if rest, ok := strings.CutPrefix(user, accountPrefix); ok {
		if namespace, name, ok := strings.Cut(rest, ":"); ok {
			return Subject{Kind: ServiceAccount, Namespace: namespace, Name: name}
		}
	}
	return Subject{Kind: User, Name: user}
}

// String gives the kind and the name: User alice, ServiceAccount shop/web.
func (s Subject) String() string {
	if s.Kind == ServiceAccount {
		return string(s.Kind) + " " + s.Namespace + "/" + s.Name
	}
	return string(s.Kind) + " " + s.Name
}

// Compare orders subjects by kind, namespace and name.
func (s Subject) Compare(o Subject) int {
	return cmp.Or(cmp.Compare(s.Kind, o.Kind), cmp.Compare(s.Namespace, o.Namespace), cmp.Compare(s.Name, o.Name))
}

// Username is the name under which the subject's requests arrive; empty for a group.
func (s Subject) Username() string {
	switch s.Kind {
	case User:
		return s.Name
	case ServiceAccount:
		return accountPrefix + s.Namespace + ":" + s.Name
	case Group:
	}
	return ""
}

// Identity gives the subject as one who makes requests, with the groups that the API server adds by itself. A group
// stands for a member of whom nothing else is known.
func (s Subject) Identity() Identity {
	switch {
	case s.Kind == ServiceAccount:
		return Identity{Name: s.Username(), Groups: []string{allAccounts, allAccounts + ":" + s.Namespace, Authenticated}}
	case s.Kind == Group && s.Name == Unauthenticated, s.Kind == User && s.Name == anonymous:
		return Identity{Name: anonymous, Groups: []string{Unauthenticated}}
	case s.Kind == Group:
		return Identity{Groups: []string{s.Name, Authenticated}}
	}
	return Identity{Name: s.Name, Groups: []string{Authenticated}}
}

// Identity is who makes a request: a user name, and the groups that the user is in.
type Identity struct {
	Name   string
	Groups []string
}

// subjects gives what bindings may name the identity by.
func (i Identity) subjects() []Subject {
	var out []Subject
	if i.Name != "" {
		out = append(out, SubjectOf(i.Name))
	}
	for _, g := range i.Groups {
		out = append(out, Subject{Kind: Group, Name: g})
	}
	return out
}

// Sort tells people from programs.
type Sort string

// The sorts of subject.
const (
	// Person is a user or group that is none of the others.
	Person Sort = "person"
	// Everyone is a group that any caller is in, signed in or not.
	Everyone Sort = "everyone"
	// EngineAccount is an account by which a GitOps engine applies.
	EngineAccount Sort = "engine"
	// Controller is any other service account: what runs in the cluster.
	Controller Sort = "controller"
	// System is a part of Kubernetes or of the cloud's control plane.
	System Sort = "system"
)

// SortOf tells what a subject is. Engines are the accounts that the caller knows as such.
//
// Names of clouds' own users: https://docs.aws.amazon.com/eks/latest/userguide/default-roles-users.html (eks:),
// https://learn.microsoft.com/azure/aks/concepts-identity (aksService). GKE's begin with system:.
func SortOf(s Subject, engines map[Subject]bool) Sort {
	switch {
	case engines[s]:
		return EngineAccount
	case s.Kind == Group && (s.Name == Authenticated || s.Name == Unauthenticated), s.Kind == User && s.Name == anonymous:
		return Everyone
	case s.Kind == ServiceAccount && s.Namespace == "kube-system":
		return System
	case s.Kind == ServiceAccount, s.Kind == Group && (s.Name == allAccounts || strings.HasPrefix(s.Name, allAccounts+":")):
		return Controller
	case s.Kind == User && s.Name == firstAdmin:
		return Person
	case strings.HasPrefix(s.Name, "system:"), strings.HasPrefix(s.Name, "eks:"), s.Kind == User && s.Name == "aksService":
		return System
	}
	return Person
}

// Problem is something about the access control itself that limits the answer, or that should be put right.
type Problem struct {
	Object  gitops.ObjectID
	Message string
}

func (p Problem) String() string { return p.Object.String() + ": " + p.Message }
