// Package gitea makes Gitea and Forgejo a forge: issues, pull requests, labels, comments, reviews, commit statuses and
// webhooks of one repository, over the REST API of both (/api/v1, learnt from Gitea 1.26). Branches are pushed by
// gitops/repo.
//
// The API is spoken with net/http and a handful of types. The library that Gitea's makers keep takes no context with
// a call, asks for the server's version at its start (Forgejo's are other numbers) and brings what signs requests by
// SSH keys and talks to Windows' key agent; what is left of use are the types.
//
// A request that creates something is sent once: where the server may have acted on it and the answer is lost, the
// error is forge.ErrUnavailable, and the next run finds what was created by its marker.
package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/transport"
)

// Options say which repository, and who acts.
type Options struct {
	// BaseURL is the server's, as https://git.example.com, with the path below which it serves.
	BaseURL     string
	Owner, Repo string
	// Token is of the bot's own account, with the scopes read:user, write:repository and write:issue. The account
	// needs write on the repository; as an administrator of it, it also sees everybody's role and the whole of
	// the branch protection.
	Token string
	// Transport is how the requests travel.
	Transport transport.Options
}

// Forge is one repository on a server. It is safe for concurrent use.
type Forge struct {
	client      *http.Client
	api         *url.URL // of the server's API
	owner, repo string

	mu    sync.Mutex
	login string // the bot's own, once it was asked for
}

var _ forge.Forge = (*Forge)(nil)

// New prepares the forge; nothing is sent.
func New(o Options) (*Forge, error) {
	api, err := apiURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	// What would leave its place in a request's path is refused. Gitea allows these characters only.
	name := regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	for _, part := range []string{o.Owner, o.Repo} {
		if !name.MatchString(part) || strings.Trim(part, ".") == "" {
			return nil, fmt.Errorf("gitea: %q/%q is no repository: give owner and name", o.Owner, o.Repo)
		}
	}
	if o.Token == "" {
		return nil, errors.New("gitea: no credentials: give a token")
	}
	client := &http.Client{
		Transport: transport.Credential{
			Base: transport.New(o.Transport), Server: api, Header: "Authorization", Value: "token " + o.Token,
		},
		// Followed, a POST would become a GET and its answer mean nothing. A renamed repository is an error.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Forge{client: client, api: api, owner: o.Owner, repo: o.Repo}, nil
}

// apiURL is the root of the REST API, without a slash at its end.
func apiURL(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("gitea: the base URL is not of the form https://git.example.com")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !transport.Loopback(u)) {
		return nil, fmt.Errorf("gitea: base URL %s: the token would be sent in the clear; use https", u)
	}
	return u.JoinPath("api", "v1"), nil
}

// Account is the user of the token.
func (f *Forge) Account(ctx context.Context) (bot.Actor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.login == "" {
		var own user
		if _, err := f.send(ctx, http.MethodGet, f.api.JoinPath("user"), nil, &own); err != nil {
			return bot.Actor{}, f.fail(ctx, err, "ask for the token's user")
		}
		f.login = own.Login
	}
	return bot.Actor{Login: f.login, Bot: true}, nil
}
