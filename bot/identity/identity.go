// Package identity tells which person on the forge a user of a cluster is, and from that whether a change has been
// seen by four eyes: whoever made it on the cluster cannot be who approves it. It does no I/O.
package identity

import (
	"fmt"
	"regexp"
	"strings"

	"holdfast/detect"
)

// Mapping is the section identities of holdfast.yaml: which users of clusters are which people on the forge. Without
// an entry nobody is known, and every change needs two approvals.
type Mapping struct {
	// People are known by name. What is written here goes before all else.
	People []Person `json:"people,omitempty"`
	// Claims are names of extra attributes of a user, as the API server's authentication sets them, whose value is
	// the login. The first that a user has counts.
	Claims []string `json:"claims,omitempty"`
	// Patterns are user names with {login} in place of the login, such as oidc:{login}@example.com. The first that
	// fits counts.
	Patterns []string `json:"patterns,omitempty"`

	line int
}

// SetLine keeps where the mapping stands.
func (m *Mapping) SetLine(line int) { m.line = line }

// Person is one person, with all accounts on the forge and all users of clusters.
type Person struct {
	// Login is the account on the forge.
	Login string `json:"login"`
	// Also are further accounts of the same person.
	Also []string `json:"also,omitempty"`
	// Users are names of users, as clusters have them.
	Users []string `json:"users,omitempty"`

	line int
}

// SetLine keeps where the person stands.
func (p *Person) SetLine(line int) { p.line = line }

// User is somebody who signed in to a cluster.
type User struct {
	Name string
	// Extra are the attributes that the authentication gave, where they are known.
	Extra map[string][]string
}

// Unknown says why a user is no known person.
type Unknown string

// Why a user is no known person.
const (
	Known     Unknown = ""
	NoUser    Unknown = "nobody is known to have signed in"
	NoPerson  Unknown = "the user is a program's"
	NoMapping Unknown = "no entry of identities names the user"
)

// Identities is a compiled Mapping. It is safe for concurrent use.
type Identities struct {
	byUser   map[string]string
	byLogin  map[string]string // in lower case, to the person's first login in lower case
	claims   []string
	patterns []*regexp.Regexp
}

// A login that a pattern takes out of a name: what forges allow in one.
const loginPattern = `([A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?)`

// Mistake is what is wrong with a mapping, and the line that it stands on; 0 is not known.
type Mistake struct {
	Line int
	Text string
}

// Compile checks a mapping.
func Compile(m Mapping) (*Identities, []Mistake) {
	ids := &Identities{byUser: map[string]string{}, byLogin: map[string]string{}, claims: m.Claims}
	var mistakes []Mistake
	fail := func(line int, format string, args ...any) {
		mistakes = append(mistakes, Mistake{line, fmt.Sprintf(format, args...)})
	}
	for _, p := range m.People {
		if strings.TrimSpace(p.Login) == "" {
			fail(p.line, "people: login is empty; want the account on the forge")
			continue
		}
		for _, login := range append([]string{p.Login}, p.Also...) {
			key := strings.ToLower(login)
			if _, taken := ids.byLogin[key]; taken {
				fail(p.line, "people: the account %s stands twice; it is one person's", login)
			}
			ids.byLogin[key] = strings.ToLower(p.Login)
		}
		for _, user := range p.Users {
			if _, taken := ids.byUser[user]; taken {
				fail(p.line, "people: the user %s stands twice; it is one person's", user)
			}
			if !isPerson(user) {
				fail(p.line, "people: the user %s is a program's, and whoever has its credentials; it is nobody in particular", user)
			}
			ids.byUser[user] = p.Login
		}
	}
	for _, pattern := range m.Patterns {
		before, after, found := strings.Cut(pattern, "{login}")
		if !found || strings.Contains(after, "{login}") || before+after == "" {
			fail(m.line, "patterns: %q: want {login} once, and something beside it that tells whose names they are, such as oidc:{login}@example.com", pattern)
			continue
		}
		ids.patterns = append(ids.patterns, regexp.MustCompile("^"+regexp.QuoteMeta(before)+loginPattern+regexp.QuoteMeta(after)+"$"))
	}
	return ids, mistakes
}

// isPerson leaves out the administrator whom some distributions make: that is nobody in particular.
func isPerson(user string) bool {
	return user != "system:admin" && detect.Writer{User: user}.IsPerson()
}

// Login gives the account on the forge of a user.
func (ids *Identities) Login(u User) (string, Unknown) {
	switch {
	case u.Name == "":
		return "", NoUser
	case !isPerson(u.Name):
		return "", NoPerson
	}
	if login, ok := ids.byUser[u.Name]; ok {
		return login, Known
	}
	for _, claim := range ids.claims {
		if values := u.Extra[claim]; len(values) == 1 && values[0] != "" {
			return values[0], Known
		}
	}
	for _, pattern := range ids.patterns {
		if found := pattern.FindStringSubmatch(u.Name); found != nil {
			return found[1], Known
		}
	}
	return "", NoMapping
}

// Same says whether two accounts are one person's. Forges do not tell logins apart by case.
func (ids *Identities) Same(a, b string) bool { return ids.person(a) == ids.person(b) }

// person is the first login of whoever has an account, in lower case.
func (ids *Identities) person(login string) string {
	key := strings.ToLower(login)
	if first, ok := ids.byLogin[key]; ok {
		return first
	}
	return key
}
