package propose

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/templates"
)

// recordFolder is where revert records lie. Markdown, since Flux reads every .yaml file, dot folders too.
const recordFolder = ".holdfast/reverts"

// revert makes the pull request that brings Git's state back: a record, whose merge makes a new revision
// that the engine applies. Where the engine corrects by itself it waits for that first.
func (g group) revert(ctx context.Context, plans map[string]plan) (*bot.Proposal, []Skipped, error) {
	wanted := g.of(detect.Revert)
	if len(wanted) == 0 {
		return nil, nil, nil
	}
	var due []detect.Finding
	var skipped []Skipped
	if g.app.Engine == gitops.Flux && !g.app.Suspended {
		wanted, skipped = g.undoable(wanted, plans)
	}
	for _, f := range wanted {
		if reason, waits := g.heals(f); waits {
			note(plans, f.ID, func(p *plan) { p.revert = reason })
			continue
		}
		due = append(due, f)
	}
	if len(due) == 0 {
		return nil, skipped, nil
	}
	if g.source.Base == "" {
		return nil, append(skipped, g.skip(due, plans, "revert", g.source.Reason)...), nil
	}
	if g.app.Engine != gitops.Flux {
		return nil, g.skip(due, plans, "revert", "no engine is known to apply a new revision here by itself; apply Git again with the pipeline that does"), nil
	}
	if g.app.Suspended {
		return nil, g.skip(due, plans, "revert", "the Application is suspended: resume it, then a new revision is applied"), nil
	}
	id, applied := g.recordID(due)
	if !applied {
		for _, f := range due {
			note(plans, f.ID, func(p *plan) {
				p.revert = fmt.Sprintf("merged; %s has yet to apply it", g.app.Engine)
			})
		}
		return nil, skipped, nil
	}
	proposal, err := g.revertProposal(ctx, due, id)
	if err != nil {
		return nil, nil, err
	}
	if len(proposal.Proof.Moved) > 0 {
		return nil, append(skipped, g.skip(due, plans, "revert",
			"a record in "+recordFolder+" would change what "+strings.Join(proposal.Proof.Moved, ", ")+" declares: leave that folder out of what is rendered")...), nil
	}
	for _, f := range due {
		note(plans, f.ID, func(p *plan) {
			p.revert, p.pullRequest = "proposed in a pull request from branch "+proposal.Branch, proposal.Title
		})
	}
	return &proposal, skipped, nil
}

// undoable takes out the findings of which the engine undoes nothing, at its interval or at a new revision:
// a commit would promise what it does not do.
func (g group) undoable(wanted []detect.Finding, plans map[string]plan) ([]detect.Finding, []Skipped) {
	var out []detect.Finding
	var skipped []Skipped
	for _, f := range wanted {
		stays := g.remains([]detect.Finding{f})
		if len(stays) == 0 || len(f.Fields) > 0 && len(stays) < len(fieldsOf(f, detect.Revert)) {
			out = append(out, f)
			continue
		}
		skipped = append(skipped, g.skip([]detect.Finding{f}, plans, "revert", strings.Join(stays, " "))...)
	}
	return out, skipped
}

// recordID names the record of a revert. The same drift that comes back after its revert was merged and
// applied is a new decision, with a record of its own; until the engine has applied the merge there is
// nothing to decide, and applied is false.
func (g group) recordID(due []detect.Finding) (id string, applied bool) {
	prints := slices.Sorted(maps.Values(about(due, detect.Revert)))
	for n := 1; ; n++ {
		id = bot.Hash(append([]string{g.scope(), strconv.Itoa(n)}, prints...)...)[:12]
		if _, there := g.source.Tree.File(recordPath(id)); !there {
			return id, true
		}
		if g.app.Source.Applied != g.source.BaseCommit {
			return id, false
		}
	}
}

func recordPath(id string) string { return recordFolder + "/" + id + ".md" }

// heals says whether the engine's own correction is still to be awaited. Flux re-applies a Kustomization at
// each interval: every declared field, and additions of managers that it takes over.
func (g group) heals(f detect.Finding) (reason string, waits bool) {
	if g.app.Engine != gitops.Flux || g.app.Kind != "Kustomization" || g.app.Suspended || g.app.Interval <= 0 {
		return "", false
	}
	changed := f.FirstSeen
	if t := latest(f); !t.IsZero() && t.Before(changed) {
		changed = t
	}
	if age := g.in.Now.Sub(changed); age < HealRounds*g.app.Interval {
		return fmt.Sprintf("%s corrects this by itself every %s; a pull request follows if it outlives %s",
			g.app.Engine, interval(g.app.Interval), interval(HealRounds*g.app.Interval)), true
	}
	return "", false
}

// latest is the time of the newest write among a finding's drifting fields.
func latest(f detect.Finding) time.Time {
	var t time.Time
	for _, field := range f.Fields {
		if field.Drift && field.Writer != nil && field.Writer.Time.After(t) {
			t = field.Writer.Time
		}
	}
	return t
}

func (g group) revertProposal(ctx context.Context, due []detect.Finding, id string) (bot.Proposal, error) {
	key := bot.Key(g.scope(), "revert", string(bot.AsPullRequest))
	changes := changesOf(due, detect.Revert)
	then := fmt.Sprintf("The merge commit is a new revision: %s applies it in full, and with it every declared field.", g.app.Engine)
	if !g.app.Ready && g.app.Message != "" {
		then += fmt.Sprintf(" Its last apply failed, which the status of %s %s/%s tells more of: until that is mended, it may not apply this one either.",
			g.app.Kind, g.app.Namespace, g.app.Name)
	}
	record, err := templates.RevertRecord(templates.Record{
		ID: id, Application: g.app.Namespace + "/" + g.app.Name, Cluster: g.app.Cluster, Branch: g.source.Base,
		Changes: changes, Rules: rulesOf(due, detect.Revert), Controls: controlsOf(due), Remains: g.remains(due),
		How: "The merge makes a new revision, which " + string(g.app.Engine) + " applies in full.",
	})
	if err != nil {
		return bot.Proposal{}, err
	}
	file, err := fileChange(gitops.Edit{Path: recordPath(id), After: []byte(record)})
	if err != nil {
		return bot.Proposal{}, err
	}
	p := g.start(detect.Revert, key, due)
	p.Files = []bot.FileChange{file}
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

// remains says which drifts a new revision does not undo.
func (g group) remains(due []detect.Finding) []string {
	var out []string
	for _, f := range due {
		for _, field := range fieldsOf(f, detect.Revert) {
			if field.Kind == detect.Added && field.Cause != detect.CauseOrphaned && !policy.EngineRemoves(g.app, f, &field) {
				out = append(out, fmt.Sprintf("%s of %s stays: Flux takes over additions of kubectl's managers only; remove it, or start kustomize-controller with --override-manager.",
					field.Path, name(f.Object)))
			}
		}
		if f.Presence == detect.LiveOnly && f.Cause != detect.CauseOrphaned {
			out = append(out, fmt.Sprintf("%s stays: the engine never applied it, so it does not prune it.", name(f.Object)))
		}
	}
	return out
}

// proveNoMove renders the base with and without the record: a revert must not change what is declared.
func (g group) proveNoMove(ctx context.Context, p *bot.Proposal) error {
	var edits []gitops.Edit
	for _, f := range p.Files {
		edits = append(edits, f.Edit)
	}
	after := g.source.Tree.With(edits)
	for _, app := range g.in.Fleet(g.source.Tree, g.source.Repo) {
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
		one, err := gitops.DigestDeclared(before.Objects)
		if err != nil {
			return err
		}
		two, err := gitops.DigestDeclared(now.Objects)
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
