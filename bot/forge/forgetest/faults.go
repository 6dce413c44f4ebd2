package forgetest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
)

var faultTests = []test{
	{"a read is repeated when the forge fails or is silent", testReadRepeated},
	{"a forge that is down is told", testDown},
	{"a creation whose answer is lost is not sent twice and is found", testLostAnswer},
	{"a creation that fails is not sent twice", testFailedCreation},
	{"a limit that ends soon is waited for", testShortLimit},
	{"a limit beyond the deadline is told at once", testLongLimit},
	{"a wait for a limit ends with its context", testCancelledWait},
	{"a list that has not changed is not sent again", testConditional},
	{"no error shows a credential", testSecrets},
}

func (s suite) wire(t *testing.T) *Wire {
	t.Helper()
	need(t, "Wire", s.Wire != nil)
	return s.Wire
}

func testReadRepeated(t *testing.T, s suite) {
	wire := s.wire(t)
	opened := s.open(t, "holdfast/x", content(1))
	for name, fault := range map[string]Fault{"502": Answer(http.StatusBadGateway, nil, "bad gateway"), "503": Answer(http.StatusServiceUnavailable, nil, ""), "silence": Silent, "lost": Lost} {
		wire.Break(http.MethodGet, 2, fault)
		got, err := s.Forge.Threads(s.ctx, s.kind)
		if err != nil || len(got) != 1 || got[0].Number != opened.Number {
			t.Errorf("%s twice: threads are %+v, %v; want %d", name, got, err, opened.Number)
		}
		wire.Mend()
	}
}

func testDown(t *testing.T, s suite) {
	wire := s.wire(t)
	opened := s.open(t, "holdfast/x", content(1))
	for name, fault := range map[string]Fault{"500": Answer(http.StatusInternalServerError, nil, `{"message":"oops"}`), "502": Answer(http.StatusBadGateway, nil, "<html>bad gateway</html>"), "silence": Silent} {
		wire.Break("", 1000, fault)
		_, listErr := s.Forge.Threads(s.ctx, s.kind)
		_, openErr := s.openWith(s.Forge, "holdfast/y", content(2))
		_, updateErr := s.update(s.Forge, opened.Number, content(1))
		for what, err := range map[string]error{
			"list": listErr, "open": openErr, "update": updateErr,
			"close":   s.setOpen(s.Forge, opened.Number, false),
			"comment": s.Forge.Comment(s.ctx, s.kind, opened.Number, "hello"),
		} {
			if !errors.Is(err, forge.ErrUnavailable) {
				t.Errorf("%s: %s: %v, want ErrUnavailable", name, what, err)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %s: %v looks as if the caller's time were over", name, what, err)
			}
		}
		wire.Mend()
	}
}

func testLostAnswer(t *testing.T, s suite) {
	wire := s.wire(t)
	if s.kind == bot.AsPullRequest && s.Branch != nil {
		s.Branch(t, "holdfast/x")
	}
	s.threads(t) // asks for the account, so that what follows is counted alone
	before := wire.count(http.MethodPost, 0)
	wire.Break(http.MethodPost, 1, Lost)
	if _, err := s.openWith(s.Forge, "holdfast/x", content(1)); !errors.Is(err, forge.ErrUnavailable) {
		t.Errorf("open: %v, want ErrUnavailable", err)
	}
	if n := wire.count(http.MethodPost, 0) - before; n != 1 {
		t.Errorf("it was sent %d times, want once", n)
	}
	found := s.only(t)
	if key, _, _ := bot.ParseMarker(found.Body); key != "00000001" {
		t.Errorf("found %+v, want the one with the marker", found)
	}
	before = wire.count(http.MethodPost, 0)
	wire.Break(http.MethodPost, 1, Lost)
	if err := s.Forge.Comment(s.ctx, s.kind, found.Number, "hello"); !errors.Is(err, forge.ErrUnavailable) {
		t.Errorf("comment: %v, want ErrUnavailable", err)
	}
	if n := wire.count(http.MethodPost, 0) - before; n != 1 {
		t.Errorf("the comment was sent %d times, want once", n)
	}
	if got := s.Comments(t, s.kind, found.Number); len(got) != 1 {
		t.Errorf("comments are %q, want one", got)
	}
}

func testFailedCreation(t *testing.T, s suite) {
	wire := s.wire(t)
	if s.kind == bot.AsPullRequest && s.Branch != nil {
		s.Branch(t, "holdfast/x")
	}
	s.threads(t)
	for name, fault := range map[string]Fault{"502": Answer(http.StatusBadGateway, nil, "bad gateway"), "silence": Silent} {
		before := wire.count(http.MethodPost, 0)
		wire.Break(http.MethodPost, 1000, fault)
		if _, err := s.openWith(s.Forge, "holdfast/x", content(1)); !errors.Is(err, forge.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", name, err)
		}
		if n := wire.count(http.MethodPost, 0) - before; n != 1 {
			t.Errorf("%s: it was sent %d times, want once", name, n)
		}
		wire.Mend()
	}
	if got := s.threads(t); len(got) != 0 {
		t.Errorf("threads are %+v, want none", got)
	}
	if _, err := s.openWith(s.Forge, "holdfast/x", content(1)); err != nil {
		t.Errorf("once the forge is well: %v", err)
	}
}

// limited breaks the next request of a method by a limit.
func (s suite) limited(method string, limit Limit, wait time.Duration) {
	s.Wire.Break(method, 1, func(request *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		status, header, body := limit.Answer(wait)
		return Answer(status, header, body)(request, send)
	})
}

func testShortLimit(t *testing.T, s suite) {
	s.wire(t)
	need(t, "Limits", len(s.Limits) > 0)
	t.Parallel() // it waits for most of its time
	for n, limit := range s.Limits {
		if s.kind == bot.AsPullRequest && s.Branch != nil {
			s.Branch(t, "holdfast/"+limit.Name)
		}
		start := time.Now()
		s.limited(http.MethodPost, limit, time.Second)
		c := content(n)
		opened, err := s.openWith(s.Forge, "holdfast/"+limit.Name, c)
		if err != nil || opened.Body != c.Body {
			t.Errorf("%s: opened %+v, %v; want the whole thread after the wait", limit.Name, opened, err)
		}
		s.limited(http.MethodGet, limit, time.Second)
		if got, err := s.Forge.Threads(s.ctx, s.kind); err != nil || len(got) != n+1 {
			t.Errorf("%s: %d threads, %v; want %d", limit.Name, len(got), err, n+1)
		}
		if waited := time.Since(start); waited < 500*time.Millisecond || waited > 20*time.Second {
			t.Errorf("%s: it waited %v, asked were two seconds", limit.Name, waited)
		}
	}
}

func testLongLimit(t *testing.T, s suite) {
	wire := s.wire(t)
	need(t, "Limits", len(s.Limits) > 0)
	s.threads(t)
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Second)
	defer cancel()
	s.limited("", s.Limits[len(s.Limits)-1], 90*time.Second)
	before, start := wire.count("", 0), time.Now()
	for range 2 { // the second is not even sent
		_, err := s.Forge.Threads(ctx, s.kind)
		if !errors.Is(err, forge.ErrUnavailable) || time.Since(start) > 5*time.Second {
			t.Errorf("%v after %v, want ErrUnavailable at once", err, time.Since(start))
		}
	}
	if n := wire.count("", 0) - before; n != 1 {
		t.Errorf("%d requests were sent, want the one that was refused", n)
	}
}

func testCancelledWait(t *testing.T, s suite) {
	s.wire(t)
	need(t, "Limits", len(s.Limits) > 0)
	s.threads(t)
	ctx, cancel := context.WithCancel(s.ctx)
	time.AfterFunc(100*time.Millisecond, cancel)
	s.limited("", s.Limits[0], 60*time.Second)
	start := time.Now()
	if _, err := s.Forge.Threads(ctx, s.kind); !errors.Is(err, context.Canceled) || time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v, want context.Canceled at once", err, time.Since(start))
	}
}

func testConditional(t *testing.T, s suite) {
	wire := s.wire(t)
	if !s.Conditional {
		t.Skip("this forge answers no conditional requests")
	}
	s.open(t, "holdfast/x", content(1))
	first := s.threads(t)
	before := wire.count(http.MethodGet, http.StatusNotModified)
	again := s.threads(t)
	if !slices.EqualFunc(first, again, func(a, b bot.Thread) bool { return a.Number == b.Number && a.Body == b.Body }) {
		t.Errorf("threads are %+v, then %+v", first, again)
	}
	if wire.count(http.MethodGet, http.StatusNotModified) == before {
		t.Error("the list was sent again, and had not changed")
	}
	s.open(t, "holdfast/y", content(2))
	if got := s.threads(t); len(got) != 2 {
		t.Errorf("%d threads after another was opened, want 2", len(got))
	}
}

func testSecrets(t *testing.T, s suite) {
	wire := s.wire(t)
	need(t, "Secrets", len(s.Secrets) > 0)
	opened := s.open(t, "holdfast/x", content(1))
	for name, fault := range map[string]Fault{
		"401": Answer(http.StatusUnauthorized, nil, `{"message":"401 Unauthorized"}`),
		"403": Answer(http.StatusForbidden, nil, `{"message":"403 Forbidden"}`),
		"404": Answer(http.StatusNotFound, nil, "not JSON"), "422": Answer(http.StatusUnprocessableEntity, nil, `{"message":["no"]}`),
		"500": Answer(http.StatusInternalServerError, nil, "oops"), "silence": Silent, "lost": Lost,
		"no JSON": Answer(http.StatusOK, nil, "<html>a proxy's page</html>"),
	} {
		wire.Break("", 1000, fault)
		_, listErr := s.Forge.Threads(s.ctx, s.kind)
		_, openErr := s.openWith(s.Forge, "holdfast/y", content(2))
		for _, err := range []error{listErr, openErr, s.Forge.Comment(s.ctx, s.kind, opened.Number, "x")} {
			if err == nil {
				t.Errorf("%s: no error", name)
				continue
			}
			for _, secret := range s.Secrets {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s: the error shows a credential: %v", name, err)
				}
			}
		}
		wire.Mend()
	}
}
