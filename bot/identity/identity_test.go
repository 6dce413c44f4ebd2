package identity

import (
	"strings"
	"testing"

	"holdfast/detect"
)

func compiled(t *testing.T, m Mapping) *Identities {
	t.Helper()
	ids, mistakes := Compile(m)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return ids
}

// mapping has one entry of each kind.
func mapping() Mapping {
	return Mapping{
		People: []Person{
			{Login: "alice", Also: []string{"alice-ops"}, Users: []string{"arn:aws:sts::1234:assumed-role/Admin/alice", "oidc:al@example.com"}},
			{Login: "bob"},
		},
		Claims:   []string{"example.com/login", "example.com/account"},
		Patterns: []string{"oidc:{login}@example.com", "corp\\{login}"},
	}
}

func TestLogin(t *testing.T) {
	ids := compiled(t, mapping())
	for _, c := range []struct {
		name    string
		user    User
		login   string
		unknown Unknown
	}{
		{"a name that a pattern fits", User{Name: "oidc:carol@example.com"}, "carol", Known},
		{"a pattern keeps the case of a login", User{Name: `corp\Carol.Miller-2`}, "Carol.Miller-2", Known},
		{"a name in the table", User{Name: "arn:aws:sts::1234:assumed-role/Admin/alice"}, "alice", Known},
		{"the table goes before a pattern that fits", User{Name: "oidc:al@example.com"}, "alice", Known},
		{"a claim goes before a pattern", User{"oidc:carol@example.com", map[string][]string{"example.com/login": {"cmiller"}}}, "cmiller", Known},
		{"the table goes before a claim", User{"oidc:al@example.com", map[string][]string{"example.com/login": {"other"}}}, "alice", Known},
		{"the first claim that is there counts", User{"x", map[string][]string{"example.com/account": {"carol"}}}, "carol", Known},
		{"a claim with two values says nothing", User{"x", map[string][]string{"example.com/login": {"carol", "dave"}}}, "", NoMapping},
		{"an empty claim says nothing", User{"x", map[string][]string{"example.com/login": {""}}}, "", NoMapping},
		{"a name of another domain", User{Name: "oidc:carol@example.com.evil.test"}, "", NoMapping},
		{"a name before the pattern's", User{Name: "x oidc:carol@example.com"}, "", NoMapping},
		{"a name that would bring a domain into the login", User{Name: "oidc:carol@evil.test@example.com"}, "", NoMapping},
		{"a login that no forge has", User{Name: "oidc:-@example.com"}, "", NoMapping},
		{"a service account is no person, whatever fits", User{"system:serviceaccount:shop:deployer", map[string][]string{"example.com/login": {"alice"}}}, "", NoPerson},
		{"a node is no person", User{Name: "system:node:n1"}, "", NoPerson},
		{"the administrator of some distributions is nobody in particular", User{Name: "system:admin"}, "", NoPerson},
		{"a cloud's service account is no person", User{Name: "deployer@shop.iam.gserviceaccount.com"}, "", NoPerson},
		{"nobody", User{}, "", NoUser},
	} {
		if login, unknown := ids.Login(c.user); login != c.login || unknown != c.unknown {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, login, unknown, c.login, c.unknown)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		mapping Mapping
		line    int
		want    string
	}{
		"a pattern without a login":       {Mapping{Patterns: []string{"oidc:x@example.com"}, line: 3}, 3, "{login} once"},
		"a pattern with two":              {Mapping{Patterns: []string{"{login}:{login}"}, line: 3}, 3, "{login} once"},
		"a pattern that is a login alone": {Mapping{Patterns: []string{"{login}"}, line: 3}, 3, "beside it"},
		"a person without a login":        {Mapping{People: []Person{{Users: []string{"x"}, line: 7}}}, 7, "login is empty"},
		"an account of two people":        {Mapping{People: []Person{{Login: "alice"}, {Login: "bob", Also: []string{"Alice"}}}}, 0, "Alice stands twice"},
		"a user of two people":            {Mapping{People: []Person{{Login: "alice", Users: []string{"x"}}, {Login: "bob", Users: []string{"x"}}}}, 0, "user x stands twice"},
		"a service account of a person":   {Mapping{People: []Person{{Login: "alice", Users: []string{"system:serviceaccount:a:b"}}}}, 0, "is a program's"},
	} {
		_, mistakes := Compile(c.mapping)
		if len(mistakes) != 1 || mistakes[0].Line != c.line || !strings.Contains(mistakes[0].Text, c.want) {
			t.Errorf("%s: %+v, want one with %q", name, mistakes, c.want)
		}
	}
}

func TestSame(t *testing.T) {
	ids := compiled(t, mapping())
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"alice", "ALICE", true}, {"alice", "alice-ops", true}, {"Alice-Ops", "alice", true}, {"alice", "bob", false}, {"carol", "Carol", true}, {"carol", "alice", false},
	} {
		if ids.Same(c.a, c.b) != c.same {
			t.Errorf("%s and %s: same is %v", c.a, c.b, !c.same)
		}
	}
}

func FuzzLogin(f *testing.F) {
	for _, name := range []string{"oidc:carol@example.com", "system:serviceaccount:a:b", `corp\x`, ""} {
		f.Add(name)
	}
	ids, _ := Compile(mapping())
	f.Fuzz(func(t *testing.T, name string) {
		login, unknown := ids.Login(User{Name: name})
		if (login == "") != (unknown != Known) {
			t.Fatalf("%q: %q and %q", name, login, unknown)
		}
		if strings.HasPrefix(name, "system:") && login != "" || login != "alice" && strings.ContainsAny(login, "@:/\\ \n") {
			t.Fatalf("%q: %q", name, login)
		}
	})
}

func writers(list ...detect.Writer) []detect.Writer { return list }

func TestMakers(t *testing.T) {
	ids := compiled(t, mapping())
	byAudit := func(user, as string) detect.Writer {
		return detect.Writer{Manager: "kubectl-edit", User: user, As: as, Confidence: detect.ByAudit}
	}
	const alice, carol, portal = "oidc:al@example.com", "oidc:carol@example.com", "system:serviceaccount:portal:portal"
	metadata := byAudit(carol, "")
	metadata.Confidence = detect.ByAuditMetadata
	for _, c := range []struct {
		name    string
		writers []detect.Writer
		want    string // logins, ? for one that is not certain, nobody for none
	}{
		{"one person", writers(byAudit(carol, "")), "carol"},
		{"one person twice", writers(byAudit(carol, ""), byAudit(carol, "")), "carol"},
		{"one person by two users", writers(byAudit(alice, ""), byAudit("arn:aws:sts::1234:assumed-role/Admin/alice", "")), "alice"},
		{"two people", writers(byAudit(carol, ""), byAudit(alice, "")), "carol alice"},
		{"a person who impersonated an administrator", writers(byAudit(carol, "system:admin")), "carol"},
		{"a person who impersonated another", writers(byAudit(carol, alice)), "carol"},
		{"a portal for a person", writers(byAudit(portal, alice)), "alice?"},
		{"a stranger for a person", writers(byAudit("mallory", alice)), "alice?"},
		{"a program", writers(byAudit(portal, "")), "nobody"},
		{"a user whom no entry names", writers(byAudit("mallory", "")), "nobody"},
		{"the event names the object only", writers(metadata), "carol?"},
		{"what is proven of one field does not prove another", writers(byAudit(carol, ""), metadata), "carol?"},
		{"a manager's name alone", writers(detect.Writer{Manager: "alice", Confidence: detect.ByManager}), "nobody"},
		{"a user without an audit event", writers(detect.Writer{Manager: "kubectl", User: carol, Confidence: detect.Inferred}), "nobody"},
		{"a person, and somebody unknown", writers(byAudit(carol, ""), detect.Writer{Confidence: detect.Unresolved}), "carol nobody"},
		{"no writers", nil, "nobody"},
	} {
		var got []string
		for _, m := range ids.Makers(c.writers) {
			switch {
			case m.Login == "":
				got = append(got, "nobody")
			case !m.Certain:
				got = append(got, m.Login+"?")
			default:
				got = append(got, m.Login)
			}
			if (m.Login == "" || !m.Certain) && m.Why == "" {
				t.Errorf("%s: %+v does not say why", c.name, m)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: makers are %v, want %s", c.name, got, c.want)
		}
	}
}
