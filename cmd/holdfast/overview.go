package main

import (
	"context"
	"errors"
	"slices"

	"holdfast/bot"
	"holdfast/bot/propose"
	"holdfast/bot/publish"
	"holdfast/detect"
	"holdfast/gitops"
)

// overview keeps a repository's dashboard issue, after all else was done there.
func (p *publisher) overview(ctx context.Context, x publish.Publishing, b board, outcomes []publish.Outcome) error {
	for _, o := range outcomes {
		if !o.Waits.IsZero() {
			p.waiting[x.Claimant]++
		}
	}
	configured := p.session.config.Repository(x.Claimant)
	if !p.session.serving || configured == nil || !configured.Lists() {
		return nil
	}
	threads := after(b.threads, outcomes)
	wanted, err := propose.Overview(threads, p.waiting[x.Claimant]+p.waitingElsewhere[x.Claimant])
	if err != nil {
		return err
	}
	is := func(t bot.Thread) bool { key, _, _ := bot.ParseMarker(t.Body); return key == wanted.Key }
	nothing := !slices.ContainsFunc(threads, func(t bot.Thread) bool { return t.State == bot.Open })
	if nothing && !slices.ContainsFunc(threads, is) {
		return nil // there was nothing to list yet
	}
	own := slices.DeleteFunc(slices.Clone(b.threads), func(t bot.Thread) bool { return !is(t) })
	return p.report(x.Apply(ctx, publish.Plan([]bot.Proposal{wanted}, own, publish.Seen{})))
}

// after gives the threads as the outcomes left them.
func after(threads []bot.Thread, outcomes []publish.Outcome) []bot.Thread {
	out := slices.Clone(threads)
	for _, o := range outcomes {
		t := o.Thread
		if o.Err != nil || !o.Waits.IsZero() || o.Action.Verb == publish.Nothing || t.Number == 0 {
			continue
		}
		switch o.Action.Verb {
		case publish.Close:
			t.State = bot.Closed
		case publish.Open, publish.Reopen:
			t.State = bot.Open
		}
		i := slices.IndexFunc(out, func(known bot.Thread) bool { return known.Kind == t.Kind && known.Number == t.Number })
		if i < 0 {
			out = append(out, t)
			continue
		}
		if t.URL == "" {
			t.URL = out[i].URL
		}
		out[i] = t
	}
	return out
}

// onboarding gives the pull request that adds a policy to a repository that has none; none where somebody chose the
// policy by a flag.
func (p *publisher) onboarding(ctx context.Context, mine detect.Scan, url string, seen []gitops.Application) ([]bot.Proposal, error) {
	x := p.session
	configured := x.config.Repository(url)
	if !x.serving || x.flags.policy != "" || configured == nil || !configured.Onboards() {
		return nil, nil
	}
	in := x.proposing(mine, nil)
	in.Fleet = x.fleet(mine, seen...)
	var failed []error
	for _, a := range mine.Applications { // the first whose branch a commit can go to
		if a.State != detect.Rendered || a.Application.Source.Repo != url {
			continue
		}
		wanted, err := propose.Onboarding(ctx, in, a.Application, orDefault(configured.Policy, policyFile), x.config.TierFor(*configured))
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if wanted != nil {
			return []bot.Proposal{*wanted}, nil
		}
		p.introduced[url] = true
		return nil, nil
	}
	return nil, errors.Join(failed...)
}

// settleOnboarding lets a pull request that adds a policy be closed where none is needed any more.
func (p *publisher) settleOnboarding(seen publish.Seen, threads []bot.Thread) {
	mark := bot.ScopeMark(propose.OnboardingScope)
	seen.Scopes[mark] = true
	for _, t := range threads {
		if key, _, ok := bot.ParseMarker(t.Body); ok && bot.ScopeOf(key) == mark {
			seen.Standings[t.Number] = bot.Settled
		}
	}
}
