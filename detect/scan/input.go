// Package scan is the pipeline: it reads what engines applied and what clusters hold, compares the two, and
// gives findings with cause, risk and decision. The core it calls is pure; reading happens behind the
// interfaces of Input.
package scan

import (
	"context"
	"time"

	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/audit"
	"holdfast/detect/classify"
	"holdfast/detect/live"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/render"
	"holdfast/gitops/render/cache"
	"holdfast/gitops/typed"
)

// Cluster is what a scan reads of one cluster, or of a dump of it.
type Cluster interface {
	// EngineObjects gives the GitOps engines' own objects.
	EngineObjects(ctx context.Context) (*live.Snapshot, error)
	// Read gives the wanted objects and what classification needs around them.
	Read(ctx context.Context, wanted live.Wanted) (*live.Snapshot, error)
}

// Repository is a Git repository, or a folder that stands for one.
type Repository interface {
	// Resolve gives the commit of a branch, tag, commit or Flux revision.
	Resolve(revision string) (commit string, err error)
	// Head gives the newest commit of a branch; "" is the default branch.
	Head(branch string) (commit string, err error)
	// Tree gives the files at a commit.
	Tree(commit string) (gitops.Tree, error)
	// History lists commits before from, newest first, that touch a path for which reads is true.
	History(from string, reads func(path string) bool, limit int) ([]string, error)
}

// Target is one cluster to scan.
type Target struct {
	Name    string
	Tier    detect.Tier
	Cluster Cluster
	// Applications are scanned besides those that the engine's objects name: plain folders, and engine
	// objects given in a file.
	Applications []gitops.Application
	// Objects are the engine objects that some of Applications were decoded from, and what else stands in their
	// files. Such Applications are decoded again with the cluster's objects around them, where the file has none.
	Objects []gitops.Object
	// OnlyGiven leaves out the Applications of the engine's own objects.
	OnlyGiven bool
	// Audit, when set, is this cluster's audit log.
	Audit *audit.Log
}

// Input is everything a scan needs.
type Input struct {
	Targets []Target
	// Open gives the repository at a URL; each URL is asked for once a scan. An error makes its
	// Applications unknown.
	Open func(ctx context.Context, url string) (Repository, error)
	// Chart fetches a chart of a chart repository, and gives it with the version and digest that were picked.
	// Nil fetches none: Applications that need one are unknown.
	Chart func(ctx context.Context, chart gitops.Chart) (gitops.Chart, gitops.Tree, error)
	// Bound says whether a repository may feed this Application, and why not.
	Bound func(app gitops.Application) (ok bool, reason string)
	// Policy gives the policy for an Application whose repository's default branch holds tree; tree is
	// empty where there is no repository.
	Policy func(app gitops.Application, tier detect.Tier, tree gitops.Tree) (*policy.Policy, error)
	// Revision, when set, is rendered instead of the revision that the engine applied.
	Revision string
	Schemas  *typed.Schemas
	Rules    *classify.Rules
	Assessor *assess.Assessor
	// Audit, when set, tells who made the changes that managedFields name a manager of only. It is the log of the
	// targets that have none of their own.
	Audit *audit.Log
	// Standards are the compliance standards whose controls findings name; nil for the default set.
	Standards []string
	// Limits bound each render; zero takes the defaults.
	Limits render.Limits
	// Renders, when set, keeps renders for further use, and knows those of earlier scans.
	Renders *cache.Renders
	// All lists also values that differ in spelling only, and defaulted fields.
	All bool
	Now time.Time
	// Progress, when set, is told what the scan is doing.
	Progress func(message string)
}
