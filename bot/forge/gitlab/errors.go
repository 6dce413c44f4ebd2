package gitlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	gl "github.com/xanzy/go-gitlab"

	"holdfast/bot/forge"
)

// The least that a token needs, by what is done. (docs.gitlab.com, "Roles and permissions", "Personal access token scopes".)
const (
	reading      = "the scope read_api and the role Reporter"
	discussing   = "the scope api and the role Guest"
	labelling    = "the scope api and the role Planner"
	contributing = "the scope api and the role Developer"
)

// fail maps an error of go-gitlab to one of the forge's, and says what was tried and what to do. needs is what the token
// needs for it.
func (f *Forge) fail(ctx context.Context, err error, needs, what string, args ...any) error {
	return fmt.Errorf("gitlab: %s: %s: %w", f.project, fmt.Sprintf(what, args...), explain(ctx, err, needs))
}

// refused is fail for what writes. GitLab does not say that a project is archived, so it is asked.
func (f *Forge) refused(ctx context.Context, err error, needs, what string, args ...any) error {
	failed := f.fail(ctx, err, needs, what, args...)
	if !errors.Is(failed, forge.ErrForbidden) {
		return failed
	}
	if project, _, err := f.client.Projects.GetProject(f.project, nil, gl.WithContext(ctx)); err == nil && project.Archived {
		return fmt.Errorf("gitlab: %s: %s: %w", f.project, fmt.Sprintf(what, args...), forge.ErrArchived)
	}
	return failed
}

func explain(ctx context.Context, err error, needs string) error {
	var (
		answer   *gl.ErrorResponse
		carrying *url.Error
	)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", forge.ErrUnavailable, ctx.Err())
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, gl.ErrNotFound):
		return fmt.Errorf("%w: check the name, and that the token may see it", forge.ErrNotFound)
	case errors.As(err, &answer) && answer.Response != nil:
		return explainAnswer(answer, needs)
	case errors.As(err, &carrying):
		// Without the address, and not as an error of the context, which time limits of net/http look like.
		if errors.Is(carrying.Err, forge.ErrUnavailable) || errors.Is(carrying.Err, forge.ErrInvalid) {
			return carrying.Err
		}
		return fmt.Errorf("%w: %v", forge.ErrUnavailable, carrying.Err)
	case errors.Is(err, forge.ErrUnavailable):
		return err
	}
	return fmt.Errorf("%w: %v", forge.ErrUnavailable, err)
}

func explainAnswer(answer *gl.ErrorResponse, needs string) error {
	said := strings.Join(strings.Fields(answer.Message), " ")
	switch code := answer.Response.StatusCode; {
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%w: the token is not accepted (%s): check that it is valid and has not expired", forge.ErrForbidden, said)
	case code == http.StatusForbidden:
		return fmt.Errorf("%w: %s; it needs %s", forge.ErrForbidden, said, lacking(answer, needs))
	case code >= 500 || code == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %d %s", forge.ErrUnavailable, code, http.StatusText(code))
	default:
		return fmt.Errorf("%w: %d: %s", forge.ErrInvalid, code, said)
	}
}

// lacking names the scope where GitLab does, else what is needed in general.
func lacking(answer *gl.ErrorResponse, needs string) string {
	var said struct{ Error, Scope string }
	if json.Unmarshal(answer.Body, &said) == nil && said.Error == "insufficient_scope" && said.Scope != "" {
		return "the scope " + said.Scope + ", which the token lacks"
	}
	return needs
}
