package gitea

import (
	"strings"
	"time"

	"holdfast/bot"
)

// The types below have the fields of the API's answers that are used, with the API's names.

type user struct {
	ID    int64
	Login string
}

// actor gives the account. Gitea's own accounts, such as that of its workflows, have negative numbers.
func (u user) actor(own string) bot.Actor {
	return bot.Actor{Login: u.Login, Bot: u.ID < 0 || own != "" && strings.EqualFold(u.Login, own)}
}

type label struct {
	ID   int64
	Name string
}

type issue struct {
	Number      int
	HTMLURL     string `json:"html_url"`
	State       string
	Title, Body string
	Labels      []label
	User        user
	PullRequest *struct{} `json:"pull_request"` // set for a pull request
}

func (i issue) thread() bot.Thread {
	return bot.Thread{
		Kind: bot.AsIssue, Number: i.Number, URL: i.HTMLURL, State: bot.State(i.State),
		Title: i.Title, Body: i.Body, Labels: labelNames(i.Labels), Author: i.User.Login,
	}
}

type pull struct {
	issue
	Head, Base     side
	Merged         bool
	MergedAt       *time.Time `json:"merged_at"`
	MergedBy       *user      `json:"merged_by"`
	MergeCommitSHA *string    `json:"merge_commit_sha"`
}

// side is one branch of a pull request. Ref is refs/pull/N/head once the branch is gone; Label keeps its name, and is
// empty for a pull request that was pushed without a branch.
type side struct {
	Label, Ref, SHA string
	RepoID          int64 `json:"repo_id"`
}

func (p pull) thread() bot.Thread {
	t := p.issue.thread()
	t.Kind, t.Branch, t.Head = bot.AsPullRequest, p.Head.Label, p.Head.SHA
	if p.Merged {
		t.State = bot.Merged
	}
	return t
}

type comment struct {
	ID      int64
	HTMLURL string `json:"html_url"`
	User    user
	// OriginalAuthor is set for what was imported from another forge: nobody here wrote it, and least of all the
	// user whom the import ran as.
	OriginalAuthor string `json:"original_author"`
	Body           string
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
}

func (c comment) comment(kind bot.Kind, number int, own string) bot.Comment {
	author := c.User.actor(own)
	if c.OriginalAuthor != "" {
		author = bot.Actor{Bot: true}
	}
	return bot.Comment{
		ID: c.ID, Kind: kind, Number: number, Author: author, Body: c.Body,
		Created: c.CreatedAt, Updated: c.UpdatedAt, URL: c.HTMLURL,
	}
}

type review struct {
	ID          int64
	User        *user // nil where a team was asked
	State       string
	CommitID    string `json:"commit_id"`
	Dismissed   bool
	SubmittedAt time.Time `json:"submitted_at"`
	HTMLURL     string    `json:"html_url"`
}

type repository struct {
	FullName      string `json:"full_name"`
	DefaultBranch string `json:"default_branch"`
	Archived      bool
	HTMLURL       string `json:"html_url"`
	CloneURL      string `json:"clone_url"`
}

type branch struct {
	Protected           bool
	RequiredApprovals   int      `json:"required_approvals"`
	EnableStatusCheck   bool     `json:"enable_status_check"`
	StatusCheckContexts []string `json:"status_check_contexts"`
	// EffectiveProtection is the name of the rule that guards it; shown to administrators of the repository.
	EffectiveProtection string `json:"effective_branch_protection_name"`
}

type changedFile struct {
	Filename         string
	PreviousFilename string `json:"previous_filename"`
}

type status struct {
	State       string `json:"status"` // named so in answers, and state in requests
	Context     string
	Description string
	TargetURL   string `json:"target_url"`
}
