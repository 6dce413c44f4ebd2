package forgetest

import (
	"net/http"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// Harness is a forge with an empty repository whose branch main has a commit, and what the suite does past the bot. A nil
// function leaves out, visibly, what needs it.
type Harness struct {
	// Forge acts as the bot. Its further roles are found by type: forge.Conversation and so on.
	Forge forge.Publisher
	// Account is the bot's login.
	Account string
	// ReadOnly acts with a credential that may read and not write. Nil where the forge knows no rights, with Why.
	ReadOnly forge.Publisher
	Why      string
	// Missing is what the error of ReadOnly says of what it lacks, such as a permission's name.
	Missing string
	// Secrets are the credentials' values. They stand in no error.
	Secrets []string
	// MaxBody is the longest body in characters, of threads and comments; 0 means that there is no limit.
	MaxBody int
	// Many is how many threads are more than the forge lists on one page; 0 means 105.
	Many int
	// Tick is how long the forge's clock takes to tell two changes apart.
	Tick time.Duration
	// HeadUnknown says that the forge does not tell which head was approved.
	HeadUnknown bool
	// NoNeutral and NoNotes say that its status check knows no neutral verdict, or no remarks on lines.
	NoNeutral, NoNotes bool
	// Conditional says that it answers 304 to a list that has not changed.
	Conditional bool

	Repository
	People
	Network
}

// Repository is what the suite does to the repository.
type Repository struct {
	// Branch makes a branch with a commit that main does not have. Nil means that branches need not exist.
	Branch func(t testing.TB, name string)
	// Commit puts a commit on a branch, which is made from main when absent, and gives its hash.
	Commit func(t testing.TB, branch string, change Change) string
	// DeleteBranch deletes a branch.
	DeleteBranch func(t testing.TB, name string)
	// RenameDefault renames main, which is the default branch.
	RenameDefault func(t testing.TB, name string)
	// Archive archives the repository.
	Archive func(t testing.TB)
	// Protect protects main as well as the forge can, and gives what is to be found of it.
	Protect func(t testing.TB) bot.BranchProtection
}

// Change is what a commit changes.
type Change struct {
	// Write are files to write, by path.
	Write map[string]string
	// Remove are paths.
	Remove []string
	// Rename are files that keep their content, from old to new path.
	Rename map[string]string
}

// People is what other people do, and what they see.
type People struct {
	// Members are logins by their role in the repository. Reader and Writer are needed at least; NoRole is an
	// account without any. The Writer opens, says and approves what the suite asks for; one with another role that may
	// review is the second reviewer.
	Members map[bot.Role]string
	// Foreign opens a thread as somebody else and gives its number.
	Foreign func(t testing.TB, kind bot.Kind, content forge.Content) int
	// Fork opens a pull request from a branch of that name in a fork, as somebody else, and gives its number.
	Fork func(t testing.TB, branch string, content forge.Content) int
	// Merge merges a pull request.
	Merge func(t testing.TB, number int)
	// Comments lists a thread's comments, oldest first.
	Comments func(t testing.TB, kind bot.Kind, number int) []string
	// Say writes a comment as login.
	Say func(t testing.TB, kind bot.Kind, number int, login, body string)
	// Edit changes a comment as its author.
	Edit func(t testing.TB, c bot.Comment, body string)
	// Reactions lists the bot's reactions to a comment.
	Reactions func(t testing.TB, c bot.Comment) []bot.Reaction
	// Review reviews the head of a pull request as login.
	Review func(t testing.TB, number int, login string, review Review)
	// Checks lists what the forge shows of the status check named holdfast on a commit, newest first: the first counts.
	Checks func(t testing.TB, commit string) []bot.Check
}

// Review is what a reviewer does.
type Review string

// The reviews. Dismiss takes back what the reviewer said before, by whatever way the forge has.
const (
	Approve        Review = "approve"
	RequestChanges Review = "request changes"
	Remark         Review = "remark"
	Dismiss        Review = "dismiss"
)

// Network is the way to the forge.
type Network struct {
	// Wire is what the forges' requests pass: it is their Base transport.
	Wire *Wire
	// Limits are the ways in which the forge says that it was asked too often.
	Limits []Limit
}

// Limit is one way of a forge to say that it was asked too often.
type Limit struct {
	Name string
	// Answer is what it answers, to be tried again after wait, which is whole seconds.
	Answer func(wait time.Duration) (status int, header http.Header, body string)
}
