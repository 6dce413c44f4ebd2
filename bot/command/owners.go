package command

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/bot"
)

// Dialect is a forge's way to write and to apply a CODEOWNERS file.
type Dialect string

// The dialects.
const (
	// GitHub: patterns like those of .gitignore; of all that match, the last decides.
	// (docs.github.com, "About code owners".)
	GitHub Dialect = "github"
	// GitLab: sections, of each of which the last pattern that matches decides.
	// (docs.gitlab.com, "Code Owners syntax and error handling".)
	GitLab Dialect = "gitlab"
	// Gitea, and Forgejo: regular expressions over the whole path; all that match decide together.
	// (docs.gitea.com, "Code Owners".)
	Gitea Dialect = "gitea"
)

// OwnerFiles are the places of CODEOWNERS; the first that exists is the one that counts.
func (d Dialect) OwnerFiles() []string {
	switch d {
	case GitHub:
		return []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}
	case GitLab:
		return []string{"CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"}
	case Gitea:
		return []string{"CODEOWNERS", "docs/CODEOWNERS", ".gitea/CODEOWNERS", ".forgejo/CODEOWNERS"}
	}
	return nil
}

// Owners is a CODEOWNERS file. A nil one owns nothing.
type Owners struct {
	dialect  Dialect
	sections []section
	// Unreadable are the lines, from 1, that the forge may understand and Holdfast does not. Ignored are those that
	// the forge leaves out too.
	Unreadable, Ignored []int
}

// section is a part of the file that decides by itself. Only GitLab has more than one.
type section struct {
	name     string
	optional bool
	defaults []string
	rules    []rule
}

// rule is one line.
type rule struct {
	line    int
	match   func(path string) bool
	owners  []string // without the first @ of each; what still has one at its beginning is a role of GitLab's
	exclude bool     // takes the path out of its section
}

// ParseOwners reads a CODEOWNERS file. What its dialect leaves out is left out.
func ParseOwners(dialect Dialect, content string) *Owners {
	o := &Owners{dialect: dialect, sections: []section{{}}}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(content, "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		switch dialect {
		case GitLab:
			o.gitlabLine(number, line)
		case Gitea:
			o.giteaLine(number, line)
		default:
			o.githubLine(number, line)
		}
	}
	return o
}

func (o *Owners) add(r rule) {
	last := &o.sections[len(o.sections)-1]
	last.rules = append(last.rules, r)
}

// Of gives who owns a path: any of each list. A section that is optional asks nobody.
func (o *Owners) Of(path string) [][]string {
	if o == nil {
		return nil
	}
	path = strings.TrimPrefix(path, "/")
	var out [][]string
	for _, s := range o.sections {
		if owners := s.of(path, o.dialect == Gitea); len(owners) > 0 && !s.optional {
			out = append(out, owners)
		}
	}
	return out
}

func (s section) of(path string, together bool) []string {
	var owners []string
	for _, r := range s.rules {
		switch {
		case !r.match(path):
		case together:
			owners = append(owners, r.owners...)
		case r.exclude:
			return nil // nothing takes it back in
		default:
			owners = r.owners
		}
	}
	return owners
}

// decide says whether a person owns every path that has owners; where there are several lists, one of them is enough,
// for that all are asked is seen to by the forge.
func (o *Owners) decide(by Person, paths []string) Answer {
	if o == nil {
		return Answer{}
	}
	if len(o.Unreadable) > 0 {
		return Answer{Unreadable, fmt.Sprintf("Line %d of CODEOWNERS cannot be read, so nobody is known to be an owner.", o.Unreadable[0])}
	}
	for _, path := range paths {
		lists := o.Of(path)
		if len(lists) == 0 {
			continue
		}
		all := slices.Concat(lists...)
		if slices.ContainsFunc(all, func(owner string) bool { return o.is(by, owner) }) {
			continue
		}
		if !by.TeamsKnown && slices.ContainsFunc(all, func(owner string) bool { return o.isTeam(owner) }) {
			return Answer{TeamsUnknown, fmt.Sprintf("%s is owned by %s, and who belongs to a team is not known here: name people in CODEOWNERS, or ask for less in the setting commands.",
				path, strings.Join(all, ", "))}
		}
		return Answer{NotOwner, fmt.Sprintf("%s is owned by %s.", path, strings.Join(all, ", "))}
	}
	return Answer{}
}

// Entitled says whether a person may answer for the paths by CODEOWNERS: all that have owners are theirs.
func (o *Owners) Entitled(by Person, paths []string) bool {
	return o.decide(by, paths).Refusal == Allowed
}

// is says whether an owner, as it is written, is the person.
func (o *Owners) is(by Person, owner string) bool {
	if role, ok := strings.CutPrefix(owner, "@"); ok {
		need, known := map[string]bot.Role{"developer": bot.Writer, "maintainer": bot.Keeper, "owner": bot.Administrator}[strings.TrimSuffix(role, "s")]
		return known && by.Role >= need
	}
	if by.Login != "" && strings.EqualFold(owner, by.Login) {
		return true
	}
	return slices.ContainsFunc(by.Teams, func(team string) bool { return strings.EqualFold(owner, team) })
}

// isTeam says whether an owner may be a team. On GitLab a group's path looks like a person's login.
func (o *Owners) isTeam(owner string) bool {
	return strings.Contains(owner, "/") || o.dialect == GitLab && !strings.HasPrefix(owner, "@")
}

// ownersOf keeps what can own something of a line's words: @login, @org/team, and e-mail addresses, which are left as
// they are and match nobody.
func ownersOf(words []string) []string {
	var out []string
	for _, word := range words {
		if owner := strings.TrimPrefix(word, "@"); owner != "" && strings.Contains(word, "@") {
			out = append(out, owner)
		}
	}
	return out
}
