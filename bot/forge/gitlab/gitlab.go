// Package gitlab makes GitLab, self-managed or gitlab.com, a forge: merge requests, issues, notes, award emoji, members,
// approvals, commit statuses and webhooks of one project. Branches are pushed by gitops/repo: commits that GitLab's API
// makes cannot carry a signature of ours. It is the only package that knows go-gitlab, which is archived; its successor,
// gitlab.com/gitlab-org/api/client-go, has the same API.
//
// A request that creates something is sent once: where GitLab may have acted on it and the answer is lost, the error is
// forge.ErrUnavailable, and the next run finds what was created by its marker.
package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	gl "github.com/xanzy/go-gitlab"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/transport"
)

// Options say which project, and who acts.
type Options struct {
	// Project is the full path, as group/subgroup/name.
	Project string
	// BaseURL is a self-managed server's, with the path that it is served under: https://example.com/gitlab. Empty means
	// https://gitlab.com.
	BaseURL string
	// Token is a personal, group or project access token with the scope api and at least the role Developer, or what
	// Kind says.
	Token string
	Kind  TokenKind
	// Transport says how requests are carried.
	Transport transport.Options
}

// TokenKind says what a token is.
type TokenKind string

// The kinds of tokens, by how they are sent. (docs.gitlab.com, "REST API authentication".)
const (
	AccessToken TokenKind = "access" // the default
	OAuthToken  TokenKind = "oauth"
	JobToken    TokenKind = "job" // a CI job's: it may read little and write nothing that Holdfast needs
)

// Forge is one project on GitLab. It is safe for concurrent use.
type Forge struct {
	client  *gl.Client //nolint:staticcheck // the whole module is deprecated; its successor has the same API
	graphql *url.URL
	project string

	mu     sync.Mutex // guards all below
	login  string
	labels map[string]bool // known to exist; nil before the first look
}

var _ forge.Forge = (*Forge)(nil)

// New prepares the forge. Nothing is sent.
func New(o Options) (*Forge, error) {
	root, err := rootURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	// GitLab allows letters, digits, and _ . - + in the parts of a path.
	if !regexp.MustCompile(`^[\pL\pN_][\pL\pN_.+-]*(/[\pL\pN_][\pL\pN_.+-]*)+$`).MatchString(o.Project) {
		return nil, fmt.Errorf("gitlab: %q is no project: give its full path, as group/name", o.Project)
	}
	header, value := "Private-Token", o.Token
	switch o.Kind {
	case "", AccessToken:
	case OAuthToken:
		header, value = "Authorization", "Bearer "+o.Token
	case JobToken:
		header = "Job-Token"
	default:
		return nil, fmt.Errorf("gitlab: kind of token %q: want access, oauth or job", o.Kind)
	}
	if o.Token == "" {
		return nil, errors.New("gitlab: no credentials: give a token")
	}
	carrier := transport.Credential{Base: transport.New(o.Transport), Server: root, Header: header, Value: value}
	// The client knows no token: it would send one along a redirect to any host. Nor does it wait or repeat anything by
	// itself: its own policy would send a POST again.
	//nolint:staticcheck // as above
	client, err := gl.NewClient("", gl.WithBaseURL(root.String()), gl.WithHTTPClient(&http.Client{Transport: carrier, CheckRedirect: transport.SameMethod}),
		gl.WithCustomRetry(func(context.Context, *http.Response, error) (bool, error) { return false, nil }), gl.WithCustomLimiter(unlimited{}))
	if err != nil {
		return nil, fmt.Errorf("gitlab: base URL %s: %w", root, err)
	}
	client.UserAgent = "holdfast"
	return &Forge{client: client, graphql: root.JoinPath("api", "graphql"), project: o.Project}, nil
}

// unlimited is go-gitlab's limiter, which the transport stands in for.
type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

func rootURL(base string) (*url.URL, error) {
	if base == "" {
		base = "https://gitlab.com"
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("gitlab: the base URL is not of the form https://gitlab.example.com")
	}
	if u.Scheme != "https" && !transport.Loopback(u) {
		return nil, fmt.Errorf("gitlab: base URL %s: the token would be sent in the clear; use https", u)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api/v4")
	return u, nil
}

// Account is the bot's own: the user of the token. A project's access token has a user of its own.
func (f *Forge) Account(ctx context.Context) (bot.Actor, error) {
	login, err := f.account(ctx)
	return bot.Actor{Login: login, Bot: err == nil}, err
}

func (f *Forge) account(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.login != "" {
		return f.login, nil
	}
	user, _, err := f.client.Users.CurrentUser(gl.WithContext(ctx))
	if err != nil {
		return "", f.fail(ctx, err, reading, "ask for the token's user")
	}
	f.login = user.Username
	return f.login, nil
}

// actor is an account; own is the bot's login. GitLab marks the bots of access tokens by their names alone.
func actor(login, own string) bot.Actor {
	tokens := regexp.MustCompile(`^(project|group)_\d+_bot(_?[0-9a-f]+)?$`)
	return bot.Actor{Login: login, Bot: tokens.MatchString(login) || login != "" && strings.EqualFold(login, own)}
}
