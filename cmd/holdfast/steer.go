package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/bot"
	"holdfast/bot/command"
	"holdfast/bot/forge"
	"holdfast/bot/identity"
	"holdfast/bot/serve"
	"holdfast/bot/steer"
	"holdfast/bot/store"
	"holdfast/cmd/holdfast/config"
	"holdfast/detect"
	"holdfast/gitops"
)

// The limits of commands that the configuration does not set, in comments an hour.
const (
	commandsOfThread = 10
	commandsOfAuthor = 60
)

// mostChecked bounds the pull requests of others that are looked at after a round in which the drifts have changed.
const mostChecked = 200

// steering acts on what people do on the forges: commands, reviews, pull requests.
type steering struct {
	base       *session
	identities *identity.Identities
	// reports gives what the last rounds found. It is set before the first event.
	reports func(context.Context) ([]serve.Report, error)
	log     *slog.Logger

	mu    sync.Mutex
	known map[string]*memory // by repository
}

// memory is what a process remembers of a repository. It is no record: a restart forgets it.
type memory struct {
	// answering is held while a thread is answered, so that none is answered twice at the same time.
	answering sync.Mutex
	floods    steer.Floods

	mu sync.Mutex
	// open tells what drifted when the pull requests of others were looked at; caught says that what was said before
	// the start is answered.
	open   string
	caught bool
}

var _ serve.Events = (*steering)(nil)

func newSteering(base *session, log *slog.Logger) *steering {
	ids, _ := identity.Compile(base.config.Identities) // the configuration was checked
	return &steering{base: base, identities: ids, log: log, known: map[string]*memory{}}
}

// Handle implements serve.Events.
func (s *steering) Handle(ctx context.Context, d store.Delivery) (rescan bool, err error) {
	e := d.Event
	configured := s.base.config.Repository(e.Repo)
	if configured == nil || configured.Forge == nil {
		return e.Kind != bot.EventComment, nil
	}
	if e.Kind == bot.EventComment && (s.base.config.Commands.Off || e.Action == "deleted" || !steer.Asks(e.Comment.Body)) {
		return false, nil
	}
	if e.Kind != bot.EventComment && e.Kind != bot.EventPullRequest && e.Kind != bot.EventReview && e.Kind != bot.EventRerun {
		return true, nil
	}
	x, err := s.base.begin()
	if err != nil {
		return false, err
	}
	p, err := s.site(ctx, x, configured, nil)
	if p == nil || err != nil {
		return false, err
	}
	switch e.Kind {
	case bot.EventComment:
		return p.answer(ctx, e.Thread, e.Number)
	case bot.EventPullRequest:
		ended := e.Action == "closed" || e.Action == "reopened"
		return ended, p.check(ctx, e.Number)
	}
	if e.Number > 0 {
		return false, p.check(ctx, e.Number)
	}
	return false, p.checkHead(ctx, e.Head)
}

func (s *steering) memory(repository string) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[repository] == nil {
		s.known[repository] = &memory{}
	}
	return s.known[repository]
}

// site is a repository with its forge, and all that commands and checks need of it.
type site struct {
	*steering
	memory   *memory
	session  *session
	evidence evidence
	forge    forge.Forge
	config   *config.Repository
	// scans are what the last rounds found.
	scans []scanned
	found bool
}

// scanned is what the last round of a cluster found of a repository's Applications.
type scanned struct {
	report serve.Report
	scan   detect.Scan
}

// site opens a repository for one event or round; nil where its forge knows no people, as a folder. Scans are those
// of a round; nil takes what the last ones found.
func (s *steering) site(ctx context.Context, x *session, r *config.Repository, scans []serve.Report) (*site, error) {
	publisher, err := x.newPublisher(ctx)
	if err != nil {
		return nil, err
	}
	opened, err := publisher.open(ctx, r.URL)
	if err != nil {
		return nil, err
	}
	able, ok := opened.(forge.Forge)
	if !ok {
		return nil, nil
	}
	p := &site{steering: s, memory: s.memory(r.URL), session: x, evidence: publisher.evidence, forge: able, config: r}
	if scans == nil {
		if scans, err = s.reports(ctx); err != nil {
			return nil, err
		}
	}
	for _, report := range scans {
		p.scans = append(p.scans, scanned{report, about(report.Scan, r.URL)})
		p.found = p.found || !report.Scan.Time.IsZero()
	}
	return p, nil
}

// about gives the part of a scan that is about the Applications of a repository, in whatever spelling they name it.
func about(s detect.Scan, url string) detect.Scan {
	names := map[string]bool{}
	s.Applications = slices.DeleteFunc(slices.Clone(s.Applications), func(a detect.AssessedApplication) bool { return !gitops.SameRepository(a.Application.Source.Repo, url) })
	for _, a := range s.Applications {
		names[a.Application.Namespace+"/"+a.Application.Name] = true
	}
	s.Findings = slices.DeleteFunc(slices.Clone(s.Findings), func(f detect.Finding) bool { return !names[f.Application] })
	s.Unknown = slices.DeleteFunc(slices.Clone(s.Unknown), func(u detect.UnknownObject) bool { return !names[u.Application] })
	return s
}

func (p *site) answer(ctx context.Context, kind bot.Kind, number int) (rescan bool, err error) {
	p.memory.answering.Lock()
	defer p.memory.answering.Unlock()
	if rescan, err = p.desk().Answer(ctx, kind, number); err != nil {
		return rescan, fmt.Errorf("%s %d: %w", kind, number, err)
	}
	p.log.Debug("comments are answered", "repository", gitops.WithoutCredentials(p.config.URL), "thread", kind, "number", number, "rescan", rescan)
	return rescan, nil
}

// desk answers commands.
func (p *site) desk() *steer.Desk {
	c := p.session.config.Commands
	d := &steer.Desk{
		Forge: p.forge, Repository: p.config.URL, Owners: p.owners, Facts: p.facts, Floods: &p.memory.floods, Now: p.session.streams.now,
		Rules: steer.Rules{
			Rights: c.Rights, Teams: c.TeamsOf, TeamsKnown: len(c.Teams) > 0, Floor: p.session.config.Floor,
			PerThread: cmp.Or(c.Limits.Thread, commandsOfThread), PerAuthor: cmp.Or(c.Limits.Author, commandsOfAuthor),
		},
	}
	if ledger, err := p.evidence.standing(p.config.URL); err != nil {
		p.log.Error("commands cannot be recorded, so none has an effect", "repository", gitops.WithoutCredentials(p.config.URL), "error", err.Error())
	} else if ledger != nil {
		d.Ledger = ledger
	}
	return d
}

func (p *site) facts(context.Context) (steer.Facts, error) {
	out := steer.Facts{Files: map[string][]string{}}
	for _, s := range p.scans {
		out.Findings = append(out.Findings, s.scan.Findings...)
		maps.Copy(out.Files, s.report.Files)
		if len(s.scan.Applications) == 0 {
			continue
		}
		if out.Scanned == nil {
			out.Scanned, out.Failing = map[string]time.Time{}, map[string]string{}
		}
		out.Scanned[s.report.Cluster], out.Failing[s.report.Cluster] = s.report.Scanned, s.report.Error
	}
	return out, nil
}

// owners reads CODEOWNERS from the default branch, and from no other.
func (p *site) owners(ctx context.Context) (*command.Owners, error) {
	dialect := command.Dialect(p.config.Forge.Type)
	source, err := p.session.sources.get(ctx, p.config.URL)
	if err != nil {
		return nil, err
	}
	head, err := source.Head("")
	if err != nil {
		return nil, err
	}
	tree, err := source.Tree(head)
	if err != nil {
		return nil, err
	}
	for _, file := range dialect.OwnerFiles() {
		if data, ok := tree.Read(file); ok {
			return command.ParseOwners(dialect, string(data)), nil
		}
	}
	return nil, nil
}

// check reports on one pull request.
func (p *site) check(ctx context.Context, number int) error {
	v, err := p.checks().Check(ctx, number)
	if err != nil {
		return fmt.Errorf("status check of pull request %d: %w", number, err)
	}
	if v.Verdict != "" {
		p.log.Debug("status check", "repository", gitops.WithoutCredentials(p.config.URL), "number", number, "commit", v.Commit, "verdict", v.Verdict, "title", v.Title)
	}
	return nil
}

// checkHead reports on the open pull requests with a head.
func (p *site) checkHead(ctx context.Context, head string) error {
	numbers, err := p.forge.OpenPullRequests(ctx)
	if err != nil {
		return err
	}
	for _, n := range numbers[:min(len(numbers), mostChecked)] {
		pull, err := p.forge.PullRequest(ctx, n)
		if err != nil {
			return err
		}
		if pull.Head == head {
			if err := p.check(ctx, n); err != nil {
				return err
			}
		}
	}
	return nil
}
