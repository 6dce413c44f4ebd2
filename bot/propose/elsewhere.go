package propose

import (
	"cmp"
	"maps"
	"slices"

	"holdfast/detect"
)

// Plan is what pull requests do about a finding, in words; empty where they do nothing.
type Plan struct{ Codify, Revert, PullRequest string }

// Elsewhere is what the last scan of another cluster found, and what its own run planned for that.
type Elsewhere struct {
	Scan  detect.Scan
	Plans map[string]Plan
	// Shared are its Applications that codify something, for pull requests about several clusters.
	Shared []Shared
}

// tell gives the plans to whoever keeps them.
func (in Input) tell(plans map[string]plan) {
	if in.Planned == nil {
		return
	}
	for id, p := range plans {
		in.Planned[id] = Plan{Codify: p.codifies(), Revert: p.revert, PullRequest: p.pullRequest}
	}
}

// withElsewhere adds what was found elsewhere, for issues about one root cause on several clusters. The order does
// not depend on which cluster's run this is, so that every cluster's run writes the same text.
func (in Input) withElsewhere(plans map[string]plan) (Input, map[string]plan) {
	if len(in.Elsewhere) == 0 {
		return in, plans
	}
	plans = maps.Clone(plans)
	in.foreign = map[string]bool{}
	in.Scan.Applications, in.Scan.Findings = slices.Clone(in.Scan.Applications), slices.Clone(in.Scan.Findings)
	for _, other := range in.Elsewhere {
		in.Scan.Applications = append(in.Scan.Applications, other.Scan.Applications...)
		for _, f := range other.Scan.Findings {
			in.foreign[f.ID] = true
			in.Scan.Findings = append(in.Scan.Findings, f)
			_, joined := plans[f.ID] // what this run proposes for it is newer
			if p, planned := other.Plans[f.ID]; planned && !joined {
				plans[f.ID] = plan{codify: p.Codify, revert: p.Revert, pullRequest: p.PullRequest}
			}
		}
	}
	in.Scan.Findings = remembered(in)
	slices.SortStableFunc(in.Scan.Findings, func(a, b detect.Finding) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Application, b.Application), cmp.Compare(a.ID, b.ID))
	})
	return in, plans
}

// here says whether a finding is of the scan itself.
func (in Input) here(f detect.Finding) bool { return !in.foreign[f.ID] }
