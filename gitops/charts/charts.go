// Package charts fetches Helm charts from HTTP chart repositories and OCI registries, by version and digest,
// into trees. It calls the repository's own host, and others only where Options allow them.
package charts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/gitops"
)

// Options say how a chart repository is reached.
type Options struct {
	Username, Password string
	// Hosts are further hosts (host or host:port) that an index, a redirect, or a registry that has its tokens
	// issued elsewhere may name. Credentials are sent to the repository's own host, and to a host of these when
	// the registry names it as its issuer of tokens; never to where an index or a redirect leads.
	Hosts []string
	// PlainHTTP allows http instead of https, for OCI registries too.
	PlainHTTP bool
	// Timeout bounds one fetch; zero is a minute. Bytes bounds an index, an archive, and what an archive
	// unpacks to, each; zero is 64 MiB.
	Timeout time.Duration
	Bytes   int64
	// Transport replaces the default transport.
	Transport http.RoundTripper
}

// Fetched is a chart as the repository has it.
type Fetched struct {
	// Tree has the chart's files at its root: Chart.yaml, templates and so on.
	Tree gitops.Tree
	// Version is the one that was picked; Digest is the archive's, sha256:….
	Version, Digest string
}

// Errors that callers can tell apart with errors.Is.
var (
	// ErrNotFound: the repository has no such chart or version.
	ErrNotFound = errors.New("not found")
	// ErrDenied: the repository asks for other credentials.
	ErrDenied = errors.New("access denied")
	// ErrDigest: the archive is another one than was asked for.
	ErrDigest = errors.New("digest differs")
	// ErrHost: the index, a redirect, or a registry's issuer of tokens, leads to a host that is not allowed.
	ErrHost = errors.New("host not allowed")
	// ErrTooLarge: over the limit of Options.Bytes.
	ErrTooLarge = errors.New("too large")
	// ErrArchive: what was fetched is no chart archive.
	ErrArchive = errors.New("no chart archive")
)

const (
	defaultTimeout = time.Minute
	defaultBytes   = 64 << 20
)

// Fetch gets the version of a chart that the engine applied, else the highest one that chart.Version, a
// version or a semver range, allows. Errors name chart and repository, without credentials.
func Fetch(ctx context.Context, chart gitops.Chart, options Options) (Fetched, error) {
	name := fmt.Sprintf("chart %s of %s", chart.Name, gitops.WithoutCredentials(chart.Repo))
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.Bytes == 0 {
		options.Bytes = defaultBytes
	}
	ctx, cancel := context.WithTimeout(ctx, options.Timeout)
	defer cancel()
	u, err := url.Parse(chart.Repo)
	if err != nil || u.Host == "" {
		return Fetched{}, fmt.Errorf("%s: not the URL of a chart repository", name)
	}
	u.User = nil
	client := newClient(u.Host, options)
	var out Fetched
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "oci":
		out, err = fromRegistry(ctx, client, *u, chart, options)
	case scheme == "https", scheme == "http" && options.PlainHTTP:
		out, err = fromIndex(ctx, client, *u, chart, options)
	case scheme == "http":
		err = errors.New("http is not allowed for this repository; use https, or allow it by plainHTTP")
	default:
		err = fmt.Errorf("scheme %q is not supported: want https or oci", u.Scheme)
	}
	switch {
	case err == nil:
		return out, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Fetched{}, fmt.Errorf("%s: no complete answer within %s", name, options.Timeout)
	}
	return Fetched{}, fmt.Errorf("%s: %w", name, err)
}

// newClient gives a client that follows redirects to allowed hosts only.
func newClient(host string, options Options) *http.Client {
	transport := options.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &http.Client{Transport: guard{next: transport, host: host, options: options}}
}

// guard refuses requests to hosts that are not allowed, redirects included, and adds the credentials for the
// repository's own.
type guard struct {
	next    http.RoundTripper
	host    string
	options Options
}

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	own := r.URL.Host == g.host
	allowed := own
	for _, h := range g.options.Hosts {
		allowed = allowed || strings.EqualFold(r.URL.Host, h)
	}
	switch {
	case !allowed:
		return nil, fmt.Errorf("%w: %s; list it under the chart repository's hosts if it is meant", ErrHost, r.URL.Host)
	case r.URL.Scheme != "https" && !g.options.PlainHTTP:
		return nil, fmt.Errorf("%w: %s by %s, where only https is allowed", ErrHost, r.URL.Host, r.URL.Scheme)
	}
	// The client takes credentials along to other ports and subdomains of a host that redirects. Response is what
	// redirects: a request for a token has none.
	if !own && r.Response != nil && r.Header.Get("Authorization") != "" {
		r = r.Clone(r.Context())
		r.Header.Del("Authorization")
	}
	if own && g.options.Password != "" && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.SetBasicAuth(g.options.Username, g.options.Password)
	}
	r.Header.Set("User-Agent", "holdfast")
	return g.next.RoundTrip(r)
}
