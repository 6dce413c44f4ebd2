package command

import (
	"strings"
	"testing"
	"time"

	"holdfast/bot"
)

func TestDecide(t *testing.T) {
	owners := ParseOwners(GitHub, "* @alice\n/apps/shop/ @bob @example/shop\n/apps/free/\n")
	person := func(login string, role bot.Role, teams ...string) Person {
		return Person{Login: login, Role: role, Teams: teams, TeamsKnown: true}
	}
	command := func(line string) Command { return Parse(line).Commands[0] }
	ignore := command("/drift ignore 7d reason")
	shop := []string{"apps/shop/web.yaml"}
	for _, c := range []struct {
		name    string
		request Request
		want    Refusal
		because string
	}{
		{"a reader asks for the status", Request{Command: command("/drift status"), By: person("x", bot.Reader)}, Allowed, ""},
		{"nobody in particular asks for the status", Request{Command: command("/drift status"), By: person("x", bot.NoRole)}, RoleTooLow, "needs the role reader"},
		{"a reader asks for a revert", Request{Command: command("/drift revert"), By: person("x", bot.Reader)}, RoleTooLow, "needs the role writer or a higher one; x has reader"},
		{"a triager asks for a scan", Request{Command: command("/drift rescan"), By: person("x", bot.Triager)}, Allowed, ""},
		{"a writer asks for a codify of others' files", Request{Command: command("/drift codify"), By: person("x", bot.Writer), Files: shop, Owners: owners}, Allowed, ""},
		{"a writer asks to ignore others' files", Request{Command: ignore, By: person("x", bot.Writer), Files: shop, Owners: owners}, NotOwner, "apps/shop/web.yaml is owned by bob, example/shop"},
		{"an owner asks to ignore", Request{Command: ignore, By: person("Bob", bot.Writer), Files: shop, Owners: owners}, Allowed, ""},
		{"an owner who may not write asks to ignore", Request{Command: ignore, By: person("bob", bot.Reader), Files: shop, Owners: owners}, RoleTooLow, "writer"},
		{"an owner by a team", Request{Command: ignore, By: person("x", bot.Writer, "Example/Shop"), Files: shop, Owners: owners}, Allowed, ""},
		{"somebody whose teams are not known", Request{Command: ignore, By: Person{Login: "x", Role: bot.Writer}, Files: shop, Owners: owners}, TeamsUnknown, "not known"},
		{"an owner by name whose teams are not known", Request{Command: ignore, By: Person{Login: "bob", Role: bot.Writer}, Files: shop, Owners: owners}, Allowed, ""},
		{"an administrator who is no owner", Request{Command: ignore, By: person("x", bot.Administrator), Files: shop, Owners: owners}, NotOwner, "bob"},
		{"an owner of one file of two", Request{Command: ignore, By: person("bob", bot.Writer), Files: append(shop, "README.md"), Owners: owners}, NotOwner, "README.md is owned by alice"},
		{"files that nobody owns", Request{Command: ignore, By: person("x", bot.Writer), Files: []string{"apps/free/x.yaml"}, Owners: owners}, Allowed, ""},
		{"no CODEOWNERS", Request{Command: ignore, By: person("x", bot.Writer), Files: shop}, Allowed, ""},
		{"longer than the floor", Request{Command: ignore, By: person("x", bot.Writer), Longest: 36 * time.Hour}, TooLong, "longer than 36h"},
		{"as long as the floor", Request{Command: ignore, By: person("x", bot.Writer), Longest: 7 * 24 * time.Hour}, Allowed, ""},
		{"what is written wrongly", Request{Command: command("/drift ignore 7d"), By: person("x", bot.Administrator)}, Malformed, "The reason is missing."},
		{"an unknown command", Request{Command: command("/drift merge"), By: person("x", bot.Administrator)}, Malformed, "Unknown command."},
		{"more is asked for", Request{Command: command("/drift status"), By: person("x", bot.Writer), Rights: Rights{Status: needOf("keeper")}}, RoleTooLow, "keeper"},
		{"owners are asked for", Request{Command: command("/drift codify"), By: person("x", bot.Keeper), Files: shop, Owners: owners, Rights: Rights{Codify: needOf("owner")}}, NotOwner, "bob"},
		{"less is asked for", Request{Command: ignore, By: person("x", bot.Writer), Files: shop, Owners: owners, Rights: Rights{Ignore: needOf("writer")}}, Allowed, ""},
		{"a line of CODEOWNERS that cannot be read", Request{Command: ignore, By: person("alice", bot.Writer), Files: shop, Owners: ParseOwners(Gitea, ".* @alice\n(?!x).* @bob")}, Unreadable, "Line 2"},
	} {
		if got := Decide(c.request); got.Refusal != c.want || !strings.Contains(got.Because, c.because) || (got.Refusal == Allowed) != (got.Because == "") {
			t.Errorf("%s: %+v; want %q, %q", c.name, got, c.want, c.because)
		}
	}
}

func TestNeedText(t *testing.T) {
	for _, name := range needNames() {
		var n Need
		if err := n.UnmarshalText([]byte(name)); err != nil || n.String() != name {
			t.Errorf("%s: %v, %v", name, n, err)
		}
	}
	if err := new(Need).UnmarshalText([]byte("root")); err == nil || !strings.Contains(err.Error(), "administrator") {
		t.Errorf("an unknown name: %v", err)
	}
}
