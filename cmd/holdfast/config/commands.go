package config

import (
	"maps"
	"slices"
	"strings"

	"holdfast/bot/command"
	"holdfast/bot/identity"
)

// Commands is what people may ask of `holdfast serve` in comments, and who may approve its pull requests.
type Commands struct {
	// Off leaves all comments alone.
	Off bool `json:"off,omitempty"`
	// Rights is what each command needs: reader, triager, writer, owner (a writer who is an owner of the files by
	// CODEOWNERS), keeper or administrator. Default: codify and revert writer, ignore and unignore owner, rescan triager,
	// explain, status and help reader.
	Rights command.Rights `json:"rights,omitzero"`
	// Approval is what somebody needs whose approval of one of Holdfast's pull requests counts. Default: owner.
	Approval command.Need `json:"approval,omitzero" jsonschema:"enum=reader,enum=triager,enum=writer,enum=owner,enum=keeper,enum=administrator"`
	// Teams are the members of teams, by the team's name as CODEOWNERS has it, without @: forges do not tell them to a bot
	// with least permissions.
	Teams map[string][]string `json:"teams,omitempty"`
	// Limits bound how many commands are acted on.
	Limits CommandLimits `json:"limits,omitzero"`

	line int
}

// SetLine keeps where the section stands.
func (c *Commands) SetLine(line int) { c.line = line }

// CommandLimits are how many comments with commands of one author are acted on within an hour.
type CommandLimits struct {
	// Thread is for one pull request or issue. Default: 10.
	Thread int `json:"thread,omitempty"`
	// Author is for all of a repository. Default: 60.
	Author int `json:"author,omitempty"`
}

// TeamsOf gives the teams that an account belongs to, sorted. Forges do not tell logins apart by case.
func (c Commands) TeamsOf(login string) []string {
	var out []string
	for _, team := range slices.Sorted(maps.Keys(c.Teams)) {
		if slices.ContainsFunc(c.Teams[team], func(member string) bool { return strings.EqualFold(member, login) }) {
			out = append(out, team)
		}
	}
	return out
}

func (k *checker) commands(c *Commands) {
	for _, team := range slices.Sorted(maps.Keys(c.Teams)) {
		if team == "" || strings.HasPrefix(team, "@") || strings.ContainsAny(team, " \t\n") {
			k.fail(c.line, "commands: teams: %q: want the name as CODEOWNERS has it, without @, such as org/team", team)
		}
		if len(c.Teams[team]) == 0 || slices.Contains(c.Teams[team], "") {
			k.fail(c.line, "commands: teams: %s: want the logins of its members", team)
		}
	}
	if c.Limits.Thread < 0 || c.Limits.Author < 0 {
		k.fail(c.line, "commands: limits: want numbers of comments an hour, from 1 on")
	}
}

func (k *checker) identities(m identity.Mapping) {
	_, mistakes := identity.Compile(m)
	for _, one := range mistakes {
		k.fail(one.Line, "identities: %s", one.Text)
	}
}
