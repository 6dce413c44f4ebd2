package main

import (
	"context"
	"fmt"
	"slices"

	"holdfast/bot"
	"holdfast/bot/guard"
	"holdfast/bot/propose"
	"holdfast/bot/publish"
	"holdfast/detect"
	"holdfast/detect/access"
	"holdfast/gitops"
	"holdfast/gitops/folder"
	"holdfast/templates"
)

// maxGuardFindings is how many findings the body of a guard pull request lists.
const maxGuardFindings = 20

// guardPlace is where the manifests are to be committed: a file in a repository, which may be left out where the
// configuration has only one with a forge.
type guardPlace struct{ file, repository string }

// repositoryOf gives the repository to propose to.
func (p guardPlace) repositoryOf(x *session) (string, error) {
	if p.repository != "" {
		return p.repository, nil
	}
	var urls []string
	for _, r := range x.config.Repositories {
		if r.Forge != nil {
			urls = append(urls, r.URL)
		}
	}
	if len(urls) != 1 {
		return "", fmt.Errorf("--propose: %d repositories have a forge in holdfast.yaml: name one with --repository", len(urls))
	}
	return urls[0], nil
}

// proposeGuards opens the pull request that commits the guards of the one cluster that was read, or brings it up to date.
// Where the file says already what it should, nothing is done.
func (x *session) proposeGuards(ctx context.Context, place guardPlace, publisher *publisher, options guard.Options, r guardReport) error {
	if len(r.clusters) != 1 {
		return fmt.Errorf("--propose: %d clusters were read: name one with --context", len(r.clusters))
	}
	c := r.clusters[0]
	if len(c.Manifests) == 0 {
		return fmt.Errorf("--propose: nothing of %s is managed by an engine that is known, so there is nothing to guard", c.Cluster)
	}
	if wrong := guard.Grants(c.Manifests); len(wrong) > 0 {
		return fmt.Errorf("--propose: the manifests would let somebody change something, which is a mistake of Holdfast: %s", wrong[0])
	}
	url, err := place.repositoryOf(x)
	if err != nil {
		return err
	}
	text, err := guard.YAML(c.Manifests)
	if err != nil {
		return err
	}
	source, err := x.proposalSource(ctx, gitops.Application{Kind: folder.Kind, Source: gitops.Source{Repo: url}})
	if err != nil {
		return err
	}
	view, risk := guardView(c, options, r)
	view.Path = place.file
	proposal, err := propose.Guards(source, text, risk, view)
	if err != nil {
		return fmt.Errorf("--propose: %w", err)
	}
	if proposal == nil {
		fmt.Fprintf(x.out, "%s has them already, as %s\n", templates.Printable(url), templates.Printable(place.file))
		return nil
	}
	target, err := publisher.open(ctx, url)
	if err != nil {
		return err
	}
	threads, err := target.Threads(ctx, bot.AsPullRequest)
	if err != nil {
		return fmt.Errorf("%s: listing the pull requests: %w", url, err)
	}
	// Of no scope anything was seen: all other threads are left alone.
	actions := publish.Plan([]bot.Proposal{*proposal}, threads, publish.Seen{})
	actions = slices.DeleteFunc(actions, func(a publish.Action) bool { return a.Proposal.Key != proposal.Key })
	outcomes := publish.Publishing{Forge: x.effects.Forge(target), Commits: publisher.commits, Now: x.input.Now, Claimant: url}.Apply(ctx, actions)
	return publisher.report(outcomes)
}

// guardView gives the text of the pull request, and the worst of the findings' risks.
func guardView(c guard.Result, options guard.Options, r guardReport) (templates.Guard, detect.Risk) {
	view := templates.Guard{Cluster: c.Cluster, Objects: c.Objects, BreakGlass: orDefault(options.BreakGlass, guard.DefaultBreakGlass), Annotation: guard.ReasonAnnotation}
	risk := detect.Low
	for _, f := range c.Findings {
		if f.Sort == access.EngineAccount || f.Sort == access.System {
			continue
		}
		risk = max(risk, f.Risk)
		if concernsPeople(f) {
			view.People++
		}
		if len(view.Findings) == maxGuardFindings {
			view.More++
			continue
		}
		view.Findings = append(view.Findings, templates.GuardFinding{Risk: f.Risk.String(), Who: f.Subject.String(), How: howText(f), Fix: f.Fix})
	}
	view.Remarks = append(view.Remarks, c.Notes...)
	for _, u := range r.unknown {
		view.Remarks = append(view.Remarks, "not known: "+unknownName(u)+": "+u.Reason)
	}
	return view, risk
}
