// Package github makes GitHub, and GitHub Enterprise, a forge: issues, pull requests, labels and comments of one
// repository. Branches are pushed by gitops/repo. It is the only package that knows go-github.
//
// A request that creates something is sent once: where GitHub may have acted on it and the answer is lost, the error
// is forge.ErrUnavailable, and the next run finds what was created by its marker.
package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v60/github"

	"holdfast/bot/forge"
)

// Options say which repository, and who acts. Give Token or App.
type Options struct {
	Owner, Repo string
	// BaseURL is a GitHub Enterprise server's ("https://ghe.example.com", with or without /api/v3); empty means
	// github.com.
	BaseURL string
	// Token is of a user or a machine account: classic, or fine-grained with issues, pull requests: write.
	Token string
	App   *App
	// Transport carries the requests; nil means a plain one with time limits.
	Transport http.RoundTripper
}

// App is a GitHub App that is installed on the repository, with the permissions issues, pull requests: write.
type App struct {
	ID int64
	// InstallationID may be 0: GitHub is then asked for the one of the repository.
	InstallationID int64
	PrivateKey     []byte // PEM, as GitHub hands it out
}

// Forge is one repository on GitHub. It is safe for concurrent use.
type Forge struct {
	client      *gh.Client
	owner, repo string
	app         *gh.Client // acts as the App itself; nil with a token

	mu     sync.Mutex // guards all below
	login  string
	labels map[string]bool // known to exist, in lower case; nil before the first look
}

var _ forge.Publisher = (*Forge)(nil)

// New prepares the forge. With an App without InstallationID it asks GitHub once; otherwise nothing is sent.
func New(ctx context.Context, o Options) (*Forge, error) {
	api, err := apiURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	// What would leave its place in a request's path is refused. GitHub allows these characters only.
	name := regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	for _, part := range []string{o.Owner, o.Repo} {
		if !name.MatchString(part) || strings.Trim(part, ".") == "" {
			return nil, fmt.Errorf("github: %q/%q is no repository: give owner and name", o.Owner, o.Repo)
		}
	}
	f := &Forge{owner: o.Owner, repo: o.Repo}
	base := polite(cmp.Or[http.RoundTripper](o.Transport, defaultTransport()))
	switch {
	case o.App != nil && o.Token != "":
		return nil, errors.New("github: give a token or an App, not both")
	case o.Token != "":
		f.client = newClient(api, bearer{token: o.Token, host: api.Host, base: base})
		return f, nil
	case o.App == nil:
		return nil, errors.New("github: no credentials: give a token or an App")
	}
	apps, err := ghinstallation.NewAppsTransport(base, o.App.ID, o.App.PrivateKey)
	if err != nil {
		// The library's message is about PEM and RSA only; it does not quote the key.
		return nil, fmt.Errorf("github: private key of App %d: %w", o.App.ID, err)
	}
	apps.BaseURL = strings.TrimSuffix(api.String(), "/")
	f.app = newClient(api, apps)
	id := o.App.InstallationID
	if id == 0 {
		installation, _, err := f.app.Apps.FindRepositoryInstallation(ctx, f.owner, f.repo)
		if err != nil {
			return nil, f.fail(err, "find the installation of App %d", o.App.ID)
		}
		id = installation.GetID()
	}
	f.client = newClient(api, ghinstallation.NewFromAppsTransport(apps, id))
	return f, nil
}

// apiURL is the root of the REST API, ending in a slash.
func apiURL(base string) (*url.URL, error) {
	if base == "" {
		base = "https://api.github.com/"
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("github: the base URL is not of the form https://ghe.example.com")
	}
	loopback := u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost" || u.Hostname() == "::1"
	if u.Scheme != "https" && !loopback {
		return nil, fmt.Errorf("github: base URL %s: the token would be sent in the clear; use https", u)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	if u.Host != "api.github.com" && !strings.HasPrefix(u.Host, "api.") && !strings.HasSuffix(u.Path, "/api/v3/") {
		u.Path += "api/v3/"
	}
	return u, nil
}

func newClient(api *url.URL, transport http.RoundTripper) *gh.Client {
	client := gh.NewClient(&http.Client{Transport: transport})
	client.BaseURL = api
	client.UserAgent = "holdfast"
	return client
}

// account is the login under which the bot's threads stand: the user of the token, or the App's name with the
// suffix that GitHub gives to bots.
func (f *Forge) account(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.login != "" {
		return f.login, nil
	}
	if f.app != nil {
		app, _, err := f.app.Apps.Get(ctx, "")
		if err != nil {
			return "", f.fail(err, "ask for the App's name")
		}
		f.login = app.GetSlug() + botSuffix
		return f.login, nil
	}
	user, _, err := f.client.Users.Get(ctx, "")
	if err != nil {
		return "", f.fail(err, "ask for the token's user")
	}
	f.login = user.GetLogin()
	return f.login, nil
}

const botSuffix = "[bot]"
