package main

import (
	"context"
	"errors"
	"slices"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/ledger"
	"holdfast/bot/serve"
	"holdfast/bot/steer"
	"holdfast/detect"
	"holdfast/gitops"
)

// mostCaught bounds the threads whose comments are read after a start.
const mostCaught = 200

// settle does what follows a round of a repository: orders and exceptions end, status checks are reported, and what
// was said while the process did not run is answered. What fails is told and left to the next round.
func (s *steering) settle(ctx context.Context, x *session, url string, round serve.Report, others []serve.Report) {
	configured := s.base.config.Repository(url)
	if configured == nil || configured.Forge == nil {
		return
	}
	round.Files = serve.FilesOf(round.Scan)
	log := s.log.With("repository", gitops.WithoutCredentials(configured.URL))
	p, err := s.site(ctx, x, configured, append([]serve.Report{round}, others...))
	if err == nil && p != nil {
		err = errors.Join(p.end(ctx, round), p.checkOpen(ctx), p.catchUp(ctx))
	}
	if err != nil {
		log.Warn("commands and status checks are left to the next round", "error", err.Error())
	}
}

// end tells the ledger of the exceptions whose end has come, and of the orders whose drift is gone.
func (p *site) end(ctx context.Context, round serve.Report) error {
	l, err := p.evidence.standing(p.config.URL)
	if l == nil || err != nil {
		return err
	}
	said, err := l.Read(ctx)
	if err != nil {
		return err
	}
	whole := round.Complete("")
	standing := steer.StandingOf(said, p.config.URL)
	records := slices.Concat(standing.Over(p.session.streams.now()), standing.Settled(func(cluster, finding string) bool {
		return whole && cluster == round.Cluster && !slices.ContainsFunc(round.Scan.Findings, func(f detect.Finding) bool { return f.ID == finding && f.Drift })
	}))
	if len(records) == 0 {
		return nil
	}
	return l.Append(ctx, records)
}

// catchUp answers, once after a start, what was said on open threads meanwhile: forges do not deliver again. What is
// asked for there decides in the round after the next.
func (p *site) catchUp(ctx context.Context) error {
	p.memory.mu.Lock()
	caught := p.memory.caught
	p.memory.mu.Unlock()
	if caught || p.session.config.Commands.Off {
		return nil
	}
	var failed []error
	for _, kind := range []bot.Kind{bot.AsPullRequest, bot.AsIssue} {
		threads, err := p.forge.Threads(ctx, kind)
		if err != nil {
			return err
		}
		open := slices.DeleteFunc(threads, func(t bot.Thread) bool { return t.State != bot.Open })
		for _, t := range open[:min(len(open), mostCaught)] {
			_, err := p.answer(ctx, kind, t.Number)
			failed = append(failed, err)
		}
	}
	failed = append(failed, p.guarded(ctx))
	err := errors.Join(failed...)
	if err == nil {
		p.memory.mu.Lock()
		p.memory.caught = true
		p.memory.mu.Unlock()
	}
	return err
}

// guarded warns of a ledger whose branch others can rewrite or delete.
func (p *site) guarded(ctx context.Context) error {
	place, kept := p.session.config.LedgerOf(*p.config)
	if !kept || place.Own {
		return nil
	}
	protection, err := p.forge.Protection(ctx, place.Branch)
	if errors.Is(err, forge.ErrNotFound) { // it has no batch yet
		return nil
	}
	if err != nil {
		return err
	}
	for _, text := range ledger.Unguarded(place.Branch, protection) {
		p.log.Warn("the ledger can be changed by others: "+text, "repository", gitops.WithoutCredentials(p.config.URL))
	}
	return nil
}
