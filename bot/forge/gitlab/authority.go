package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	gl "github.com/xanzy/go-gitlab"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// Role gives an account's role in the project, also one inherited from a group. A custom role counts as the one that it
// builds on. Who administers the server without being a member has none.
func (f *Forge) Role(ctx context.Context, login string) (bot.Role, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]*$`).MatchString(login) {
		return bot.NoRole, nil
	}
	users, _, err := f.client.Users.ListUsers(&gl.ListUsersOptions{Username: &login}, gl.WithContext(ctx))
	if err != nil {
		return bot.NoRole, f.fail(ctx, err, reading, "look for the account %s", login)
	}
	for _, user := range users {
		if !strings.EqualFold(user.Username, login) {
			continue
		}
		member, _, err := f.client.ProjectMembers.GetInheritedProjectMember(f.project, user.ID, gl.WithContext(ctx))
		if err != nil {
			if err = f.fail(ctx, err, reading, "ask for the role of %s", login); errors.Is(err, forge.ErrNotFound) {
				return bot.NoRole, nil
			}
			return bot.NoRole, err
		}
		if member.State != "active" { // blocked, or waiting for a seat
			return bot.NoRole, nil
		}
		return roleOf(int(member.AccessLevel)), nil
	}
	return bot.NoRole, nil
}

// roleOf maps the access levels (docs.gitlab.com, "Project members API"): 5 minimal access, 10 guest, 15 planner,
// 20 reporter, 30 developer, 40 maintainer, 50 owner. One that is not known counts as the next lower.
func roleOf(level int) bot.Role {
	switch {
	case level >= 50:
		return bot.Administrator
	case level >= 40:
		return bot.Keeper
	case level >= 30:
		return bot.Writer
	case level == 15:
		return bot.Triager
	case level >= 10:
		return bot.Reader
	}
	return bot.NoRole
}

// Approvals lists who approved a merge request and which reviewers ask for changes. GitLab does not tell which head was
// approved, so Commit is empty: whether a push takes approvals back is a setting of the project ("Remove all approvals when
// commits are added to the source branch"). Who did both asks for changes.
func (f *Forge) Approvals(ctx context.Context, number int) ([]bot.Approval, error) {
	login, err := f.account(ctx)
	if err != nil {
		return nil, err
	}
	var given struct {
		ApprovedBy []struct {
			User       gl.BasicUser `json:"user"`
			ApprovedAt time.Time    `json:"approved_at"` // newer servers alone
		} `json:"approved_by"`
	}
	path := fmt.Sprintf("projects/%s/merge_requests/%d/", gl.PathEscape(f.project), number)
	if err := f.get(ctx, path+"approvals", &given); err != nil {
		return nil, f.fail(ctx, err, reading, "list the approvals of merge request %d", number)
	}
	reviewers, _, err := f.client.MergeRequests.GetMergeRequestReviewers(f.project, number, gl.WithContext(ctx))
	if err != nil {
		return nil, f.fail(ctx, err, reading, "list the reviewers of merge request %d", number)
	}
	url := f.page(bot.AsPullRequest, number)
	var out []bot.Approval
	for _, a := range given.ApprovedBy {
		out = append(out, bot.Approval{By: actor(a.User.Username, login), Time: a.ApprovedAt, URL: url})
	}
	for _, r := range reviewers {
		if r.User == nil || r.State != "requested_changes" {
			continue
		}
		by := actor(r.User.Username, login)
		out = slices.DeleteFunc(out, func(a bot.Approval) bool { return strings.EqualFold(a.By.Login, by.Login) })
		out = append(out, bot.Approval{By: by, URL: url, Rejected: true})
	}
	slices.SortStableFunc(out, func(a, b bot.Approval) int { return a.Time.Compare(b.Time) })
	return out, nil
}

// get reads what go-gitlab has no type for, or not all of.
func (f *Forge) get(ctx context.Context, path string, into any) error {
	request, err := f.client.NewRequest(http.MethodGet, path, nil, []gl.RequestOptionFunc{gl.WithContext(ctx)})
	if err != nil {
		return err
	}
	_, err = f.client.Do(request, into)
	return err
}
