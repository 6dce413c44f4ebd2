// Package transport carries requests to a forge, the same for all of them: what only reads is repeated when the network or
// the server fails, rate limits are waited for within bounds, a list that has not changed is not sent twice, and a
// credential goes to its own host alone. What creates or changes something is sent once: a lost answer is an error, and
// the next run finds what came of it.
package transport

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"holdfast/bot/forge"
)

// Options say how patient the transport is.
type Options struct {
	// Base carries the requests; nil means Plain.
	Base http.RoundTripper
	// Repeat are the waits between the attempts of a read; nil means 200 ms, 1 s and 3 s.
	Repeat []time.Duration
	// LongestWait is the longest that a rate limit is waited for; 0 means 2 minutes. A limit that lasts longer, or beyond
	// the deadline of the request's context, is forge.ErrUnavailable at once and left to the next run.
	LongestWait time.Duration
}

// New gives a transport. It keeps what it heard of limits and lists, so each forge and credential needs one of its own.
func New(o Options) http.RoundTripper {
	if o.Repeat == nil {
		o.Repeat = []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second}
	}
	attempts := repeat{base: cmp.Or[http.RoundTripper](o.Base, Plain()), waits: o.Repeat}
	limited := &limits{base: attempts, longest: cmp.Or(o.LongestWait, 2*time.Minute)}
	return &memory{base: limited, kept: map[string]kept{}}
}

// Plain is an HTTP transport whose every step has a time limit.
func Plain() *http.Transport {
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

// Credential adds a header with a secret to what goes to the forge's own server. A redirect elsewhere goes without it.
type Credential struct {
	Base http.RoundTripper
	// Server is the root of the API; its scheme and host decide.
	Server *url.URL
	// Header is the header's name, Value its value.
	Header, Value string
}

// RoundTrip implements http.RoundTripper.
func (c Credential) RoundTrip(request *http.Request) (*http.Response, error) {
	signed := request.Clone(request.Context())
	signed.Header.Del(c.Header)
	if request.URL.Host == c.Server.Host && request.URL.Scheme == c.Server.Scheme {
		signed.Header.Set(c.Header, c.Value)
	}
	return c.Base.RoundTrip(signed)
}

// SameMethod is the CheckRedirect of a forge's client. It follows a redirect that keeps the method, as reads do. Another
// would turn a POST into a GET, whose answer means nothing.
func SameMethod(request *http.Request, via []*http.Request) error {
	if first := via[0]; request.Method != first.Method {
		return fmt.Errorf("%w: it redirects a %s; the repository may have been renamed or moved: use its new name", forge.ErrInvalid, first.Method)
	}
	if len(via) >= 10 {
		return fmt.Errorf("%w: it redirects ten times in a row", forge.ErrInvalid)
	}
	return nil
}

// Loopback says whether a URL is of this machine, where a credential may travel without TLS.
func Loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// repeat repeats a GET when the network or the server fails.
type repeat struct {
	base  http.RoundTripper
	waits []time.Duration
}

func (r repeat) RoundTrip(request *http.Request) (*http.Response, error) {
	for _, wait := range r.waits {
		if request.Method != http.MethodGet && request.Method != http.MethodHead {
			break
		}
		response, err := r.base.RoundTrip(request)
		if err == nil && response.StatusCode < 500 {
			return response, nil
		}
		if err == nil {
			discard(response)
		}
		if err := pause(request.Context(), wait); err != nil {
			return nil, err
		}
	}
	return r.base.RoundTrip(request)
}

// discard reads an answer to its end, within reason, so that its connection can serve again.
func discard(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	_ = response.Body.Close()
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

// reader gives each attempt of a request a body of its own.
type reader struct {
	request *http.Request
	body    []byte
}

func read(request *http.Request) (reader, error) {
	if request.Body == nil || request.Body == http.NoBody {
		return reader{request: request}, nil
	}
	body, err := io.ReadAll(request.Body)
	if closing := request.Body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return reader{}, fmt.Errorf("body of the request: %w", err)
	}
	return reader{request: request, body: body}, nil
}

func (r reader) fresh() *http.Request {
	if r.body == nil {
		return r.request
	}
	fresh := r.request.Clone(r.request.Context())
	fresh.Body = io.NopCloser(bytes.NewReader(r.body))
	fresh.ContentLength = int64(len(r.body))
	return fresh
}
