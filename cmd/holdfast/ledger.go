package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/bot"
	"holdfast/bot/ledger"
	"holdfast/bot/ledger/trail"
	"holdfast/bot/publish"
	"holdfast/cmd/holdfast/config"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// evidence is a session's way to its ledgers.
type evidence struct {
	session *session
	signer  sign.Signer
	author  repo.Person
	// heads are where the ledgers stood when the run looked, by repository.
	heads map[string]ledger.Head
	// states are what they said then.
	states map[string]*ledger.State
}

// ledger gives the ledger that records about a repository go to; nil where none is kept.
func (e evidence) ledger(repository string) (*ledger.Ledger, error) {
	configured := e.session.config.Repository(repository)
	if configured == nil {
		return nil, nil
	}
	place, ok := e.session.config.LedgerOf(*configured)
	if !ok {
		return nil, nil
	}
	location := place.URL
	if !place.Own {
		location = e.session.sources.location(place.URL)
	}
	auth, err := place.Auth.Load()
	if err != nil {
		return nil, err
	}
	options := e.session.config.Limits.Repository.Apply(ledger.Options(location, auth, place.Branch))
	return &ledger.Ledger{
		Open:   func(ctx context.Context) (*repo.Repository, error) { return repo.Open(ctx, options) },
		Whole:  wholeLedger(options),
		Branch: place.Branch, Signer: e.signer, Author: e.author, Now: e.session.streams.now, Wait: waitTurn,
	}, nil
}

// waitTurn waits longer from try to try: another writer was faster.
func waitTurn(ctx context.Context, try int) error {
	return repo.Pause(ctx, time.Duration(try)*200*time.Millisecond)
}

// look finds where the ledgers stand before anything is done. One that cannot be read is an error, since nothing
// could be recorded afterwards.
func (e evidence) look(ctx context.Context, boards map[string]board) error {
	for _, r := range slices.Sorted(maps.Keys(boards)) {
		l, err := e.ledger(r)
		if err != nil {
			return err
		}
		if l == nil {
			continue
		}
		if e.heads[r], e.states[r], err = l.Look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mostMerges bounds how many merged pull requests are asked about in one run, the newest first.
const mostMerges = 20

// merged gives the merged pull requests of which the ledger does not tell yet: of each key the newest, while no newer one
// has taken its place. One that the forge does not tell more of is recorded as far as it is known.
func (e evidence) merged(ctx context.Context, repository string, b board) ([]bot.PullRequest, error) {
	state := e.states[repository]
	if state == nil {
		return nil, nil
	}
	var out []bot.PullRequest
	newer := map[string]bool{}
	for _, t := range slices.SortedStableFunc(slices.Values(b.threads), func(a, b bot.Thread) int { return b.Number - a.Number }) {
		key, _, ok := bot.ParseMarker(t.Body)
		if !ok || t.Kind != bot.AsPullRequest || newer[key] {
			continue
		}
		newer[key] = true
		if t.State != bot.Merged || len(out) == mostMerges || state.Stage(ledger.SubjectOfThread(repository, key)) != ledger.Proposed {
			continue
		}
		pull := bot.PullRequest{Thread: t}
		if b.inspect != nil {
			asked, err := b.inspect.PullRequest(ctx, t.Number)
			if err != nil {
				return nil, fmt.Errorf("who merged pull request %d: %w", t.Number, err)
			}
			pull.MergeCommit, pull.MergedBy, pull.MergedAt = asked.MergeCommit, asked.MergedBy, asked.MergedAt
		}
		out = append(out, pull)
	}
	return out, nil
}

// quoted lets the comments of closings quote where the ledger stands: an anchor outside of it.
func (e evidence) quoted(repository string, actions []publish.Action) []publish.Action {
	head := e.heads[repository]
	if head.Commit == "" {
		return actions
	}
	place, _ := e.session.config.LedgerOf(*e.session.config.Repository(repository))
	for i := range actions {
		if actions[i].Verb == publish.Close {
			actions[i].Note = ledger.AnchorText(place.Branch, head)
		}
	}
	return actions
}

// record appends what a run saw and did to the ledger of a repository.
func (e evidence) record(ctx context.Context, result detect.Scan, repository string, outcomes []publish.Outcome, merged []bot.PullRequest) error {
	l, err := e.ledger(repository)
	if err != nil || l == nil {
		return err
	}
	records := trail.Records(trail.Input{Repository: repository, Scan: result, Outcomes: outcomes, Merged: merged, Policy: e.policy(ctx)})
	var head ledger.Head
	var n int
	if err := e.session.effects.Do("append to ledger "+l.Branch, func() (err error) { head, n, err = l.Append(ctx, records); return err }); err != nil {
		return err
	}
	e.heads[repository] = head
	if n > 0 && e.session.outcome == nil { // the service tells in its own way
		fmt.Fprintf(e.session.out, "%-11s %d records in %s at %s\n", "recorded", n, l.Branch, head.Commit)
	}
	return nil
}

// policy gives what tells the policies apart that decided: a digest of their rules, exceptions and the floor.
func (e evidence) policy(ctx context.Context) func(gitops.Application) ledger.Policy {
	known := map[string]ledger.Policy{}
	return func(app gitops.Application) ledger.Policy {
		if p, ok := known[app.ID()]; ok {
			return p
		}
		p := ledger.Policy{Name: "unknown"}
		if found, err := e.policyOf(ctx, app); err == nil {
			p = found
		}
		known[app.ID()] = p
		return p
	}
}

func (e evidence) policyOf(ctx context.Context, app gitops.Application) (ledger.Policy, error) {
	x := e.session
	source, err := x.proposalSource(ctx, app)
	if err != nil {
		return ledger.Policy{}, err
	}
	p, err := x.input.Policy(app, x.tierOf(app.Cluster), source.Tree)
	if err != nil {
		return ledger.Policy{}, err
	}
	rules, err := p.Marshal()
	if err != nil {
		return ledger.Policy{}, err
	}
	floor, err := json.Marshal(x.config.Floor)
	if err != nil {
		return ledger.Policy{}, err
	}
	return ledger.Policy{Name: p.Name, SHA256: detect.Digest(string(rules), string(floor))}, nil
}

// tierOf gives the tier of a cluster that is read.
func (x *session) tierOf(cluster string) detect.Tier {
	for _, t := range x.targets {
		if t.Name == cluster {
			return t.Tier
		}
	}
	return detect.Production
}

// location gives where a repository is read from and pushed to: what --git gives in its place, else its URL.
func (s *sources) location(url string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if location, ok := s.byURL[url]; ok {
		return location
	}
	if s.fallback != "" {
		return s.fallback
	}
	return url
}

// ledgerAuth gives the credentials that a configuration has for a ledger's URL.
func ledgerAuth(cfg *config.Config, url string) (repo.Auth, error) {
	if l := cfg.Ledger; l != nil && gitops.SameRepository(l.Repository, url) {
		return l.Auth.Load()
	}
	if r := cfg.Repository(url); r != nil {
		return r.Auth.Load()
	}
	return repo.Auth{}, nil
}
