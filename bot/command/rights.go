package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
)

// Need is what somebody must be to ask for something. As text it is a role's name, or owner: a writer who is also an
// owner of the files by CODEOWNERS, where that names any. The zero Need is not set.
type Need struct {
	Role  bot.Role
	Owner bool
}

// needNames are all needs by name, the least first.
func needNames() []string {
	return []string{"reader", "triager", "writer", "owner", "keeper", "administrator"}
}

func needOf(name string) Need {
	roles := map[string]bot.Role{
		"reader": bot.Reader, "triager": bot.Triager, "writer": bot.Writer, "owner": bot.Writer,
		"keeper": bot.Keeper, "administrator": bot.Administrator,
	}
	return Need{Role: roles[name], Owner: name == "owner"}
}

// String gives the name.
func (n Need) String() string {
	for _, name := range needNames() {
		if needOf(name) == n {
			return name
		}
	}
	return "nobody"
}

// MarshalText prints as String does.
func (n Need) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads a name.
func (n *Need) UnmarshalText(text []byte) error {
	if !slices.Contains(needNames(), string(text)) {
		return fmt.Errorf("%q: want one of %s", text, strings.Join(needNames(), ", "))
	}
	*n = needOf(string(text))
	return nil
}

// Rights is what each verb needs; what is not set has its default: codify and revert a writer, since a pull request
// follows that its owners approve; ignore and unignore an owner, since nothing follows that anybody would approve;
// rescan a triager; the rest a reader.
type Rights struct {
	Codify   Need `json:"codify,omitzero" jsonschema:"enum=reader,enum=triager,enum=writer,enum=owner,enum=keeper,enum=administrator"`
	Revert   Need `json:"revert,omitzero" jsonschema:"enum=reader,enum=triager,enum=writer,enum=owner,enum=keeper,enum=administrator"`
	Ignore   Need `json:"ignore,omitzero" jsonschema:"enum=reader,enum=triager,enum=writer,enum=owner,enum=keeper,enum=administrator"`
	Unignore Need `json:"unignore,omitzero" jsonschema:"enum=reader,enum=triager,enum=writer,enum=owner,enum=keeper,enum=administrator"`
	Explain  Need `json:"explain,omitzero" jsonschema:"enum=reader,enum=triager,enum=writer,enum=owner,enum=keeper,enum=administrator"`
	Rescan   Need `json:"rescan,omitzero" jsonschema:"enum=reader,enum=triager,enum=writer,enum=owner,enum=keeper,enum=administrator"`
	Status   Need `json:"status,omitzero" jsonschema:"enum=reader,enum=triager,enum=writer,enum=owner,enum=keeper,enum=administrator"`
	Help     Need `json:"help,omitzero" jsonschema:"enum=reader,enum=triager,enum=writer,enum=owner,enum=keeper,enum=administrator"`
}

// Of gives what a verb needs.
func (r Rights) Of(v Verb) Need {
	written := map[Verb]Need{
		Codify: r.Codify, Revert: r.Revert, Ignore: r.Ignore, Unignore: r.Unignore,
		Explain: r.Explain, Rescan: r.Rescan, Status: r.Status, Help: r.Help,
	}
	if n := written[v]; n != (Need{}) {
		return n
	}
	switch v {
	case Codify, Revert:
		return needOf("writer")
	case Ignore, Unignore:
		return needOf("owner")
	case Rescan:
		return needOf("triager")
	}
	return needOf("reader")
}

// Request is who asks for what, with all that decides.
type Request struct {
	Command Command
	By      Person
	// Files are those that declare what the thread is about, or that the answer changes.
	Files []string
	// Owners is the CODEOWNERS of the protected default branch; nil for none.
	Owners *Owners
	Rights Rights
	// Longest is the longest time that the server's floor lets anything be ignored; 0 is any.
	Longest time.Duration
}

// Person is somebody with what is known of them on the forge.
type Person struct {
	Login string
	Role  bot.Role
	// Teams are those that the person belongs to, as CODEOWNERS names them: "org/team", a group's path. TeamsKnown is
	// false where the forge was not asked or did not tell.
	Teams      []string
	TeamsKnown bool
}

// Refusal says why a command is not obeyed.
type Refusal string

// The refusals.
const (
	Allowed      Refusal = ""
	Malformed    Refusal = "malformed"
	RoleTooLow   Refusal = "role"
	NotOwner     Refusal = "owner"
	TeamsUnknown Refusal = "teams"
	Unreadable   Refusal = "code owners"
	TooLong      Refusal = "duration"
)

// Answer is the verdict on a Request; Because is one sentence for who asked, empty when it is allowed.
type Answer struct {
	Refusal Refusal
	Because string
}

// Decide says whether somebody may ask for a command.
func Decide(r Request) Answer {
	c, need := r.Command, r.Rights.Of(r.Command.Verb)
	switch {
	case c.Problem != "":
		return Answer{Malformed, sentence(string(c.Problem))}
	case r.By.Role < need.Role:
		return Answer{RoleTooLow, fmt.Sprintf("This needs the role %s or a higher one; %s has %s.", RoleName(need.Role), r.By.Login, RoleName(r.By.Role))}
	case c.Verb == Ignore && r.Longest > 0 && c.For > r.Longest:
		return Answer{TooLong, fmt.Sprintf("The server's configuration lets nothing be ignored for longer than %s.", lengthOf(r.Longest))}
	}
	if need.Owner {
		return r.Owners.decide(r.By, r.Files)
	}
	return Answer{}
}

// RoleName is how answers and records name a role.
func RoleName(r bot.Role) string {
	switch r {
	case bot.Reader:
		return "reader"
	case bot.Triager:
		return "triager"
	case bot.Writer:
		return "writer"
	case bot.Keeper:
		return "keeper"
	case bot.Administrator:
		return "administrator"
	}
	return "none"
}

// lengthOf prints a length as commands write it where that is exact.
func lengthOf(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d%unit.length == 0 {
			return fmt.Sprint(int64(d/unit.length), unit.name)
		}
	}
	return d.String()
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
