package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/command"
)

func TestCommandsAndIdentities(t *testing.T) {
	c, err := Decode("holdfast.yaml", []byte(`apiVersion: holdfast/v1
kind: Config
identities:
  people: [{login: alice, also: [alice-ops], users: [al@example.com]}]
  patterns: ["oidc:{login}@example.com"]
commands:
  rights: {codify: owner, rescan: reader}
  approval: keeper
  teams: {org/platform: [Alice, bob], org/shop: [alice]}
  limits: {thread: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Commands.Rights.Of(command.Codify); !got.Owner || got.Role != bot.Writer {
		t.Errorf("codify needs %s, want an owner", got)
	}
	if got := c.Commands.Rights.Of(command.Revert); got.Owner || got.Role != bot.Writer {
		t.Errorf("revert needs %s, want the default, a writer", got)
	}
	if c.Commands.Approval.Role != bot.Keeper || c.Commands.Limits.Thread != 3 {
		t.Errorf("approval %s, limits %+v", c.Commands.Approval, c.Commands.Limits)
	}
	if diff := cmp.Diff([]string{"org/platform", "org/shop"}, c.Commands.TeamsOf("alice")); diff != "" {
		t.Error(diff)
	}
	if got := c.Commands.TeamsOf("carol"); len(got) != 0 {
		t.Errorf("carol is in %v", got)
	}
	if len(c.Identities.People) != 1 || c.Identities.People[0].Also[0] != "alice-ops" {
		t.Errorf("identities %+v", c.Identities)
	}
}

func TestMistakesInCommandsAndIdentitiesNameTheirLine(t *testing.T) {
	const head = "apiVersion: holdfast/v1\nkind: Config\n"
	for text, want := range map[string]string{
		"commands: {rights: {codify: boss}}":                              "holdfast.yaml:3: ",
		"commands:\n  rights: {merge: writer}":                            "merge",
		"commands:\n  teams:\n    \"@org/x\": [alice]":                    "holdfast.yaml:4: commands: teams: \"@org/x\"",
		"commands: {teams: {org/x: []}}":                                  "logins of its members",
		"commands: {limits: {thread: -1}}":                                "numbers of comments an hour",
		"commands: {approval: everybody}":                                 "everybody",
		"identities:\n  people:\n    - {login: alice}\n    - login: \"\"": "holdfast.yaml:6: identities: people: login is empty",
		"identities:\n  patterns: [\"{login}\"]":                          "holdfast.yaml:4: identities: patterns",
		"identities:\n  people: [{login: a, users: [system:admin]}]":      "is a program's",
		"identities: {persons: []}":                                       "persons",
	} {
		_, err := Decode("holdfast.yaml", []byte(head+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want it to say %q", text, err, want)
		}
	}
}
