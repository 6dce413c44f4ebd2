package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"holdfast/bot/ledger"
	"holdfast/bot/steer"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// standings keep what the ledgers say of orders and exceptions, from run to run.
type standings struct {
	mu   sync.Mutex
	kept map[string]*ledger.Standing // by the ledger's place
}

// get gives the place of a ledger, with the ledger as this run opens it.
func (s *standings) get(place string, l ledger.Ledger, keys ledger.Keys) *ledger.Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string]*ledger.Standing{}
	}
	if s.kept[place] == nil {
		s.kept[place] = &ledger.Standing{Kinds: steer.Kinds()}
	}
	s.kept[place].Use(l, keys)
	return s.kept[place]
}

// standing gives what can be read of and written to the ledger of a repository; nil where none is kept. Records count
// that are signed with Holdfast's own key.
func (e evidence) standing(repository string) (*ledger.Standing, error) {
	l, err := e.ledger(repository)
	if l == nil || err != nil {
		return nil, err
	}
	keys, err := sign.Own(e.signer, "holdfast")
	if err != nil {
		return nil, err
	}
	place, _ := e.session.config.LedgerOf(*e.session.config.Repository(repository))
	return e.session.standings.get(gitops.WithoutCredentials(place.URL)+" "+place.Branch, *l, keys), nil
}

// wholeLedger opens the ledger's repository with the content of its files.
func wholeLedger(options repo.Options) func(context.Context) (*repo.Repository, error) {
	options.NamesOnly = false
	return func(ctx context.Context) (*repo.Repository, error) { return repo.Open(ctx, options) }
}

// obey lets the policies of this run give way to what people commanded, as the ledgers tell. An Application whose
// ledger cannot be read has no policy, so nothing is said about it.
func (x *session) obey(ctx context.Context, e evidence) {
	var mu sync.Mutex
	known := map[string][]policy.Commanded{}
	commanded := func(repository string) ([]policy.Commanded, error) {
		mu.Lock()
		defer mu.Unlock()
		if found, ok := known[repository]; ok {
			return found, nil
		}
		s, err := e.standing(repository)
		if err != nil {
			return nil, err
		}
		var found []policy.Commanded
		if s != nil {
			said, err := s.Read(ctx)
			if err != nil {
				return nil, err
			}
			x.disobeyed(said)
			found = steer.StandingOf(said, repository).Commanded()
		}
		known[repository] = found
		return found, nil
	}
	base := x.input.Policy
	x.input.Policy = func(app gitops.Application, tier detect.Tier, tree gitops.Tree) (*policy.Policy, error) {
		p, err := base(app, tier, tree)
		if err != nil {
			return nil, err
		}
		all, err := commanded(app.Source.Repo)
		if err != nil {
			return nil, fmt.Errorf("what people commanded is not known: %w", err)
		}
		return p.Commanded(all), nil
	}
}

// disobeyed tells of records that do not count, each once.
func (x *session) disobeyed(said ledger.Said) {
	if len(said.Problems) == 0 {
		return
	}
	var lines []string
	for _, p := range said.Problems[:min(len(said.Problems), 10)] {
		lines = append(lines, p.Path+": "+p.Message)
	}
	text := fmt.Sprintf("%d records of commands in the ledger do not count: %s", len(said.Problems), strings.Join(lines, "; "))
	if x.warn != nil {
		x.warn(text)
		return
	}
	fmt.Fprintln(x.streams.err, "warning: "+text)
}

// commandable says whether comments on the threads of a scan's repositories are read: in the service, by webhooks.
func (x *session) commandable(result detect.Scan) bool {
	return x.serving && !x.config.Commands.Off && !slices.ContainsFunc(x.repositoriesOf(result), func(url string) bool {
		r := x.config.Repository(url)
		return r == nil || r.Webhook == nil || r.Forge == nil || r.Forge.Type == "folder"
	})
}
