package serve

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How many requests one source may make: a forge's burst after an organisation-wide change passes, a flood does not.
const (
	perSecond = 50
	burst     = 500
	// forgery is how many requests a forged one counts for.
	forgery = 25
	// mostSources bounds the memory; with more, the sources that are not known share one limit.
	mostSources = 10_000
	// restful is after which silence a source is forgotten: its limit is whole again by then.
	restful = time.Minute
)

// limiter limits requests by their source.
type limiter struct {
	now func() time.Time

	mu      sync.Mutex
	sources map[string]*quota
	others  *quota
	swept   time.Time
}

type quota struct {
	*rate.Limiter
	last time.Time
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{now: now, sources: map[string]*quota{}, others: &quota{Limiter: rate.NewLimiter(perSecond, burst)}}
}

// allows takes one request off a source's limit.
func (l *limiter) allows(source string) bool {
	now := l.now()
	return l.quota(source, now).AllowN(now, 1)
}

// punish takes off what a forged request costs beyond its own, as far as there is something left.
func (l *limiter) punish(source string) {
	now := l.now()
	q := l.quota(source, now)
	q.AllowN(now, min(forgery-1, int(q.TokensAt(now))))
}

func (l *limiter) quota(source string, now time.Time) *quota {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.swept) > restful {
		l.swept = now
		for name, q := range l.sources {
			if now.Sub(q.last) > restful {
				delete(l.sources, name)
			}
		}
	}
	q := l.sources[source]
	if q == nil && len(l.sources) >= mostSources {
		return l.others
	}
	if q == nil {
		q = &quota{Limiter: rate.NewLimiter(perSecond, burst)}
		l.sources[source] = q
	}
	q.last = now
	return q
}

// source is whom a request comes from: its address, of IPv6 the network that one customer has. What a header says of
// it, anybody could say.
func source(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	address = address.Unmap().WithZone("")
	if network, err := address.Prefix(64); address.Is6() && err == nil {
		return network.String()
	}
	return address.String()
}
