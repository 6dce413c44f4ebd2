package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v60/github"

	"holdfast/bot/forge"
)

// fail maps an error of go-github to one of the forge's, and says what was tried and what to do.
func (f *Forge) fail(ctx context.Context, err error, what string, args ...any) error {
	return fmt.Errorf("github: %s/%s: %s: %w", f.owner, f.repo, fmt.Sprintf(what, args...), explain(ctx, err))
}

func explain(ctx context.Context, err error) error {
	var (
		answer    *gh.ErrorResponse
		app       *ghinstallation.HTTPError
		transport *url.Error
	)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", forge.ErrUnavailable, ctx.Err())
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &app):
		return explainApp(app)
	case errors.As(err, &answer) && answer.Response != nil:
		return explainAnswer(answer)
	case errors.As(err, &transport):
		// Without the address, and not as an error of the context, which time limits of net/http look like.
		if errors.Is(transport.Err, forge.ErrUnavailable) || errors.Is(transport.Err, forge.ErrInvalid) {
			return transport.Err
		}
		return fmt.Errorf("%w: %v", forge.ErrUnavailable, transport.Err)
	case errors.Is(err, forge.ErrUnavailable):
		return err
	}
	return fmt.Errorf("%w: %v", forge.ErrUnavailable, err)
}

// explainApp is about the token that an App asks for before each request.
func explainApp(err *ghinstallation.HTTPError) error {
	switch {
	case err.Response == nil || err.Response.StatusCode >= 500:
		return fmt.Errorf("%w: no token for the App's installation %d", forge.ErrUnavailable, err.InstallationID)
	case err.Response.StatusCode == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: the App's installation %d does not cover the repository with the permissions that it has: accept the App's new permissions, and give it access to the repository",
			forge.ErrForbidden, err.InstallationID)
	}
	return fmt.Errorf("%w: GitHub gives no token for the App's installation %d (%s): check the App's ID, its private key, and that it is installed",
		forge.ErrForbidden, err.InstallationID, err.Response.Status)
}

func explainAnswer(answer *gh.ErrorResponse) error {
	said := message(answer)
	switch code := answer.Response.StatusCode; {
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%w: the credentials are not accepted (%s): check that the token is valid and has not expired", forge.ErrForbidden, said)
	case code == http.StatusForbidden && strings.Contains(said, "archived"):
		return fmt.Errorf("%w: %s", forge.ErrArchived, said)
	case code == http.StatusForbidden:
		return fmt.Errorf("%w: %s%s", forge.ErrForbidden, said, missing(answer.Response.Header))
	case code == http.StatusNotFound:
		return fmt.Errorf("%w: %s: check the name, and that the credentials may see it", forge.ErrNotFound, said)
	case code == http.StatusGone:
		return fmt.Errorf("%w: %s: issues may be switched off for this repository", forge.ErrNotFound, said)
	case code >= 500 || code == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %s: %s", forge.ErrUnavailable, answer.Response.Status, said)
	default:
		return fmt.Errorf("%w: %s: %s", forge.ErrInvalid, answer.Response.Status, said)
	}
}

// missing names the permission that the request needed. GitHub tells it of Apps and fine-grained tokens in one header
// (docs.github.com, "Permissions required for GitHub Apps"), of classic tokens in another.
func missing(header http.Header) string {
	if needs := header.Get("X-Accepted-GitHub-Permissions"); needs != "" {
		return fmt.Sprintf("; it needs the permission %s: grant it to the App or token", needs)
	}
	if needs := header.Get("X-Accepted-OAuth-Scopes"); needs != "" {
		return fmt.Sprintf("; it needs one of the scopes %s, the token has %q", needs, header.Get("X-OAuth-Scopes"))
	}
	return ""
}

// message joins what GitHub says: the summary, and the reasons beside it.
func message(answer *gh.ErrorResponse) string {
	parts := []string{answer.Message}
	for _, e := range answer.Errors {
		switch {
		case e.Message != "":
			parts = append(parts, e.Message)
		default:
			parts = append(parts, strings.TrimSpace(e.Resource+" "+e.Field+" "+e.Code))
		}
	}
	said := strings.Trim(strings.Join(parts, "; "), "; ")
	if said == "" {
		return http.StatusText(answer.Response.StatusCode)
	}
	return said
}
