package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
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
	expected := ""
	if head, err := source.git.Head(p.Branch); err == nil {
		expected = head
		message, err := source.git.Message(head)
		if err != nil {
			return "", err
		}
		if !strings.Contains(message, "\nHoldfast-Key: "+p.Key+"\n") {
			return "", fmt.Errorf("the head %.12s of %s was not made by Holdfast: it is left as it is; delete the branch to have it made anew", head, p.Branch)
		}
	} else if !errors.Is(err, repo.ErrNotFound) {
		return "", err
	}
	commit, err := source.git.Commit(repo.Commit{
		Parent: p.BaseCommit, Edits: edits, Message: p.Message, Author: c.author, When: c.when, Signer: c.signer,
	})
	if err != nil {
		return "", err
	}
	return commit, source.git.Push(ctx, p.Branch, commit, expected)
}

var _ publish.Commits = commits{}

// publisher is a session's way to the forge: signer, repositories, forges by repository URL.
type publisher struct {
	session *session
	commits publish.Commits
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
	return &publisher{session: x, commits: commits{
		sources: x.sources, signer: signer, author: x.config.Signing.Author(), when: x.input.Now,
	}}, nil
}

// forge gives the forge of a repository, as the configuration names it.
func (p *publisher) forge(ctx context.Context, repo string) (forge.Publisher, error) {
	r := p.session.config.Repository(repo)
	if r == nil || r.Forge == nil {
		return nil, fmt.Errorf("no forge is configured for %s: add the repository, with its forge, to holdfast.yaml", orDefault(repo, "the repository"))
	}
	return openForge(ctx, *r.Forge)
}

// publish carries out what Plan decides, a repository at a time, and prints one line an action.
func (p *publisher) publish(ctx context.Context, result detect.Scan, proposals []bot.Proposal) error {
	scopes := map[string]bool{}
	all := true
	for _, a := range result.Applications {
		if a.State == detect.Rendered {
			scopes[bot.ScopeMark(propose.Scope(a.Application))] = true
		} else {
			all = false
		}
	}
	scopes[bot.ScopeMark(propose.RootScope)] = all
	byRepo := map[string][]bot.Proposal{}
	repos := p.session.repositoriesOf(result)
	for _, one := range proposals {
		byRepo[one.Repo] = append(byRepo[one.Repo], one)
	}
	var failed []error
	for _, repo := range repos {
		target, err := p.forge(ctx, repo)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		var threads []bot.Thread
		for _, kind := range []bot.Kind{bot.AsPullRequest, bot.AsIssue} {
			found, err := target.Threads(ctx, kind)
			if err != nil {
				return fmt.Errorf("%s: listing the %ss: %w", repo, kind, err)
			}
			threads = append(threads, found...)
		}
		actions := publish.Plan(byRepo[repo], threads, scopes)
		for _, o := range publish.Apply(ctx, target, p.commits, actions, p.session.input.Now) {
			p.session.reportOutcome(o)
			if o.Err != nil {
				failed = append(failed, o.Err)
			}
		}
	}
	return errors.Join(failed...)
}
