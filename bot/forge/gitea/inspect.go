package gitea

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// maxFiles is how many files of a pull request are listed.
const maxFiles = 3000

// PullRequest reads one with the files that it changes.
func (f *Forge) PullRequest(ctx context.Context, number int) (bot.PullRequest, error) {
	own, err := f.Account(ctx)
	if err != nil {
		return bot.PullRequest{}, err
	}
	found, err := f.pull(ctx, number)
	if err != nil {
		return bot.PullRequest{}, err
	}
	out := bot.PullRequest{
		Thread: found.thread(), Base: found.Base.Ref,
		SameRepository: found.Head.RepoID == found.Base.RepoID && found.Head.Label != "",
	}
	if found.Base.Label != "" {
		out.Base = found.Base.Label
	}
	if found.Merged {
		out.MergeCommit, out.MergedAt = orZero(found.MergeCommitSHA), orZero(found.MergedAt)
		out.MergedBy = orZero(found.MergedBy).actor(own.Login)
	}
	count := 0
	err = pages(ctx, f, f.at("pulls", strconv.Itoa(number), "files"), nil, func(c changedFile) bool {
		if count++; count > maxFiles {
			out.FilesCut = true
			return false
		}
		out.Files = append(out.Files, c.Filename)
		if c.PreviousFilename != "" {
			out.Files = append(out.Files, c.PreviousFilename)
		}
		return true
	})
	if err != nil {
		return bot.PullRequest{}, f.fail(ctx, err, "list the files of pull request %d", number)
	}
	slices.Sort(out.Files)
	out.Files = slices.Compact(out.Files)
	return out, nil
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// OpenPullRequests lists the numbers of all that are open, newest first.
func (f *Forge) OpenPullRequests(ctx context.Context) ([]int, error) {
	var out []int
	err := pages(ctx, f, f.at("pulls"), url.Values{"state": {"open"}}, func(p pull) bool {
		if !slices.Contains(out, p.Number) { // one that is opened meanwhile shifts the pages
			out = append(out, p.Number)
		}
		return true
	})
	if err != nil {
		return nil, f.fail(ctx, err, "list the open pull requests")
	}
	return out, nil
}

// Repository tells what the server says of it.
func (f *Forge) Repository(ctx context.Context) (bot.RepositoryInfo, error) {
	var about repository
	if err := f.read(ctx, f.at(), &about); err != nil {
		return bot.RepositoryInfo{}, f.fail(ctx, err, "read the repository")
	}
	return bot.RepositoryInfo{
		DefaultBranch: about.DefaultBranch, Archived: about.Archived, URL: about.HTMLURL, CloneURL: about.CloneURL,
	}, nil
}

// Protection tells what guards a branch. Who is no administrator of the repository sees whether it is protected, the
// approvals and the checks, but not whether a push may be forced: Known is false then. Gitea lets nobody remove a
// protected branch.
func (f *Forge) Protection(ctx context.Context, name string) (bot.BranchProtection, error) {
	var found branch
	if err := f.read(ctx, f.at("branches", name), &found); err != nil {
		return bot.BranchProtection{}, f.fail(ctx, err, "read the branch %s", name)
	}
	if !found.Protected {
		return bot.BranchProtection{Known: true, AllowsForce: true, AllowsGone: true}, nil
	}
	out := bot.BranchProtection{Protected: true, Approvals: found.RequiredApprovals}
	if found.EnableStatusCheck {
		out.Checks = found.StatusCheckContexts
	}
	if found.EffectiveProtection == "" {
		return out, nil
	}
	var rule struct {
		EnableForcePush bool `json:"enable_force_push"`
	}
	switch err := f.read(ctx, f.at("branch_protections", found.EffectiveProtection), &rule); {
	case err == nil:
		out.Known, out.AllowsForce = true, rule.EnableForcePush
		return out, nil
	case errors.Is(explain(ctx, err), forge.ErrForbidden):
		return out, nil
	default:
		return bot.BranchProtection{}, f.fail(ctx, err, "read the protection of the branch %s", name)
	}
}
