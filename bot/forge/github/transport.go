package github

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gofri/go-github-ratelimit/v2/github_ratelimit/github_secondary_ratelimit"
)

// A secondary limit asks for a minute or so; what asks for more is an error and left to the next run.
const longestWait = 2 * time.Minute

func defaultTransport() http.RoundTripper {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   4,
	}
}

// polite waits where GitHub asks to wait, and repeats what only reads.
func polite(base http.RoundTripper) http.RoundTripper {
	return github_secondary_ratelimit.New(
		renew{repeat{base: base, waits: []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second}}},
		github_secondary_ratelimit.WithSingleSleepLimit(longestWait, nil))
}

// renew gives each attempt a body of its own. The limiter above repeats a request that GitHub refused, and would send
// the body that the first attempt has read to its end.
type renew struct{ base http.RoundTripper }

func (r renew) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.GetBody == nil {
		return r.base.RoundTrip(request)
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	fresh := request.Clone(request.Context())
	fresh.Body = body
	return r.base.RoundTrip(fresh)
}

// repeat repeats a GET when the network or the server fails. Nothing else is repeated: what creates would be created
// twice.
type repeat struct {
	base  http.RoundTripper
	waits []time.Duration
}

func (r repeat) RoundTrip(request *http.Request) (*http.Response, error) {
	for _, wait := range r.waits {
		if request.Method != http.MethodGet {
			break
		}
		response, err := r.base.RoundTrip(request)
		if err == nil && response.StatusCode < 500 {
			return response, nil
		}
		if err == nil {
			_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can serve again
			_ = response.Body.Close()
		}
		if err := pause(request.Context(), wait); err != nil {
			return nil, err
		}
	}
	return r.base.RoundTrip(request)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// bearer adds the token to what goes to the API's own host: a redirect elsewhere goes without.
type bearer struct {
	token, host string
	base        http.RoundTripper
}

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != b.host {
		return b.base.RoundTrip(request)
	}
	signed := request.Clone(request.Context())
	signed.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(signed)
}
