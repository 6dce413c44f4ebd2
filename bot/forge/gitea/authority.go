package gitea

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// Role gives an account's role. Gitea shows roles to administrators of the repository only: for another bot the error
// is forge.ErrForbidden.
func (f *Forge) Role(ctx context.Context, login string) (bot.Role, error) {
	// What would leave its place in the request's path is no login.
	if !regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`).MatchString(login) {
		return bot.NoRole, nil
	}
	var found struct{ Permission string }
	err := f.read(ctx, f.at("collaborators", login, "permission"), &found)
	if err == nil {
		return roleOf(found.Permission), nil
	}
	var refused *refusal
	if errors.As(err, &refused) && refused.status == http.StatusForbidden && !strings.Contains(refused.said, "required=") {
		return bot.NoRole, fmt.Errorf("gitea: %s/%s: read the role of %s: %w: roles are shown to administrators of the repository only: make the token's user one",
			f.owner, f.repo, login, forge.ErrForbidden)
	}
	err = f.fail(ctx, err, "read the role of %s", login)
	if errors.Is(err, forge.ErrNotFound) {
		// No such account, or no such repository.
		_, err = f.Repository(ctx)
	}
	return bot.NoRole, err
}

func roleOf(permission string) bot.Role {
	switch permission {
	case "owner", "admin":
		return bot.Administrator
	case "write":
		return bot.Writer
	case "read":
		return bot.Reader
	}
	return bot.NoRole
}

// Approvals lists each reviewer's newest review that approves or asks for changes. A reviewer whose newest one was
// dismissed is left out, whatever stands before it.
func (f *Forge) Approvals(ctx context.Context, number int) ([]bot.Approval, error) {
	own, err := f.Account(ctx)
	if err != nil {
		return nil, err
	}
	newest := map[int64]review{}
	err = pages(ctx, f, f.at("pulls", strconv.Itoa(number), "reviews"), nil, func(r review) bool {
		decides := r.State == "APPROVED" || r.State == "REQUEST_CHANGES"
		// Accounts that are gone are all one, with a negative number.
		if decides && r.User != nil && r.User.ID > 0 && newest[r.User.ID].ID < r.ID {
			newest[r.User.ID] = r
		}
		return true
	})
	if err != nil {
		return nil, f.fail(ctx, err, "list the reviews of pull request %d", number)
	}
	var out []bot.Approval
	for _, r := range newest {
		if !r.Dismissed {
			out = append(out, bot.Approval{
				By: r.User.actor(own.Login), Commit: r.CommitID, Time: r.SubmittedAt, URL: r.HTMLURL, Rejected: r.State == "REQUEST_CHANGES",
			})
		}
	}
	slices.SortFunc(out, func(a, b bot.Approval) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.By.Login, b.By.Login))
	})
	return out, nil
}
