package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// The bounds of one request. A page of 500 objects is a few MiB; etcd refuses objects above 1.5 MiB.
const (
	maxBody  = 1 << 30
	attempts = 4
	maxPause = 30 * time.Second
)

// requester sends GET requests, some at a time, and tries again what is worth it.
type requester struct {
	client  *http.Client
	base    *url.URL
	slots   chan struct{}
	rate    flowcontrol.RateLimiter
	timeout time.Duration
	pause   time.Duration // before the second attempt; doubles
}

// statusError is an answer other than 200.
type statusError struct {
	code       int
	message    string
	retryAfter time.Duration
}

func (e *statusError) Error() string { return fmt.Sprintf("%s (HTTP %d)", e.message, e.code) }

// brokenError is an answer that was cut off, is no JSON, or never came.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return e.cause.Error() }
func (e *brokenError) Unwrap() error { return e.cause }

func (r *requester) version(ctx context.Context) (string, error) {
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	err := r.get(ctx, []string{"version"}, nil, acceptJSON, func(body []byte) error { return json.Unmarshal(body, &v) })
	return v.GitVersion, err
}

const (
	acceptJSON         = "application/json"
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// get asks for a path below the server's base and gives the body to decode. It tries again, a few times
// and with growing pauses, when the server is busy (429, 5xx), the connection breaks or decode fails, since
// a cut body shows as broken JSON.
func (r *requester) get(ctx context.Context, path []string, query url.Values, accept string, decode func([]byte) error) error {
	for attempt := 1; ; attempt++ {
		err := r.once(ctx, path, query, accept, decode)
		if err == nil || ctx.Err() != nil || attempt == attempts {
			return err
		}
		wait, again := retryPause(err, r.pause<<(attempt-1), rand.Float64())
		if !again {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// retryPause decides whether an error is worth another attempt and after which pause: the server's
// Retry-After where it gives one, else pause, and up to half as long again so that many clients do not
// return at once. chance is in [0,1).
func retryPause(err error, pause time.Duration, chance float64) (time.Duration, bool) {
	var status *statusError
	if errors.As(err, &status) {
		if status.code != http.StatusTooManyRequests && status.code < 500 {
			return 0, false
		}
		pause = max(pause, status.retryAfter)
	}
	if pause > maxPause {
		return 0, false
	}
	return pause + time.Duration(chance*float64(pause)/2), true
}

func (r *requester) once(ctx context.Context, path []string, query url.Values, accept string, decode func([]byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return &brokenError{ctx.Err()}
	}
	if err := r.rate.Wait(ctx); err != nil {
		return &brokenError{err}
	}
	target := r.base.JoinPath(path...)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", accept)
	response, err := r.client.Do(request)
	if err != nil {
		return &brokenError{err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if response.StatusCode != http.StatusOK {
		return refusal(response, body)
	}
	if err != nil {
		return &brokenError{fmt.Errorf("the answer was cut off after %d bytes: %w", len(body), err)}
	}
	if err := decode(body); err != nil {
		return &brokenError{fmt.Errorf("the answer does not decode: %w", err)}
	}
	return nil
}

// refusal reads the metav1.Status of an answer other than 200. The message of a Status is the server's own
// and holds no object's content; another body is not quoted.
func refusal(response *http.Response, body []byte) *statusError {
	var status struct {
		Kind, Message string
		Details       struct{ RetryAfterSeconds int }
	}
	e := &statusError{code: response.StatusCode, message: http.StatusText(response.StatusCode)}
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" && status.Message != "" {
		e.message = status.Message
	}
	seconds := status.Details.RetryAfterSeconds
	if n, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		seconds = n
	}
	e.retryAfter = time.Duration(max(seconds, 0)) * time.Second
	return e
}
