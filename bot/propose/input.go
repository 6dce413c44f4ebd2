// Package propose turns findings into proposals: grouped pull requests with their edits and proof, and one
// issue for each drift. It decides and writes text; it asks for trees and renders through its Input, and
// nothing of it reaches a forge.
package propose

import (
	"context"
	"time"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/codify"
	"holdfast/gitops/typed"
)

// Source is the repository behind an Application, at the head of the branch that its engine follows.
type Source struct {
	// Repo is the URL that proposals are opened for.
	Repo string
	// Base is the branch that a pull request goes to; empty when a commit would not reach the cluster,
	// and Reason says why.
	Base, Reason string
	BaseCommit   string
	Tree         gitops.Tree
}

// Input is everything that proposals are made of.
type Input struct {
	Scan detect.Scan
	// Source gives an Application's repository.
	Source func(ctx context.Context, app gitops.Application) (Source, error)
	// Render renders an Application from a tree.
	Render codify.RenderFunc
	// Fleet gives every Application that may read a tree: those of clusters and those in the tree itself.
	Fleet   func(tree gitops.Tree, repo string) []gitops.Application
	Schemas *typed.Schemas
	// Codifying bounds the search for edits of one Application; 0 is codify's own limit.
	Codifying time.Duration
	// Policy gives the policy that holds for an Application, read from the head of the base branch: what
	// codify must not write, whatever the disposition.
	Policy func(app gitops.Application, tree gitops.Tree) (*policy.Policy, error)
	// Elsewhere is what the last scans of other clusters found. It is told of in issues about the same root cause, and
	// joins pull requests about what clusters share; nothing is proposed for it alone.
	Elsewhere []Elsewhere
	// Planned, when set, is filled with what pull requests do about findings, by their IDs: as Elsewhere for the
	// runs of other clusters.
	Planned map[string]Plan
	// Picked names the findings that Scan was narrowed to; empty for a whole scan.
	Picked string
	// Shown asks for pull requests whose changes a patch can show: what stands beside a Secret's value is left out.
	Shown bool
	// Commands says that comments are read, so that texts name what can be asked for there.
	Commands bool
	// Override replaces policy's disposition of every drift; empty keeps it.
	Override detect.Disposition
	// Threads are the bot's own on the forge, which tell what earlier runs saw and proposed. May be empty.
	Threads []bot.Thread
	Now     time.Time

	// foreign are the findings that came from Elsewhere, by their IDs.
	foreign map[string]bool
}

// Skipped is a drift, or part of one, for which nothing could be proposed but the issue, and why.
type Skipped struct {
	Finding string
	Path    string
	Reason  string
}

// HealRounds is how many of an engine's own intervals a drift must outlive before a revert pull request
// opens: until then the engine's correction is under way.
const HealRounds = 2
