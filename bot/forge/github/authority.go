package github

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// Account is the bot's own.
func (f *Forge) Account(ctx context.Context) (bot.Actor, error) {
	login, err := f.account(ctx)
	return bot.Actor{Login: login, Bot: err == nil}, err
}

// Role gives an account's role in the repository, also one that it has by a team or the organization. A role that an
// organization made itself counts as the basic one that it builds on. Apps have none.
func (f *Forge) Role(ctx context.Context, login string) (bot.Role, error) {
	// What would leave its place in the request's path is no login.
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`).MatchString(login) {
		return bot.NoRole, nil
	}
	var level struct {
		Permission string `json:"permission"` // admin, write, read or none
		RoleName   string `json:"role_name"`
	}
	if err := f.get(ctx, f.path("collaborators/"+login+"/permission"), &level); err != nil {
		if err = f.fail(ctx, err, "ask for the role of %s", login); errors.Is(err, forge.ErrNotFound) {
			return bot.NoRole, nil // GitHub says the same of accounts that do not exist
		}
		return bot.NoRole, err
	}
	for _, name := range []string{level.RoleName, level.Permission} {
		if role, ok := roleOf(name); ok {
			return role, nil
		}
	}
	return bot.NoRole, nil
}

// roleOf maps the names of GitHub's roles (docs.github.com, "Repository roles for an organization").
func roleOf(name string) (bot.Role, bool) {
	switch name {
	case "none":
		return bot.NoRole, true
	case "read":
		return bot.Reader, true
	case "triage":
		return bot.Triager, true
	case "write":
		return bot.Writer, true
	case "maintain":
		return bot.Keeper, true
	case "admin":
		return bot.Administrator, true
	}
	return bot.NoRole, false
}

// Approvals lists each reviewer's newest review that approves or asks for changes, oldest first. One that was dismissed
// does not bring an older one back.
func (f *Forge) Approvals(ctx context.Context, number int) ([]bot.Approval, error) {
	login, err := f.account(ctx)
	if err != nil {
		return nil, err
	}
	var newest []bot.Approval // at most one a reviewer, in order of time
	for page := 1; page != 0; {
		reviews, response, err := f.client.PullRequests.ListReviews(ctx, f.owner, f.repo, number, &gh.ListOptions{Page: page, PerPage: perPage})
		if err != nil {
			return nil, f.fail(ctx, err, "list the reviews of pull request %d", number)
		}
		for _, r := range reviews { // GitHub lists them in order of time
			state := strings.ToUpper(r.GetState())
			if state != "APPROVED" && state != "CHANGES_REQUESTED" && state != "DISMISSED" {
				continue
			}
			by := actor(r.User, login)
			newest = slices.DeleteFunc(newest, func(a bot.Approval) bool { return strings.EqualFold(a.By.Login, by.Login) })
			if state != "DISMISSED" && by.Login != "" {
				newest = append(newest, bot.Approval{
					By: by, Commit: r.GetCommitID(), Time: r.GetSubmittedAt().Time, URL: r.GetHTMLURL(), Rejected: state == "CHANGES_REQUESTED",
				})
			}
		}
		page = response.NextPage
	}
	return newest, nil
}

// path is below the repository's address.
func (f *Forge) path(rest string) string { return "repos/" + f.owner + "/" + f.repo + "/" + rest }

// get reads what go-github has no type for, or not all of.
func (f *Forge) get(ctx context.Context, path string, into any) error {
	request, err := f.client.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	_, err = f.client.Do(ctx, request, into)
	return err
}
