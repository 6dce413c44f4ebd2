package propose

import (
	"context"
	"fmt"
	"path"
	"strings"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/templates"
)

// recordFolder is where revert records lie. Markdown, since Flux reads every .yaml file, dot folders too.
const recordFolder = ".holdfast/reverts"

// revert makes the pull request that brings Git's state back: a record, whose merge makes a new revision
// that the engine applies. Where the engine corrects by itself it waits for that first.
func (g *group) revert(ctx context.Context, plans map[string]plan) (*bot.Proposal, []Skipped, error) {
	wanted := g.of(detect.Revert)
	if len(wanted) == 0 {
		return nil, nil, nil
	}
	var due []detect.Finding
	var skipped []Skipped
	how := g.undoing()
	if how.refusal == "" {
		wanted, skipped = g.undoable(wanted, plans)
	}
	for _, f := range wanted {
		if reason, waits := g.heals(f, how.interval); waits {
			note(plans, f.ID, func(p *plan) { p.revert = reason })
			continue
		}
		due = append(due, f)
	}
	if len(due) == 0 {
		return nil, skipped, nil
	}
	if g.source.Base == "" {
		return nil, append(skipped, skipRevert(due, plans, g.source.Reason)...), nil
	}
	if how.refusal != "" {
		return nil, skipRevert(due, plans, how.refusal), nil
	}
	id, applied := g.recordID(due, how.record)
	if !applied {
		for _, f := range due {
			note(plans, f.ID, func(p *plan) {
				p.revert = fmt.Sprintf("merged; %s has yet to apply it", g.app.Engine)
			})
		}
		return nil, skipped, nil
	}
	proposal, err := g.revertProposal(ctx, due, id, how)
	if err != nil {
		return nil, nil, err
	}
	if len(proposal.Proof.Moved) > 0 {
		return nil, append(skipped, skipRevert(due, plans,
			"a record in "+how.record+" would change what "+strings.Join(proposal.Proof.Moved, ", ")+" declares: leave that folder out of what is rendered")...), nil
	}
	for _, f := range due {
		note(plans, f.ID, func(p *plan) {
			p.revert, p.pullRequest = "proposed in a pull request from branch "+proposal.Branch, proposal.Title
		})
	}
	return &proposal, skipped, nil
}

// skipRevert gives findings that no commit reverts.
func skipRevert(findings []detect.Finding, plans map[string]plan, reason string) []Skipped {
	var out []Skipped
	for _, f := range findings {
		out = append(out, Skipped{Finding: f.ID, Reason: reason})
		note(plans, f.ID, func(p *plan) { p.revert = "not possible by a commit: " + reason })
	}
	return out
}

func (g *group) revertProposal(ctx context.Context, due []detect.Finding, id string, how undoing) (bot.Proposal, error) {
	key := bot.Key(g.scope(), "revert", string(bot.AsPullRequest))
	changes := changesOf(due, detect.Revert)
	then := how.then
	if !g.app.Ready && g.app.Message != "" {
		then += fmt.Sprintf(" Its last apply failed, which the status of %s %s/%s tells more of: until that is mended, it may not apply this one either.",
			g.app.Kind, g.app.Namespace, g.app.Name)
	}
	record, err := templates.RevertRecord(templates.Record{
		ID: id, Application: g.app.Namespace + "/" + g.app.Name, Cluster: g.app.Cluster, Branch: g.source.Base,
		Changes: changes, Rules: rulesOf(due, detect.Revert), Controls: controlsOf(due), Remains: g.remains(due),
		How: how.then,
	})
	if err != nil {
		return bot.Proposal{}, err
	}
	edits := []gitops.Edit{{Path: path.Join(how.record, id+".md"), After: []byte(record)}}
	if how.edits != nil {
		more, err := how.edits(id)
		if err != nil {
			return bot.Proposal{}, err
		}
		edits = append(edits, more...)
	}
	p := g.start(detect.Revert, key, due)
	for _, e := range edits {
		file, err := fileChange(e)
		if err != nil {
			return bot.Proposal{}, err
		}
		p.Files = append(p.Files, file)
	}
	p.Title = templates.Title(fmt.Sprintf("Revert %s of %s on %s to Git", count(due, detect.Revert), g.app.Name, g.app.Cluster))
	p.Proof = &gitops.Proof{Complete: true}
	if err := g.proveNoMove(ctx, &p); err != nil {
		return p, err
	}
	return p, g.finish(&p, templates.PullRequest{
		Changes: changes, Rules: rulesOf(due, detect.Revert), Controls: controlsOf(due),
		AfterMerge: strings.TrimSpace(then + " " + strings.Join(g.remains(due), " ")),
	}, due)
}

// proveNoMove renders the base with and without the record: a revert must not change what is declared.
func (g *group) proveNoMove(ctx context.Context, p *bot.Proposal) error {
	var edits []gitops.Edit
	for _, f := range p.Files {
		edits = append(edits, f.Edit)
	}
	after := g.source.Tree.With(edits)
	for _, app := range g.fleets.of(g.source) {
		before, err := g.in.Render(ctx, g.source.Tree, app)
		if err != nil {
			p.Proof.Complete = false
			p.Proof.Unproven = append(p.Proof.Unproven, gitops.UnprovenMember{Cluster: app.Cluster, Name: app.Name, Path: app.Source.Path, Reason: err.Error()})
			continue
		}
		now, err := g.in.Render(ctx, after, app)
		if err != nil {
			return fmt.Errorf("the revert record breaks the render of %s: %w", app.ID(), err)
		}
		one, err := gitops.DigestDeclared(withoutRequest(before.Objects))
		if err != nil {
			return err
		}
		two, err := gitops.DigestDeclared(withoutRequest(now.Objects))
		if err != nil {
			return err
		}
		if one != two {
			p.Proof.Moved = append(p.Proof.Moved, app.ID())
		}
		p.Proof.Applications = append(p.Proof.Applications, gitops.ProvenMember{
			Cluster: app.Cluster, Namespace: app.Namespace, Name: app.Name, Path: app.Source.Path, Before: one, After: two,
		})
	}
	p.Proof.Verified = len(p.Proof.Moved) == 0 && len(p.Proof.Applications) > 0
	if !p.Proof.Verified {
		p.Proof.Reason = "no Application could be rendered with the record"
	}
	return nil
}
