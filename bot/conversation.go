package bot

import "time"

// Actor is an account on a forge.
type Actor struct {
	// Login is the account's name, as the forge writes it.
	Login string
	// Bot says that the forge marks it as a bot, or that it is Holdfast's own account.
	Bot bool
}

// Role is what an account may do with a repository. Greater values include the lesser ones.
type Role int

// The roles, by what all forges can tell apart.
const (
	NoRole        Role = iota // not even reading
	Reader                    // GitHub read; GitLab guest and reporter; Gitea read
	Triager                   // GitHub triage; GitLab planner: issues, no code
	Writer                    // GitHub write; GitLab developer; Gitea write
	Keeper                    // GitHub maintain; GitLab maintainer
	Administrator             // GitHub admin; GitLab owner; Gitea admin and owner
)

// Comment is what somebody wrote on a thread.
type Comment struct {
	// ID is the forge's own, unique within the repository and Kind at least.
	ID int64
	// Kind and Number name the thread.
	Kind   Kind
	Number int
	Author Actor
	Body   string
	// Created and Updated are the forge's times. Updated later than Created means that it was edited.
	Created, Updated time.Time
	URL              string
}

// Edited says whether the text was changed after it was written.
func (c Comment) Edited() bool { return c.Updated.After(c.Created) }

// Reaction is the forge's small answer to a comment.
type Reaction string

// The reactions that all forges have.
const (
	Seen     Reaction = "eyes"
	Done     Reaction = "+1"
	Refused  Reaction = "-1"
	Confused Reaction = "confused"
)

// Approval is one account's newest review of a pull request that counts.
type Approval struct {
	By Actor
	// Commit is the head that was approved, empty where the forge does not tell.
	Commit string
	Time   time.Time
	URL    string
	// Rejected says that the newest review asks for changes instead.
	Rejected bool
}

// PullRequest is what the forge says of one beyond its Thread.
type PullRequest struct {
	Thread
	Base string
	// SameRepository says that the head branch lies in the repository itself, not in a fork.
	SameRepository bool
	// Files are the paths that it changes, both names of a renamed one, sorted.
	Files []string
	// FilesCut says that the forge gave a part of the list only.
	FilesCut bool
	// MergeCommit is the commit on the base branch that merging made; By is who merged. Empty before.
	MergeCommit string
	MergedBy    Actor
	MergedAt    time.Time
}

// Verdict is the colour of a status check.
type Verdict string

// The verdicts. A forge without a neutral one shows success and says it in the title.
const (
	Pending Verdict = "pending"
	Success Verdict = "success"
	Neutral Verdict = "neutral"
	Failure Verdict = "failure"
)

// Check is the status check that Holdfast reports on a commit.
type Check struct {
	Commit  string
	Verdict Verdict
	// Title is one line; Summary is Markdown, for forges that show it.
	Title, Summary string
	// URL is where more is told; may be empty.
	URL string
	// Notes point at lines of files, for forges that show them.
	Notes []CheckNote
}

// CheckNote is one remark of a check.
type CheckNote struct {
	Path string
	// Line counts from 1.
	Line    int
	Message string
}

// RepositoryInfo is what a forge says of a repository.
type RepositoryInfo struct {
	DefaultBranch string
	// Archived repositories take no writes.
	Archived bool
	// URL is the page for people; CloneURL is for Git over HTTP.
	URL, CloneURL string
}

// BranchProtection is what guards a branch. Known is false where the credential may not see it.
type BranchProtection struct {
	Known, Protected        bool
	AllowsForce, AllowsGone bool
	// Approvals is how many approvals a merge needs.
	Approvals int
	// Checks are the names of required status checks.
	Checks []string
}
