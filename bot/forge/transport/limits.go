package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"holdfast/bot/forge"
)

// attempts is how often a request is sent that a limit refuses.
const attempts = 4

// limits waits where a forge asks to wait, also before the next request. A request that a limit refused had no effect,
// so it is sent again, whatever its method.
type limits struct {
	base    http.RoundTripper
	longest time.Duration

	mu    sync.Mutex
	until limit
}

// limit is a time before which nothing shall be sent, and why.
type limit struct {
	until time.Time
	why   string
}

func (l *limits) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := read(request)
	if err != nil {
		return nil, err
	}
	for range attempts {
		if err := l.wait(request.Context()); err != nil {
			return nil, err
		}
		response, err := l.base.RoundTrip(body.fresh())
		if err != nil {
			return nil, err
		}
		found, refused, err := readLimit(response, time.Now())
		if err != nil {
			return nil, err
		}
		l.note(found)
		if !refused {
			return response, nil
		}
		discard(response)
	}
	return nil, fmt.Errorf("%w: it asked to wait %d times in a row", forge.ErrUnavailable, attempts)
}

func (l *limits) note(found limit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found.until.After(l.until.until) {
		l.until = found
	}
}

func (l *limits) wait(ctx context.Context) error {
	l.mu.Lock()
	current := l.until
	l.mu.Unlock()
	left := time.Until(current.until)
	if left <= 0 {
		return nil
	}
	deadline, bounded := ctx.Deadline()
	if left > l.longest || bounded && deadline.Before(current.until) {
		return fmt.Errorf("%w: %s until %s", forge.ErrUnavailable, current.why, current.until.UTC().Format(time.RFC3339))
	}
	return pause(ctx, left)
}

// readLimit reads what an answer says of limits, and whether one of them refused the request. The rules are those of
// GitHub ("Rate limits for the REST API", docs.github.com) and GitLab ("Rate limits", docs.gitlab.com): Retry-After goes
// first, then the end of a used-up quota, else a minute. GitHub's headers are taken off: its client library would refuse
// the next request by them instead of waiting.
func readLimit(response *http.Response, now time.Time) (limit, bool, error) {
	header := response.Header
	quota, used := usedUp(header, "X-Ratelimit-")
	for _, name := range []string{"Limit", "Remaining", "Reset", "Used"} {
		header.Del("X-Ratelimit-" + name)
	}
	refused := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusForbidden && (used || header.Get("Retry-After") != "")
	if response.StatusCode == http.StatusForbidden && !refused {
		var err error
		if refused, err = saysSecondary(response); err != nil {
			return limit{}, false, err
		}
	}
	if !refused {
		return quota, false, nil
	}
	if after, ok := retryAfter(header.Get("Retry-After"), now); ok {
		return limit{after, "it asks to slow down"}, true, nil
	}
	if used {
		return quota, true, nil
	}
	if quota, used := usedUp(header, "Ratelimit-"); used {
		return quota, true, nil
	}
	return limit{now.Add(time.Minute), "it asks to slow down"}, true, nil
}

// usedUp reads a quota of which nothing remains, from headers that begin with prefix.
func usedUp(header http.Header, prefix string) (limit, bool) {
	reset, err := strconv.ParseInt(header.Get(prefix+"Reset"), 10, 64)
	if err != nil || header.Get(prefix+"Remaining") != "0" {
		return limit{}, false
	}
	return limit{time.Unix(reset, 0), "the rate limit is used up"}, true
}

// retryAfter reads seconds or a date.
func retryAfter(value string, now time.Time) (time.Time, bool) {
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil && seconds >= 0 {
		return now.Add(time.Duration(seconds) * time.Second), true
	}
	date, err := http.ParseTime(value)
	return date, err == nil
}

// saysSecondary looks for GitHub's secondary limit in a refusal that names no time. The body can be read again.
func saysSecondary(response *http.Response) (bool, error) {
	start, err := io.ReadAll(io.LimitReader(response.Body, 8<<10))
	if err != nil {
		_ = response.Body.Close()
		return false, err
	}
	response.Body = rest{io.MultiReader(bytes.NewReader(start), response.Body), response.Body}
	return bytes.Contains(bytes.ToLower(start), []byte("secondary rate limit")), nil
}

// rest is a body whose start was read before.
type rest struct {
	io.Reader
	io.Closer
}
