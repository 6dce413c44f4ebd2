package lab

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
)

// User is someone who can sign in to every cluster of a lab.
type User string

// The users of a lab. Bot has no rights at all until [Cluster.Grant] gives it some; the others can do what their
// comment says.
const (
	Admin  User = "admin"  // system:masters: everything, past all access control
	Engine User = "engine" // Flux's kustomize-controller, bound to cluster-admin
	Source User = "source" // Flux's source-controller, bound to cluster-admin
	ArgoCD User = "argocd" // Argo CD's application controller, bound to cluster-admin
	Bot    User = "bot"    // drift-bot of group drift-bots: no rights
	Alice  User = "alice"  // alice@example.test of group sre, bound to cluster-admin
	Bob    User = "bob"    // bob@example.test of group developers: the rules of the role edit, in every namespace

	controllerManager User = "kube-controller-manager"
	scheduler         User = "kube-scheduler"
)

// account is how the API server sees a user.
type account struct {
	user   User
	name   string   // as in audit entries
	groups []string // groups beside system:authenticated
	roles  []string // ClusterRoles that a lab binds the user to at its start
}

func accounts() []account {
	admin := []string{"cluster-admin"}
	// The role edit is an aggregate that stays empty without a controller-manager; these two are its parts.
	edit := []string{"system:aggregate-to-edit", "system:aggregate-to-view"}
	serviceAccount := func(user User, namespace, name string) account {
		return account{user: user, name: "system:serviceaccount:" + namespace + ":" + name, roles: admin,
			groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}}
	}
	return []account{
		{user: Admin, name: "admin", groups: []string{"system:masters"}},
		serviceAccount(Engine, "flux-system", "kustomize-controller"),
		serviceAccount(Source, "flux-system", "source-controller"),
		serviceAccount(ArgoCD, "argocd", "argocd-application-controller"),
		{user: Bot, name: "drift-bot", groups: []string{"drift-bots"}},
		{user: Alice, name: "alice@example.test", groups: []string{"sre"}, roles: admin},
		{user: Bob, name: "bob@example.test", groups: []string{"developers"}, roles: edit},
		{user: controllerManager, name: "system:kube-controller-manager", groups: []string{"system:masters"}},
		{user: scheduler, name: "system:kube-scheduler", groups: []string{"system:masters"}},
	}
}

// find returns the account of a user. Users are constants of this package, so an unknown one is a mistake in the
// calling test and panics.
func find(user User) account {
	for _, a := range accounts() {
		if a.user == user {
			return a
		}
	}
	panic(fmt.Sprintf("lab: unknown user %q", user))
}

// newTokens makes one bearer token a user, and the file that an API server reads them from.
func newTokens() (tokens map[User]string, file string) {
	tokens = map[User]string{}
	var lines strings.Builder
	for _, a := range accounts() {
		random := make([]byte, 16)
		rand.Read(random) // never fails
		tokens[a.user] = string(a.user) + "-" + hex.EncodeToString(random)
		fmt.Fprintf(&lines, "%s,%s,%s,\"%s\"\n", tokens[a.user], a.name, "uid-"+string(a.user), strings.Join(a.groups, ","))
	}
	return tokens, lines.String()
}
