package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/bot/forge"
	"holdfast/bot/forge/transport"
)

// server answers with what is next in line, and notes each request's body and tag.
type server struct {
	*httptest.Server
	answers []func(http.ResponseWriter)
	bodies  []string
	tags    []string
}

func serve(t *testing.T, answers ...func(http.ResponseWriter)) *server {
	s := &server{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.bodies, s.tags = append(s.bodies, string(body)), append(s.tags, r.Header.Get("If-None-Match"))
		next := s.answers[min(len(s.bodies), len(s.answers))-1]
		next(w)
	}))
	t.Cleanup(s.Close)
	return s
}

func answer(status int, body string, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func client() *http.Client {
	return &http.Client{Transport: transport.New(transport.Options{Repeat: []time.Duration{time.Millisecond, time.Millisecond}})}
}

func read(t *testing.T, response *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestARequestThatALimitRefusedIsSentAgainWhole(t *testing.T) {
	s := serve(t, answer(429, "slow", "Retry-After", "0"), answer(403, `{"message":"x"}`, "Retry-After", "0"), answer(201, "made"))
	response, err := client().Post(s.URL, "text/plain", strings.NewReader("the body"))
	if got := read(t, response, err); got != "made" || strings.Join(s.bodies, "|") != "the body|the body|the body" {
		t.Errorf("answer is %q, sent were %q", got, s.bodies)
	}
}

func TestAServerThatNeverStopsRefusingIsUnavailable(t *testing.T) {
	s := serve(t, answer(429, "slow", "Retry-After", "0"))
	if _, err := client().Get(s.URL); !errors.Is(err, forge.ErrUnavailable) || len(s.bodies) != 4 {
		t.Errorf("error after %d requests is %v, want ErrUnavailable after 4", len(s.bodies), err)
	}
}

func TestAQuotaThatIsUsedUpHoldsTheNextRequest(t *testing.T) {
	reset := fmt.Sprint(time.Now().Add(time.Hour).Unix())
	s := serve(t, answer(200, "last", "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", reset, "X-Ratelimit-Limit", "5000"))
	c := client()
	response, err := c.Get(s.URL)
	if got := read(t, response, err); got != "last" || response.Header.Get("X-Ratelimit-Remaining") != "" {
		t.Errorf("answer is %q, header %v", got, response.Header)
	}
	if _, err := c.Get(s.URL); !errors.Is(err, forge.ErrUnavailable) || len(s.bodies) != 1 {
		t.Errorf("%d requests, error %v; want one, and ErrUnavailable", len(s.bodies), err)
	}
}

func TestWhatARefusalSaysDecides(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  func(http.ResponseWriter)
		limited bool
	}{
		{"a missing permission", answer(403, `{"message":"Resource not accessible"}`, "X-Ratelimit-Remaining", "4999", "X-Ratelimit-Reset", "1"), false},
		{"a secondary limit that names no time", answer(403, `{"message":"You have exceeded a Secondary Rate Limit."}`), true},
		{"429 that names no time", answer(429, ""), true},
		{"a date that is far", answer(429, "", "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)), true},
		{"a quota of GitLab's", answer(429, "", "Ratelimit-Remaining", "0", "Ratelimit-Reset", fmt.Sprint(time.Now().Add(time.Hour).Unix())), true},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		request, _ := http.NewRequestWithContext(ctx, http.MethodGet, serve(t, c.answer).URL, nil)
		response, err := client().Do(request)
		if errors.Is(err, forge.ErrUnavailable) != c.limited {
			t.Errorf("%s: limited is %v: %v", c.name, !c.limited, err)
		}
		if err == nil {
			if body := read(t, response, nil); body != `{"message":"Resource not accessible"}` {
				t.Errorf("%s: the body is %q", c.name, body)
			}
		}
		if ctx.Err() != nil {
			t.Errorf("%s: it waited for the deadline", c.name)
		}
		cancel()
	}
}

func TestOnlyReadsAreRepeated(t *testing.T) {
	s := serve(t, answer(502, ""), answer(503, ""), answer(200, "well"))
	response, err := client().Get(s.URL)
	if got := read(t, response, err); got != "well" {
		t.Errorf("answer is %q", got)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		s := serve(t, answer(502, ""), answer(200, "well"))
		request, _ := http.NewRequestWithContext(t.Context(), method, s.URL, strings.NewReader("x"))
		if response, err := client().Do(request); err != nil || response.StatusCode != 502 || len(s.bodies) != 1 {
			t.Errorf("%s was sent %d times, %v", method, len(s.bodies), err)
		}
	}
}

func TestAnAnswerIsKeptWhileItHolds(t *testing.T) {
	s := serve(t, answer(200, "one", "ETag", `"1"`, "Link", "next"), answer(304, ""), answer(200, "two", "ETag", `"2"`), answer(304, ""), answer(404, ""), answer(200, "three"))
	c := client()
	var got []string
	for range 4 {
		response, err := c.Get(s.URL)
		got = append(got, read(t, response, err)+" "+response.Header.Get("Link"))
	}
	if strings.Join(got, "|") != "one next|one next|two |two " {
		t.Errorf("answers are %q", got)
	}
	if _, err := c.Get(s.URL); err != nil {
		t.Fatal(err)
	}
	response, err := c.Get(s.URL) // what was there is forgotten with the 404
	if got := read(t, response, err); got != "three" || strings.Join(s.tags, " ") != ` "1" "1" "2" "2" ` {
		t.Errorf("answer is %q, tags sent were %q", got, s.tags)
	}
}

func TestALongAnswerPassesWhole(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	s := serve(t, answer(200, long, "ETag", `"1"`))
	c := client()
	for range 2 {
		response, err := c.Get(s.URL)
		if got := read(t, response, err); got != long {
			t.Errorf("%d bytes came, want %d", len(got), len(long))
		}
	}
	if s.tags[1] != "" {
		t.Error("it was kept, and is too long for that")
	}
}

func TestACredentialStaysWithItsServer(t *testing.T) {
	var sent []string
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header.Get("Private-Token"))
		return nil, errors.New("enough")
	})
	server := &url.URL{Scheme: "https", Host: "git.example.com"}
	c := transport.Credential{Base: base, Server: server, Header: "Private-Token", Value: "s3cret"}
	for _, address := range []string{"https://git.example.com/x", "https://evil.example.com/x", "http://git.example.com/x", "https://git.example.com:8443/x"} {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		request.Header.Set("Private-Token", "of the client's")
		_, _ = c.RoundTrip(request)
	}
	if got := strings.Join(sent, ","); got != "s3cret,,," {
		t.Errorf("sent were %q", got)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestARedirectKeepsTheMethod(t *testing.T) {
	for _, c := range []struct {
		method string
		status int
		want   error
	}{{"GET", 301, nil}, {"POST", 307, nil}, {"POST", 308, nil}, {"POST", 301, forge.ErrInvalid}, {"PUT", 302, forge.ErrInvalid}, {"PATCH", 303, forge.ErrInvalid}} {
		s := serve(t, answer(c.status, "", "Location", "/new"), answer(200, "there"))
		follow := client()
		follow.CheckRedirect = transport.SameMethod
		request, _ := http.NewRequestWithContext(t.Context(), c.method, s.URL, strings.NewReader("x"))
		if _, err := follow.Do(request); !errors.Is(err, c.want) {
			t.Errorf("%s, %d: error is %v, want %v", c.method, c.status, err, c.want)
		}
	}
	s := serve(t, answer(301, "", "Location", "/new"))
	follow := client()
	follow.CheckRedirect = transport.SameMethod
	if _, err := follow.Get(s.URL); !errors.Is(err, forge.ErrInvalid) || len(s.bodies) != 10 {
		t.Errorf("error after %d requests is %v, want ErrInvalid after 10", len(s.bodies), err)
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:1": true, "http://localhost": true, "http://[::1]:3": true, "http://127.8.0.1": true,
		"http://10.0.0.1": false, "http://localhost.example.com": false, "http://example.com": false,
	} {
		u, err := url.Parse(address)
		if err != nil || transport.Loopback(u) != want {
			t.Errorf("%s: %v, %v", address, transport.Loopback(u), err)
		}
	}
}
