package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"holdfast/bot/forge"
)

// errArchived is what the server says of some changes to an archived repository.
var errArchived = &refusal{status: http.StatusLocked, said: "it is archived"}

// fail maps an error to one of the forge's, and says what was tried and what to do.
func (f *Forge) fail(ctx context.Context, err error, what string, args ...any) error {
	return fmt.Errorf("gitea: %s/%s: %s: %w", f.owner, f.repo, fmt.Sprintf(what, args...), explain(ctx, err))
}

func explain(ctx context.Context, err error) error {
	var (
		refused   *refusal
		transport *url.Error
	)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		return explainRefusal(refused)
	case errors.Is(err, forge.ErrUnavailable) && errors.As(err, &transport):
		return transport.Err // a limit, told by the transport
	case errors.As(err, &transport):
		// Without the address, which may be a proxy's. A limit of the transport's own is not the caller's time.
		return fmt.Errorf("%w: %v", forge.ErrUnavailable, transport.Err)
	}
	return fmt.Errorf("%w: %w", forge.ErrUnavailable, err)
}

func explainRefusal(r *refusal) error {
	said := r.said
	if said == "" {
		said = http.StatusText(r.status)
	}
	switch code := r.status; {
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%w: the token is not accepted (%s): check that it is valid", forge.ErrForbidden, said)
	case code == http.StatusForbidden:
		return fmt.Errorf("%w: %s", forge.ErrForbidden, missing(said))
	case code == http.StatusLocked && strings.Contains(said, "archived"):
		return fmt.Errorf("%w: make it a live one again, or take it out of the configuration", forge.ErrArchived)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w: %s: check the name, and that the token's user may see it", forge.ErrNotFound, said)
	case code >= 300 && code < 400:
		return fmt.Errorf("%w: it has moved to %s: write its new name", forge.ErrNotFound, r.moved)
	case code >= 500 || code == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %d %s", forge.ErrUnavailable, code, said)
	default:
		return fmt.Errorf("%w: %d %s", forge.ErrInvalid, code, said)
	}
}

// missing names what a refused request lacked: a scope of the token, which Gitea and Forgejo tell as
// "required=[write:issue]", else a right of the account's.
func missing(said string) string {
	if scopes := regexp.MustCompile(`required=\[([a-z: ]+)\]`).FindStringSubmatch(said); scopes != nil {
		return fmt.Sprintf("the token has not the scope %s: make one that has", strings.ReplaceAll(scopes[1], " ", " or "))
	}
	return said + ": give the token's user write on the repository, or what the message names"
}
