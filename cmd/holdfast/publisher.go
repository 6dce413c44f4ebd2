package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/github"
	"holdfast/bot/ledger"
	"holdfast/bot/propose"
	"holdfast/bot/publish"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// commits makes the signed commits of pull requests and pushes their branches.
type commits struct {
	sources *sources
	signer  sign.Signer
	author  repo.Person
	when    time.Time
	// maker gives the forge that makes and signs the commits of a repository's pull requests, and its own login; nil
	// where they are signed with the key and pushed.
	maker func(ctx context.Context, repository string) (commitMaker, string, error)
	// anchors are where the ledgers stand, by repository, for messages to quote.
	anchors map[string]ledger.Head
}

// commitMaker is a forge that makes and signs commits.
type commitMaker interface {
	MakeCommit(ctx context.Context, c github.Commit) (string, error)
}

// Push commits the files onto the proposal's base and sets the branch to it. A branch that is as wanted
// already is left alone, and so is one whose head is not Holdfast's.
func (c commits) Push(ctx context.Context, p bot.Proposal, edits []gitops.Edit) (string, error) {
	source, err := c.sources.get(ctx, p.Repo)
	if err != nil {
		return "", err
	}
	if source.git == nil {
		return "", fmt.Errorf("%s is a plain folder: nothing can be committed there; make it a Git repository, or use --dry-run", source.location)
	}
	var maker commitMaker
	login := ""
	if c.maker != nil {
		if maker, login, err = c.maker(ctx, p.Repo); err != nil {
			return "", err
		}
	}
	expected := ""
	if head, err := source.git.Head(p.Branch); err == nil {
		expected = head
		ours, err := c.made(source.git, head, p, login)
		if err != nil {
			return "", err
		}
		if !ours {
			return "", fmt.Errorf("the head %.12s of %s was not made by Holdfast: it is left as it is; delete the branch to have it made anew", head, p.Branch)
		}
	} else if !errors.Is(err, repo.ErrNotFound) {
		return "", err
	}
	if expected != "" {
		if as, err := asWanted(source.git, expected, p.BaseCommit, edits); err != nil || as {
			return expected, err
		}
	}
	message := p.Message + ledger.AnchorTrailer(c.anchors[p.Repo])
	if maker != nil {
		return maker.MakeCommit(ctx, github.Commit{Branch: p.Branch, Head: expected, Base: p.BaseCommit, Message: message, Edits: edits})
	}
	commit, err := source.git.Commit(repo.Commit{Parent: p.BaseCommit, Edits: edits, Message: message, Author: c.author, When: c.when, Signer: c.signer})
	if err != nil {
		return "", err
	}
	return commit, source.git.Push(ctx, p.Branch, commit, expected)
}

// githubCommitter is the committer of what is committed on GitHub itself: by its API, and by people in its pages.
const githubCommitter = "GitHub"

// made says whether Holdfast made the head of a branch: it has the key in its message and Holdfast as its
// committer. A person who amends it keeps the first and changes the second. What GitHub made has GitHub as its
// committer, and is by the account whose login is given.
func (c commits) made(git *repo.Repository, head string, p bot.Proposal, login string) (bool, error) {
	message, err := git.Message(head)
	if err != nil {
		return false, err
	}
	committer, err := git.Committer(head)
	if err != nil {
		return false, err
	}
	ours := committer == c.author
	if !ours && login != "" && committer.Name == githubCommitter {
		author, err := git.Author(head)
		if err != nil {
			return false, err
		}
		ours = author.Name == login
	}
	return ours && strings.Contains(message, "\nHoldfast-Key: "+p.Key+"\n"), nil
}

// asWanted says whether a commit holds just what the edits would make of the base: pushing the same again
// would only take reviewers' approvals away.
func asWanted(git *repo.Repository, head, base string, edits []gitops.Edit) (bool, error) {
	now, err := git.Tree(head)
	if err != nil {
		return false, err
	}
	before, err := git.Tree(base)
	if err != nil {
		return false, err
	}
	return now.Digest("") == before.With(edits).Digest(""), nil
}

var _ publish.Commits = commits{}

// publisher is a session's way to the forge: signer, repositories, forges by repository URL.
type publisher struct {
	session  *session
	commits  publish.Commits
	evidence evidence
	// waiting counts what waits for a budget, by repository, and waitingElsewhere what did in other clusters' rounds.
	waiting, waitingElsewhere map[string]int
	// introduced are the repositories that need no onboarding.
	introduced map[string]bool
}

// newPublisher loads the signing key, so that a key that cannot sign is told before anything is read.
func (x *session) newPublisher(context.Context) (*publisher, error) {
	if x.config.Signing == nil {
		return nil, fmt.Errorf("no signing key: every commit is signed; set signing in holdfast.yaml, or use --dry-run")
	}
	signer, err := x.config.Signing.Load()
	if err != nil {
		return nil, err
	}
	e := evidence{session: x, signer: signer, author: x.config.Signing.Author(), heads: map[string]ledger.Head{}, states: map[string]*ledger.State{}}
	p := &publisher{session: x, evidence: e, waiting: map[string]int{}, introduced: map[string]bool{}}
	pushed := commits{sources: x.sources, signer: signer, author: x.config.Signing.Author(), when: x.input.Now, anchors: e.heads}
	if x.config.Signing.Forge {
		pushed.maker = p.maker
	}
	p.commits = x.effects.Commits(pushed)
	if x.service.commits != nil {
		p.commits = x.service.commits(p.commits)
	}
	return p, nil
}

// maker gives the forge that makes a repository's commits, and its login.
func (p *publisher) maker(ctx context.Context, repo string) (commitMaker, string, error) {
	opened, err := p.open(ctx, repo)
	if err != nil {
		return nil, "", err
	}
	app, ok := opened.(interface {
		commitMaker
		Account(context.Context) (bot.Actor, error)
	})
	if !ok {
		return nil, "", fmt.Errorf("the forge of %s makes no commits: leave signing.forge out of holdfast.yaml", repo)
	}
	actor, err := app.Account(ctx)
	return app, actor.Login, err
}

func (p *publisher) open(ctx context.Context, repo string) (forge.Publisher, error) {
	r := p.session.config.Repository(repo)
	if r == nil || r.Forge == nil {
		return nil, fmt.Errorf("no forge is configured for %s: add the repository, with its forge, to holdfast.yaml", orDefault(repo, "the repository"))
	}
	if p.session.forge != nil {
		return p.session.forge(ctx, *r.Forge)
	}
	return openForge(ctx, *r.Forge, nil)
}

// board is a forge and the bot's own threads on it.
type board struct {
	forge forge.Publisher
	// inspect tells more of pull requests; nil with a forge that cannot.
	inspect forge.Inspector
	threads []bot.Thread
}

// boards reads the threads of every repository of a scan. A forge that cannot be read is an error before
// anything is written anywhere: what it has already would be opened twice.
func (p *publisher) boards(ctx context.Context, result detect.Scan) (map[string]board, error) {
	out := map[string]board{}
	var failed []error
	for _, repo := range p.session.repositoriesOf(result) {
		target, err := p.open(ctx, repo)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		b := board{forge: p.session.effects.Forge(target)} // with an eye on what is written to it
		b.inspect, _ = target.(forge.Inspector)
		for _, kind := range []bot.Kind{bot.AsPullRequest, bot.AsIssue} {
			found, err := target.Threads(ctx, kind)
			if err != nil {
				return nil, fmt.Errorf("%s: listing the %ss: %w", repo, kind, err)
			}
			b.threads = append(b.threads, found...)
		}
		out[repo] = b
	}
	return out, errors.Join(failed...)
}

func threadsOf(boards map[string]board) []bot.Thread {
	var out []bot.Thread
	for _, repo := range slices.Sorted(maps.Keys(boards)) {
		out = append(out, boards[repo].threads...)
	}
	return out
}

// seen sums up what the scan says about threads. Where something went wrong, an Application's threads are left
// alone; those about several clusters, where anything is not known.
func seen(result detect.Scan) publish.Seen {
	out := publish.Seen{
		Scopes: map[string]bool{}, Drifts: propose.Drifting(result), Unknown: map[string]bool{}, Revisions: map[string]string{},
	}
	all := true
	for _, a := range result.Applications {
		scope := bot.ScopeMark(propose.Scope(a.Application))
		if a.State != detect.Rendered {
			all = false
			continue
		}
		out.Scopes[scope] = true
		if commit := a.Application.Source.Applied; commit != "" && commit != working {
			out.Revisions[scope] = commit
		}
	}
	for _, u := range result.Unknown {
		out.Unknown[detect.FindingID(u.Cluster, u.Application, u.Object.ID())] = true
		if !u.ByChoice {
			all = false
			delete(out.Scopes, bot.ScopeMark(u.Cluster+"/"+u.Application))
		}
	}
	out.Scopes[bot.ScopeMark(propose.RootScope)] = all
	return out
}

// standings compares the branches of open codifies that nothing wants now with their base. One whose branch or base
// cannot be read is left out.
func (p *publisher) standings(ctx context.Context, result detect.Scan, wanted []bot.Proposal, threads []bot.Thread) map[int]bot.Standing {
	apps := map[string]gitops.Application{}
	for _, a := range result.Applications {
		apps[bot.ScopeMark(propose.Scope(a.Application))] = a.Application
	}
	out := map[int]bot.Standing{}
	for _, t := range threads {
		key, _, _ := bot.ParseMarker(t.Body)
		app, ours := apps[bot.ScopeOf(key)]
		record := bot.ParseRecord(t.Body)
		is := func(p bot.Proposal) bool { return p.Key == key }
		if t.Kind != bot.AsPullRequest || t.State != bot.Open || !ours || record.Base == "" || slices.ContainsFunc(wanted, is) {
			continue
		}
		if s, err := p.standing(ctx, app, t.Branch, record.Base); err == nil {
			out[t.Number] = s
		}
	}
	return out
}

func (p *publisher) standing(ctx context.Context, app gitops.Application, branch, parent string) (bot.Standing, error) {
	base, err := p.session.proposalSource(ctx, app)
	if err != nil {
		return "", err
	}
	source, err := p.session.sources.get(ctx, app.Source.Repo)
	if err != nil || source.git == nil {
		return "", err
	}
	head, err := source.git.Head(branch)
	if err != nil {
		return "", err
	}
	now, err := source.git.Tree(head)
	if err != nil {
		return "", err
	}
	before, err := source.git.Tree(parent)
	if err != nil {
		return "", err
	}
	return propose.StandingOf(before, now, base.Tree), nil
}

// publish carries out what Plan decides, a repository at a time, and prints one line an action.
func (p *publisher) publish(ctx context.Context, boards map[string]board, result detect.Scan, proposals []bot.Proposal, some bool) error {
	byRepo := map[string][]bot.Proposal{}
	for _, one := range proposals {
		byRepo[one.Repo] = append(byRepo[one.Repo], one)
	}
	// A run that answers some findings says nothing about the others: their threads are left alone.
	scopes := publish.Seen{}
	if !some {
		scopes = seen(result)
	}
	if err := p.evidence.look(ctx, boards); err != nil {
		return err
	}
	var failed []error
	for _, repo := range slices.Sorted(maps.Keys(boards)) {
		b := boards[repo]
		scopes.Standings = p.standings(ctx, result, byRepo[repo], b.threads)
		if scopes.Scopes != nil && p.introduced[repo] {
			p.settleOnboarding(scopes, b.threads)
		}
		failed = append(failed, p.carryOut(ctx, repo, b, result, publish.Plan(byRepo[repo], b.threads, scopes)))
	}
	return errors.Join(failed...)
}

// carryOut makes one repository's forge look as planned. What says that a drift is over is on record before it is said
// there, and quotes where the ledger then stands; a run that dies in between is made up for by the next.
func (p *publisher) carryOut(ctx context.Context, repo string, b board, result detect.Scan, actions []publish.Action) error {
	first, late := publish.Late(publish.Fair(actions))
	x := publish.Publishing{
		Forge: b.forge, Commits: p.commits, Now: p.session.input.Now, Claimant: repo, Budget: p.session.budgets.of(repo),
	}
	outcomes := x.Apply(ctx, first)
	recorded := slices.Clone(outcomes)
	for _, a := range late {
		recorded = append(recorded, publish.Outcome{Action: a, Thread: a.Thread})
	}
	merged, err := p.evidence.merged(ctx, repo, b)
	if err == nil {
		err = p.evidence.record(ctx, result, repo, recorded, merged)
	}
	if err != nil {
		return errors.Join(p.report(outcomes), err)
	}
	outcomes = append(outcomes, x.Apply(ctx, p.evidence.quoted(repo, late))...)
	return errors.Join(p.report(outcomes), p.overview(ctx, x, b, outcomes))
}

// report tells what was done, and gives what failed.
func (p *publisher) report(outcomes []publish.Outcome) error {
	var failed []error
	for _, o := range outcomes {
		p.session.reportOutcome(o)
		failed = append(failed, o.Err)
	}
	return errors.Join(failed...)
}
