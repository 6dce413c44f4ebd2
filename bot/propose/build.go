package propose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/codify"
)

// Build gives the wanted proposals, pull requests first, each kind by risk and then by title.
func Build(ctx context.Context, in Input) ([]bot.Proposal, []Skipped, error) {
	in.Scan.Findings = remembered(in)
	plans := map[string]plan{} // by finding
	groups, skipped, err := groupsOf(ctx, in, plans)
	if err != nil {
		return nil, nil, err
	}
	var out []bot.Proposal
	theirs, err := groupsElsewhere(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	for _, j := range joined(slices.Concat(groups, theirs)) {
		if !j.here() {
			continue
		}
		proposal, missed, err := j.codify(ctx, plans)
		if err != nil {
			return nil, nil, fmt.Errorf("application %s: %w", j.lead().app.ID(), err)
		}
		out, skipped = append(out, proposal...), append(skipped, missed...)
	}
	for _, g := range groups {
		proposal, missed, err := g.revert(ctx, plans)
		if err != nil {
			return nil, nil, fmt.Errorf("application %s: %w", g.app.ID(), err)
		}
		if proposal != nil {
			out = append(out, *proposal)
		}
		skipped = append(skipped, missed...)
	}
	in.tell(plans)
	issues, err := issues(in.withElsewhere(plans))
	if err != nil {
		return nil, nil, err
	}
	out = append(out, issues...)
	slices.SortStableFunc(out, func(a, b bot.Proposal) int {
		if a.Kind != b.Kind {
			return strings.Compare(string(b.Kind), string(a.Kind)) // pull-request before issue
		}
		if a.Risk != b.Risk {
			return int(b.Risk - a.Risk)
		}
		return strings.Compare(a.Title, b.Title)
	})
	return out, skipped, nil
}

// fleets are the Applications that may read a source's tree, listed once for each revision.
type fleets struct {
	list  func(tree gitops.Tree, repo string) []gitops.Application
	known map[string][]gitops.Application
}

func (f fleets) of(s Source) []gitops.Application {
	key := s.Repo + " " + s.BaseCommit
	if _, listed := f.known[key]; !listed {
		f.known[key] = f.list(s.Tree, s.Repo)
	}
	return f.known[key]
}

// group is the drift of one Application.
type group struct {
	in     Input
	fleets fleets
	app    gitops.Application
	source Source
	drifts []detect.Finding
	// wishes are what a codify of the group asks for.
	wishes []codify.Wish
	// reads are the files that its render reads, sorted; known where there are wishes.
	reads []string
	// elsewhere says that another cluster's run is to answer it; it may join what this one proposes.
	elsewhere bool
}

// groupsOf gives a group for each Application that drifts.
func groupsOf(ctx context.Context, in Input, plans map[string]plan) ([]*group, []Skipped, error) {
	var out []*group
	var skipped []Skipped
	fleets := fleets{in.Fleet, map[string][]gitops.Application{}}
	for _, assessed := range in.Scan.Applications {
		drifts := driftsOf(in, assessed.Application)
		if len(drifts) == 0 {
			continue
		}
		source, err := in.Source(ctx, assessed.Application)
		if err != nil {
			source = Source{Repo: assessed.Application.Source.Repo, Reason: err.Error()}
		}
		g := &group{in: in, fleets: fleets, app: assessed.Application, source: source, drifts: drifts}
		missed := g.wish(ctx, plans)
		out, skipped = append(out, g), append(skipped, missed...)
	}
	return out, skipped, nil
}

// driftsOf gives the findings of one Application that are to be answered, with the override applied.
func driftsOf(in Input, app gitops.Application) []detect.Finding {
	var out []detect.Finding
	for _, f := range in.Scan.Findings {
		if f.Cluster != app.Cluster || f.Application != app.Namespace+"/"+app.Name {
			continue
		}
		stray := f.Presence == detect.LiveOnly && (f.Disposition == detect.Codify || in.Picked != "")
		if !f.Drift && !stray && !slices.ContainsFunc(f.Fields, answered) {
			continue
		}
		if in.Override != "" {
			f = overridden(f, in.Override)
		}
		out = append(out, f)
	}
	return out
}

func overridden(f detect.Finding, d detect.Disposition) detect.Finding {
	const rule = "--disposition of the command line"
	f.Disposition, f.Rule, f.Trace = d, rule, nil
	f.Fields = slices.Clone(f.Fields)
	for i := range f.Fields {
		if f.Fields[i].Drift {
			f.Fields[i].Disposition, f.Fields[i].Rule = d, rule
		}
	}
	return f
}

// of gives the group's findings that have anything with this disposition.
func (g *group) of(d detect.Disposition) []detect.Finding {
	var out []detect.Finding
	for _, f := range g.drifts {
		if len(f.Fields) == 0 && f.Disposition == d || len(fieldsOf(f, d)) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// answered says whether a field is one that something is proposed about: a drift, or what policy wants out of Git.
func answered(f detect.Field) bool {
	return f.Drift || f.Leaves != "" && f.Git.Set && f.Disposition == detect.Codify
}

// fieldsOf gives the fields with this disposition; with an empty one, all that drift.
func fieldsOf(f detect.Finding, d detect.Disposition) []detect.Field {
	var out []detect.Field
	for _, field := range f.Fields {
		if d == "" && field.Drift || field.Disposition == d && answered(field) {
			out = append(out, field)
		}
	}
	return out
}

// plan is what the pull requests of a group do about one finding, for its issue to tell.
type plan struct {
	codify, revert string
	// failed are the parts of the finding that no codify was found for, and why.
	failed      []string
	pullRequest string
}

// codifies says what becomes of a codify: what is proposed, then what is not possible.
func (p plan) codifies() string {
	const most = 10
	parts := slices.Clone(p.failed)
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and of %d more", len(p.failed)-most))
	}
	if p.codify != "" {
		parts = slices.Insert(parts, 0, p.codify)
	}
	return strings.Join(parts, "; ")
}

func note(plans map[string]plan, finding string, change func(*plan)) {
	p := plans[finding]
	change(&p)
	plans[finding] = p
}

func orWhole(path string) string {
	if path == "" {
		return "the object"
	}
	return path
}
