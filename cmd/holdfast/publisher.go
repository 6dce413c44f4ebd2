package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"holdfast/bot"
	"holdfast/bot/publish"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// commits makes the signed commits of pull requests and pushes their branches.
type commits struct {
	sources *sources
	signer  sign.Signer
	author  repo.Person
	now     func() repoTime
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
		Parent: p.BaseCommit, Edits: edits, Message: p.Message, Author: c.author, When: c.now(), Signer: c.signer,
	})
	if err != nil {
		return "", err
	}
	return commit, source.git.Push(ctx, p.Branch, commit, expected)
}

var _ publish.Commits = commits{}
