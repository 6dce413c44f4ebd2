package github

import (
	"context"
	"errors"
	"net/url"
	"slices"

	gh "github.com/google/go-github/v60/github"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// mostFiles is where GitHub ends the list of a pull request's files (docs.github.com, "List pull requests files").
const mostFiles = 3000

// PullRequest reads one pull request and its files.
func (f *Forge) PullRequest(ctx context.Context, number int) (bot.PullRequest, error) {
	login, err := f.account(ctx)
	if err != nil {
		return bot.PullRequest{}, err
	}
	pull, _, err := f.client.PullRequests.Get(ctx, f.owner, f.repo, number)
	if err != nil {
		return bot.PullRequest{}, f.fail(ctx, err, "read pull request %d", number)
	}
	head, base := pull.GetHead().GetRepo(), pull.GetBase().GetRepo() // a fork that was deleted is no repository
	out := bot.PullRequest{
		Thread: pullThread(pull), Base: pull.GetBase().GetRef(),
		SameRepository: head.GetID() != 0 && head.GetID() == base.GetID(),
	}
	if out.State == bot.Merged { // before, it is a commit that GitHub merged for trial
		out.MergeCommit, out.MergedBy, out.MergedAt = pull.GetMergeCommitSHA(), actor(pull.MergedBy, login), pull.GetMergedAt().Time
	}
	count := 0
	for page := 1; page != 0; {
		files, response, err := f.client.PullRequests.ListFiles(ctx, f.owner, f.repo, number, &gh.ListOptions{Page: page, PerPage: perPage})
		if err != nil {
			return bot.PullRequest{}, f.fail(ctx, err, "list the files of pull request %d", number)
		}
		for _, file := range files {
			count++
			out.Files = append(out.Files, file.GetFilename())
			if before := file.GetPreviousFilename(); before != "" {
				out.Files = append(out.Files, before)
			}
		}
		page = response.NextPage
	}
	slices.Sort(out.Files)
	out.Files = slices.Compact(out.Files)
	out.FilesCut = count >= mostFiles || count < pull.GetChangedFiles()
	return out, nil
}

// OpenPullRequests lists the numbers of all that are open, newest first.
func (f *Forge) OpenPullRequests(ctx context.Context) ([]int, error) {
	var out []int
	for page := 1; page != 0; {
		pulls, response, err := f.client.PullRequests.List(ctx, f.owner, f.repo, &gh.PullRequestListOptions{
			State: "open", Sort: "created", Direction: "desc", ListOptions: gh.ListOptions{Page: page, PerPage: perPage},
		})
		if err != nil {
			return nil, f.fail(ctx, err, "list the open pull requests")
		}
		for _, p := range pulls {
			if !slices.Contains(out, p.GetNumber()) {
				out = append(out, p.GetNumber())
			}
		}
		page = response.NextPage
	}
	return out, nil
}

// Repository reads what GitHub says of the repository.
func (f *Forge) Repository(ctx context.Context) (bot.RepositoryInfo, error) {
	r, _, err := f.client.Repositories.Get(ctx, f.owner, f.repo)
	if err != nil {
		return bot.RepositoryInfo{}, f.fail(ctx, err, "read the repository")
	}
	return bot.RepositoryInfo{DefaultBranch: r.GetDefaultBranch(), Archived: r.GetArchived(), URL: r.GetHTMLURL(), CloneURL: r.GetCloneURL()}, nil
}

// Protection joins a branch's protection and the rulesets that apply to it. Reading the former needs the permission to
// administer, which Holdfast does not ask for: where it is missing, Known is false, only that the branch is protected and its
// checks are told, and of the rest the worse is assumed.
func (f *Forge) Protection(ctx context.Context, branch string) (bot.BranchProtection, error) {
	out := bot.BranchProtection{Known: true, AllowsForce: true, AllowsGone: true}
	var about struct {
		Protected  bool `json:"protected"`
		Protection struct {
			Checks struct {
				Contexts []string `json:"contexts"`
			} `json:"required_status_checks"`
		} `json:"protection"`
	}
	if err := f.get(ctx, f.path("branches/"+url.PathEscape(branch)), &about); err != nil {
		return bot.BranchProtection{}, f.fail(ctx, err, "read the branch %s", branch)
	}
	if err := f.rules(ctx, branch, &out); err != nil {
		return bot.BranchProtection{}, err
	}
	if about.Protected {
		out.Protected = true
		out.Checks = append(out.Checks, about.Protection.Checks.Contexts...)
		if err := f.classic(ctx, branch, &out); err != nil {
			return bot.BranchProtection{}, err
		}
	}
	slices.Sort(out.Checks)
	out.Checks = slices.Compact(out.Checks)
	return out, nil
}

// rules adds what rulesets demand. (docs.github.com, "Get rules for a branch"; go-github refuses rules that it does not know.)
func (f *Forge) rules(ctx context.Context, branch string, out *bot.BranchProtection) error {
	var rules []struct {
		Type       string `json:"type"`
		Parameters struct {
			Approvals int `json:"required_approving_review_count"`
			Checks    []struct {
				Context string `json:"context"`
			} `json:"required_status_checks"`
		} `json:"parameters"`
	}
	err := f.get(ctx, f.path("rules/branches/"+url.PathEscape(branch)+"?per_page=100"), &rules)
	if err != nil {
		if err = f.fail(ctx, err, "read the rules of the branch %s", branch); errors.Is(err, forge.ErrNotFound) {
			return nil // GitHub Enterprise servers before 3.11 have no rulesets
		}
		return err
	}
	for _, r := range rules {
		out.Protected = true
		switch r.Type {
		case "non_fast_forward":
			out.AllowsForce = false
		case "deletion":
			out.AllowsGone = false
		case "pull_request":
			out.Approvals = max(out.Approvals, r.Parameters.Approvals)
		case "required_status_checks":
			for _, c := range r.Parameters.Checks {
				out.Checks = append(out.Checks, c.Context)
			}
		}
	}
	return nil
}

// classic adds what the branch's own protection demands.
func (f *Forge) classic(ctx context.Context, branch string, out *bot.BranchProtection) error {
	p, _, err := f.client.Repositories.GetBranchProtection(ctx, f.owner, f.repo, branch)
	if errors.Is(err, gh.ErrBranchNotProtected) {
		return nil // by rulesets alone
	}
	if err != nil {
		if err = f.fail(ctx, err, "read the protection of the branch %s", branch); errors.Is(err, forge.ErrForbidden) || errors.Is(err, forge.ErrNotFound) {
			out.Known = false
			return nil
		}
		return err
	}
	if p.AllowForcePushes == nil || !p.AllowForcePushes.Enabled {
		out.AllowsForce = false
	}
	if p.AllowDeletions == nil || !p.AllowDeletions.Enabled {
		out.AllowsGone = false
	}
	if p.RequiredPullRequestReviews != nil {
		out.Approvals = max(out.Approvals, p.RequiredPullRequestReviews.RequiredApprovingReviewCount)
	}
	if checks := p.RequiredStatusChecks; checks != nil && checks.Checks != nil {
		for _, c := range *checks.Checks {
			out.Checks = append(out.Checks, c.Context)
		}
	}
	return nil
}
