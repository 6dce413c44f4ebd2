package gitlab

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	gl "github.com/xanzy/go-gitlab"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// PullRequest reads one merge request and its files. Its merge commit is the one on the target branch, whether by merge,
// squash or fast-forward.
func (f *Forge) PullRequest(ctx context.Context, number int) (bot.PullRequest, error) {
	login, err := f.account(ctx)
	if err != nil {
		return bot.PullRequest{}, err
	}
	m, err := f.mergeRequest(ctx, number)
	if err != nil {
		return bot.PullRequest{}, err
	}
	out := bot.PullRequest{Thread: mergeThread(m), Base: m.TargetBranch, SameRepository: m.SourceProjectID == m.TargetProjectID && m.SourceProjectID != 0}
	if out.State == bot.Merged {
		out.MergeCommit = cmp.Or(m.MergeCommitSHA, m.SquashCommitSHA, m.SHA)
		if m.MergedBy != nil {
			out.MergedBy = actor(m.MergedBy.Username, login)
		}
		if m.MergedAt != nil {
			out.MergedAt = *m.MergedAt
		}
	}
	for page := 1; page != 0; {
		diffs, response, err := f.client.MergeRequests.ListMergeRequestDiffs(f.project, number,
			&gl.ListMergeRequestDiffsOptions{ListOptions: gl.ListOptions{Page: page, PerPage: perPage}}, gl.WithContext(ctx))
		if err != nil {
			return bot.PullRequest{}, f.fail(ctx, err, reading, "list the files of merge request %d", number)
		}
		for _, d := range diffs {
			out.Files = append(out.Files, d.NewPath, d.OldPath)
		}
		page = response.NextPage
	}
	slices.Sort(out.Files)
	out.Files = slices.Compact(out.Files)
	out.FilesCut = strings.HasSuffix(m.ChangesCount, "+") // GitLab counts to 1000
	return out, nil
}

// OpenPullRequests lists the numbers of all that are open, newest first.
func (f *Forge) OpenPullRequests(ctx context.Context) ([]int, error) {
	var out []int
	for page := 1; page != 0; {
		requests, response, err := f.client.MergeRequests.ListProjectMergeRequests(f.project, &gl.ListProjectMergeRequestsOptions{
			State: gl.Ptr("opened"), Scope: gl.Ptr("all"), OrderBy: gl.Ptr("created_at"), Sort: gl.Ptr("desc"),
			ListOptions: gl.ListOptions{Page: page, PerPage: perPage},
		}, gl.WithContext(ctx))
		if err != nil {
			return nil, f.fail(ctx, err, reading, "list the open merge requests")
		}
		for _, m := range requests {
			if !slices.Contains(out, m.IID) {
				out = append(out, m.IID)
			}
		}
		page = response.NextPage
	}
	return out, nil
}

// Repository reads what GitLab says of the project.
func (f *Forge) Repository(ctx context.Context) (bot.RepositoryInfo, error) {
	p, _, err := f.client.Projects.GetProject(f.project, nil, gl.WithContext(ctx))
	if err != nil {
		return bot.RepositoryInfo{}, f.fail(ctx, err, reading, "read the project")
	}
	return bot.RepositoryInfo{DefaultBranch: p.DefaultBranch, Archived: p.Archived, URL: p.WebURL, CloneURL: p.HTTPURLToRepo}, nil
}

// Protection reads what protects a branch. A protected branch cannot be deleted by a push. Reading the rules needs the role
// Maintainer on older servers: where it is missing, Known is false. GitLab requires no status by name; where only what
// passed its pipelines may be merged, Holdfast's status is part of those and so is required.
func (f *Forge) Protection(ctx context.Context, branch string) (bot.BranchProtection, error) {
	about, _, err := f.client.Branches.GetBranch(f.project, branch, gl.WithContext(ctx))
	if err != nil {
		return bot.BranchProtection{}, f.fail(ctx, err, reading, "read the branch %s", branch)
	}
	out := bot.BranchProtection{Known: true, Protected: about.Protected, AllowsForce: !about.Protected, AllowsGone: !about.Protected}
	if about.Protected {
		if err := f.protectedBranch(ctx, branch, &out); err != nil {
			return bot.BranchProtection{}, err
		}
	}
	if err := f.approvalRules(ctx, branch, &out); err != nil {
		return bot.BranchProtection{}, err
	}
	project, _, err := f.client.Projects.GetProject(f.project, nil, gl.WithContext(ctx))
	if err != nil {
		return bot.BranchProtection{}, f.fail(ctx, err, reading, "read the project")
	}
	if project.OnlyAllowMergeIfPipelineSucceeds {
		out.Checks = []string{checkName}
	}
	return out, nil
}

// protectedBranch looks whether a rule that fits the branch allows forced pushes: of several, the most permissive counts.
func (f *Forge) protectedBranch(ctx context.Context, branch string, out *bot.BranchProtection) error {
	for page := 1; page != 0; {
		rules, response, err := f.client.ProtectedBranches.ListProtectedBranches(f.project,
			&gl.ListProtectedBranchesOptions{ListOptions: gl.ListOptions{Page: page, PerPage: perPage}}, gl.WithContext(ctx))
		if err != nil {
			err = f.fail(ctx, err, reading, "list the protected branches")
			if errors.Is(err, forge.ErrForbidden) || errors.Is(err, forge.ErrNotFound) {
				out.Known, out.AllowsForce = false, true // the worse is assumed
				return nil
			}
			return err
		}
		for _, r := range rules {
			if fits(r.Name, branch) && r.AllowForcePush {
				out.AllowsForce = true
			}
		}
		page = response.NextPage
	}
	return nil
}

// approvalRules counts the approvals that a rule of the project demands. GitLab Free has no such rules.
func (f *Forge) approvalRules(ctx context.Context, branch string, out *bot.BranchProtection) error {
	for page := 1; page != 0; {
		rules, response, err := f.client.Projects.GetProjectApprovalRules(f.project,
			&gl.GetProjectApprovalRulesListsOptions{Page: page, PerPage: perPage}, gl.WithContext(ctx))
		if err != nil {
			err = f.fail(ctx, err, reading, "list the approval rules")
			if errors.Is(err, forge.ErrNotFound) {
				return nil
			}
			if errors.Is(err, forge.ErrForbidden) {
				out.Known = false
				return nil
			}
			return err
		}
		for _, r := range rules {
			named := slices.ContainsFunc(r.ProtectedBranches, func(p *gl.ProtectedBranch) bool { return fits(p.Name, branch) })
			if named || len(r.ProtectedBranches) == 0 && !r.AppliesToAllProtectedBranches || r.AppliesToAllProtectedBranches && out.Protected {
				out.Approvals = max(out.Approvals, r.ApprovalsRequired)
			}
		}
		page = response.NextPage
	}
	return nil
}

// fits says whether a rule's name, in which * stands for any characters, is about a branch.
func fits(pattern, branch string) bool {
	quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
	return regexp.MustCompile(`^` + quoted + `$`).MatchString(branch)
}
