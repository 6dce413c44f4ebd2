// Package github makes GitHub, and GitHub Enterprise, a forge: threads, comments, reactions, roles, reviews, checks and
// webhooks of one repository, and commits that GitHub itself signs. Signed branches are otherwise pushed by gitops/repo. It
// is the only package that knows go-github.
//
// A request that creates something is sent once: where GitHub may have acted on it and the answer is lost, the error
// is forge.ErrUnavailable, and the next run finds what was created by its marker.
package github

import (
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
	"holdfast/bot/forge/transport"
)

// Options say which repository, and who acts. Give Token or App.
type Options struct {
	Owner, Repo string
	// BaseURL is a GitHub Enterprise server's ("https://ghe.example.com", with or without /api/v3); empty means
	// github.com.
	BaseURL string
	// Token is of a user or a machine account: classic, or fine-grained with issues, pull requests, commit statuses: write.
	Token string
	App   *App
	// Transport says how requests are carried.
	Transport transport.Options
}

// App is a GitHub App that is installed on the repository. Publishing needs the permissions issues, pull requests: write;
// the service also checks: write, and contents: write where GitHub makes the commits. Tokens are asked for this one
// repository and these permissions alone.
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
	appID       int64      // 0 with a token

	mu     sync.Mutex // guards all below
	login  string
	labels map[string]bool // known to exist, in lower case; nil before the first look
}

var _ forge.Forge = (*Forge)(nil)

// New prepares the forge. With an App it asks GitHub once for its installation; with a token nothing is sent.
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
	base := transport.New(o.Transport)
	switch {
	case o.App != nil && o.Token != "":
		return nil, errors.New("github: give a token or an App, not both")
	case o.Token != "":
		f.client = newClient(api, transport.Credential{Base: base, Server: api, Header: "Authorization", Value: "Bearer " + o.Token})
		return f, nil
	case o.App == nil:
		return nil, errors.New("github: no credentials: give a token or an App")
	}
	return f, f.useApp(ctx, api, base, o.App)
}

// useApp acts as an App's installation from here on.
func (f *Forge) useApp(ctx context.Context, api *url.URL, base http.RoundTripper, app *App) error {
	apps, err := ghinstallation.NewAppsTransport(base, app.ID, app.PrivateKey)
	if err != nil {
		// The library's message is about PEM and RSA only; it does not quote the key.
		return fmt.Errorf("github: private key of App %d: %w", app.ID, err)
	}
	apps.BaseURL = strings.TrimSuffix(api.String(), "/")
	f.app, f.appID = newClient(api, ownHost{apps, api}), app.ID
	installation, _, err := f.app.Apps.FindRepositoryInstallation(ctx, f.owner, f.repo)
	if err != nil {
		return f.fail(ctx, err, "find the installation of App %d", app.ID)
	}
	if id := installation.GetID(); app.InstallationID != 0 && app.InstallationID != id {
		return fmt.Errorf("github: %s/%s: %w: installation %d of App %d is not the one of this repository, which is %d",
			f.owner, f.repo, forge.ErrForbidden, app.InstallationID, app.ID, id)
	}
	tokens := ghinstallation.NewFromAppsTransport(apps, installation.GetID())
	tokens.InstallationTokenOptions = &gh.InstallationTokenOptions{
		Repositories: []string{f.repo},
		Permissions:  least(installation.Permissions),
	}
	f.client = newClient(api, ownHost{tokens, api})
	return nil
}

// least are the permissions that Holdfast uses, so far as the installation has them: asking for one that it lacks would give
// no token at all. (docs.github.com, "Create an installation access token for an app".)
func least(granted *gh.InstallationPermissions) *gh.InstallationPermissions {
	has := func(granted, wanted string) *string {
		if granted == wanted || granted == "write" && wanted == "read" {
			return &wanted
		}
		return nil
	}
	return &gh.InstallationPermissions{
		Metadata:     gh.String("read"), // every App has it
		Contents:     has(granted.GetContents(), "write"),
		Issues:       has(granted.GetIssues(), "write"),
		PullRequests: has(granted.GetPullRequests(), "write"),
		Checks:       has(granted.GetChecks(), "write"),
	}
}

// ownHost keeps an App's credentials from other hosts, to which a redirect may lead.
type ownHost struct {
	http.RoundTripper
	server *url.URL
}

func (o ownHost) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != o.server.Host || request.URL.Scheme != o.server.Scheme {
		return nil, fmt.Errorf("%w: it redirects to %s", forge.ErrUnavailable, request.URL.Host)
	}
	return o.RoundTripper.RoundTrip(request)
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
	if u.Scheme != "https" && !transport.Loopback(u) {
		return nil, fmt.Errorf("github: base URL %s: the token would be sent in the clear; use https", u)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	if u.Host != "api.github.com" && !strings.HasPrefix(u.Host, "api.") && !strings.HasSuffix(u.Path, "/api/v3/") {
		u.Path += "api/v3/"
	}
	return u, nil
}

func newClient(api *url.URL, carrier http.RoundTripper) *gh.Client {
	client := gh.NewClient(&http.Client{Transport: carrier, CheckRedirect: transport.SameMethod})
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
			return "", f.fail(ctx, err, "ask for the App's name")
		}
		f.login = app.GetSlug() + botSuffix
		return f.login, nil
	}
	user, _, err := f.client.Users.Get(ctx, "")
	if err != nil {
		return "", f.fail(ctx, err, "ask for the token's user")
	}
	f.login = user.GetLogin()
	return f.login, nil
}

const botSuffix = "[bot]"
