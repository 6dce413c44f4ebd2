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
	var out []bot.Proposal
	var skipped []Skipped
	plans := map[string]plan{} // by finding
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
		group := group{in: in, fleets: fleets, app: assessed.Application, source: source, drifts: drifts}
		proposals, missed, err := group.pullRequests(ctx, plans)
		if err != nil {
			return nil, nil, fmt.Errorf("application %s: %w", assessed.Application.ID(), err)
		}
		out = append(out, proposals...)
		skipped = append(skipped, missed...)
	}
	issues, err := issues(in, plans)
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

// driftsOf gives the drifting findings of one Application, with the override applied.
func driftsOf(in Input, app gitops.Application) []detect.Finding {
	var out []detect.Finding
	for _, f := range in.Scan.Findings {
		if !f.Drift || f.Cluster != app.Cluster || f.Application != app.Namespace+"/"+app.Name {
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

// plan is what the pull requests of a group do about one finding, for its issue to tell.
type plan struct {
	codify, revert string
	pullRequest    string
}

// group is the drift of one Application.
type group struct {
	in     Input
	fleets fleets
	app    gitops.Application
	source Source
	drifts []detect.Finding
}

// pullRequests gives at most one codify and one revert pull request for the group.
func (g group) pullRequests(ctx context.Context, plans map[string]plan) ([]bot.Proposal, []Skipped, error) {
	var out []bot.Proposal
	codified, skipped, err := g.codify(ctx, plans)
	if err != nil {
		return nil, nil, err
	}
	if codified != nil {
		out = append(out, *codified)
	}
	reverted, missed, err := g.revert(ctx, plans)
	if err != nil {
		return nil, nil, err
	}
	if reverted != nil {
		out = append(out, *reverted)
	}
	return out, append(skipped, missed...), nil
}

// codify asks for the edits that write the live values to Git, and makes a pull request of what was proven.
func (g group) codify(ctx context.Context, plans map[string]plan) (*bot.Proposal, []Skipped, error) {
	wanted := g.of(detect.Codify)
	if len(wanted) == 0 {
		return nil, nil, nil
	}
	if g.source.Base == "" {
		return nil, g.skip(wanted, plans, "codify", g.source.Reason), nil
	}
	request, skipped, err := g.request(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	answer, err := codify.Propose(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	for _, failed := range answer.Failed {
		reason := failed.Reason
		if failed.NearestMiss != "" {
			reason += "; nearest miss: " + failed.NearestMiss
		}
		skipped = append(skipped, Skipped{failed.FindingID, failed.Path.String(), reason})
	}
	for _, s := range skipped {
		note(plans, s.Finding, func(p *plan) { p.codify = "not possible for " + orWhole(s.Path) + ": " + s.Reason })
	}
	if len(answer.Edits) == 0 {
		return nil, skipped, nil
	}
	proposal, err := g.codifyProposal(wanted, answer, skipped)
	if err != nil {
		return nil, nil, err
	}
	for _, placed := range answer.Placed {
		note(plans, placed.FindingID, func(p *plan) {
			p.codify, p.pullRequest = "proposed in a pull request from branch "+proposal.Branch, proposal.Title
		})
	}
	return &proposal, skipped, nil
}

// of gives the group's findings that have anything with this disposition.
func (g group) of(d detect.Disposition) []detect.Finding {
	var out []detect.Finding
	for _, f := range g.drifts {
		if len(f.Fields) == 0 && f.Disposition == d || len(fieldsOf(f, d)) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// fieldsOf gives the drifting fields with this disposition.
func fieldsOf(f detect.Finding, d detect.Disposition) []detect.Field {
	var out []detect.Field
	for _, field := range f.Fields {
		if field.Drift && field.Disposition == d {
			out = append(out, field)
		}
	}
	return out
}

func (g group) skip(findings []detect.Finding, plans map[string]plan, kind, reason string) []Skipped {
	var out []Skipped
	for _, f := range findings {
		out = append(out, Skipped{Finding: f.ID, Reason: reason})
		note(plans, f.ID, func(p *plan) {
			if kind == "codify" {
				p.codify = "not possible: " + reason
			} else {
				p.revert = "not possible by a commit: " + reason
			}
		})
	}
	return out
}

// request turns findings into wishes against the head of the base branch, whose render may differ from the
// applied one that the findings were made with.
func (g group) request(ctx context.Context, wanted []detect.Finding) (codify.Request, []Skipped, error) {
	var skipped []Skipped
	request := codify.Request{
		Tree: g.source.Tree, Fleet: g.fleets.of(g.source), Render: g.in.Render, Schemas: g.in.Schemas, Timeout: g.in.Codifying,
		AllowWide: true, AllowIncomplete: true, // one proof holds for all: only what policy grants to each of them
	}
	held, err := g.in.Policy(g.app, g.source.Tree)
	if err != nil {
		return request, nil, err
	}
	request.Forbidden, request.AllowKind = held.ForbidsFile, held.AllowsKind
	head, err := g.in.Render(ctx, g.source.Tree, g.app)
	if err != nil {
		for _, f := range wanted {
			skipped = append(skipped, Skipped{Finding: f.ID, Reason: "the head of " + g.source.Base + " does not render: " + err.Error()})
		}
		return request, skipped, nil
	}
	for _, f := range wanted {
		if f.Presence == detect.LiveOnly {
			skipped = append(skipped, Skipped{Finding: f.ID, Reason: "Git does not declare this object: add it by hand, or delete it from the cluster"})
			continue
		}
		i := slices.IndexFunc(head.Objects, func(d gitops.Declared) bool { return d.ID == f.Object.ID() })
		if i < 0 {
			skipped = append(skipped, Skipped{Finding: f.ID, Reason: "the head of " + g.source.Base + " does not declare it any more"})
			continue
		}
		wish := codify.Wish{App: g.app, Declared: head.Objects[i], FindingID: f.ID}
		if f.Presence == detect.GitOnly && wish.Declared.IsSecret() {
			skipped = append(skipped, Skipped{Finding: f.ID, Reason: "a patch that removes a Secret would show its values: remove it from Git by hand"})
			continue
		}
		if f.Presence == detect.GitOnly {
			wish.RemoveObject = true
			request.AllowWide, request.AllowIncomplete = request.AllowWide && f.AllowWide, request.AllowIncomplete && f.AllowIncomplete
		}
		if f.Live != nil {
			wish.Live = *f.Live
		}
		for _, field := range fieldsOf(f, detect.Codify) {
			if field.Masked {
				skipped = append(skipped, Skipped{f.ID, field.Path.String(), "a Secret's value is never written to Git"})
				continue
			}
			wish.Changes = append(wish.Changes, gitops.FieldChange{
				Path: field.Path, Before: gitops.Lookup(wish.Declared.Content, field.Path), After: field.Live,
			})
			request.AllowWide = request.AllowWide && field.AllowWide
			request.AllowIncomplete = request.AllowIncomplete && field.AllowIncomplete
		}
		if len(wish.Changes) > 0 || wish.RemoveObject {
			request.Wishes = append(request.Wishes, wish)
		}
	}
	return request, skipped, nil
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
