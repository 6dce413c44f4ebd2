// Package bot holds the nouns of action: the Proposal that answers findings and the thread that
// carries it on a forge. It does no I/O.
package bot

import (
	"holdfast/detect"
	"holdfast/gitops"
)

// Kind is the form that a proposal takes on the forge.
type Kind string

// The kinds of proposal.
const (
	AsPullRequest Kind = "pull-request"
	AsIssue       Kind = "issue"
)

// Proposal is one wanted pull request or issue, as content: the forge is made to look like it.
type Proposal struct {
	// Key names the thread for good: same key and other content is an update in place.
	Key         string
	Kind        Kind
	Disposition detect.Disposition
	Title       string
	// Body is Markdown and ends with the hidden marker that carries Key and Hash.
	Body   string
	Labels []string
	// Hash is the content hash: same key and same hash needs no effect.
	Hash string
	// Repo is the URL of the repository; Branch and Base are set for pull requests.
	Repo, Branch, Base string
	// BaseCommit is the commit of Base that Files and Proof rest on.
	BaseCommit string
	// Message is the commit message of a pull request.
	Message  string
	Files    []FileChange
	Findings []string
	Proof    *gitops.Proof
	Risk     detect.Risk
	// Once says that it is offered once: after it was merged or closed, by whomever, it never comes back.
	Once bool
}

// FileChange is one file of a pull request. Before is nil for a new file, After nil for a removed one.
type FileChange struct {
	gitops.Edit
	// Diff is unified, as git apply takes it, unless Hidden: then it leaves lines out that git apply needs, since they
	// hold values of Secrets.
	Diff   string
	Hidden bool
}

// State is the state of a thread on a forge.
type State string

// The states of a thread.
const (
	Open   State = "open"
	Closed State = "closed"
	Merged State = "merged"
)

// Standing is how a branch that was proposed stands to the base branch as it is now.
type Standing string

// The standings. The empty one is not known.
const (
	// Fits: what the branch changes still reads there as it did.
	Fits Standing = "fits"
	// Settled: all of it reads there already as the branch has it.
	Settled Standing = "settled"
	// Overtaken: a part of it reads otherwise, or is gone.
	Overtaken Standing = "overtaken"
)

// Thread is a pull request or issue as it stands on the forge.
type Thread struct {
	Kind   Kind
	Number int
	URL    string
	State  State
	Title  string
	Body   string
	Labels []string
	// Branch and Head are set for pull requests: the source branch and its commit.
	Branch, Head string
	// Author is the login that opened it.
	Author string
}
