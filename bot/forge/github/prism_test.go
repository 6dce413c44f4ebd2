package github_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mock is where the validating mock of GitHub's REST API listens: set once by TestMain, empty with -short.
var mock *url.URL

// TestMain runs the mock beside all tests: it is a process of its own and takes seconds to start.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(m.Run())
	}
	address, stop, err := startPrism()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mock = address
	code := m.Run()
	stop()
	os.Exit(code)
}

const install = "run `make prism` (it needs Node and npm), or leave the mock out with -short"

func startPrism() (*url.URL, func(), error) {
	main := filepath.Join("testdata", "prism", "node_modules", "@stoplight", "prism-cli", "dist", "index.js")
	if _, err := os.Stat(main); err != nil {
		return nil, nil, fmt.Errorf("the mock of GitHub's REST API is not installed: %s", install)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, nil, fmt.Errorf("node is missing: %s", install)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if err := listener.Close(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, node, main, "mock", "-h", "127.0.0.1", "-p", port, "-v", "warn",
		filepath.Join("testdata", "prism", "github.json"))
	cmd.Env = append(os.Environ(), "SCARF_ANALYTICS=false")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	stop := func() {
		cancel()
		<-exited
	}
	address := &url.URL{Scheme: "http", Host: "127.0.0.1:" + port}
	for range 300 {
		select {
		case <-exited:
			return nil, nil, fmt.Errorf("the mock of GitHub's REST API ended: %s", log.String())
		case <-time.After(200 * time.Millisecond):
		}
		response, err := http.Get(address.String() + "/user")
		if err == nil {
			_ = response.Body.Close()
			return address, stop, nil
		}
	}
	stop()
	return nil, nil, fmt.Errorf("the mock of GitHub's REST API does not answer after a minute: %s", log.String())
}

// checked sends each request to the mock first, which fails the test when GitHub's description does not allow it, and
// then to where it is meant for.
type checked struct {
	t    testing.TB
	base http.RoundTripper
}

func (c checked) RoundTrip(request *http.Request) (*http.Response, error) {
	if mock == nil {
		return c.base.RoundTrip(request)
	}
	body := []byte{}
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		_ = request.Body.Close()
		request = request.Clone(request.Context())
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	if request.Context().Err() == nil {
		if complaint := ask(request, body); complaint != "" {
			c.t.Errorf("GitHub's description does not allow %s %s %s: %s", request.Method, request.URL.EscapedPath(), body, complaint)
		}
	}
	return c.base.RoundTrip(request)
}

// ask gives what the mock has against a request, or nothing.
func ask(request *http.Request, body []byte) string {
	target := *request.URL
	target.Scheme, target.Host = mock.Scheme, mock.Host
	target.Path = strings.TrimPrefix(target.Path, "/api/v3")
	target.RawPath = strings.TrimPrefix(target.RawPath, "/api/v3")
	// GitHub takes the slashes of a ref as they are, the mock wants them escaped.
	if before, ref, ok := strings.Cut(target.Path, "/git/ref/"); ok {
		target.RawPath = before + "/git/ref/" + url.PathEscape(ref)
	}
	if before, ref, ok := strings.Cut(target.Path, "/git/refs/"); ok {
		target.RawPath = before + "/git/refs/" + url.PathEscape(ref)
	}
	// Of its own: what cancels the request must not cancel the check.
	copied, err := http.NewRequestWithContext(context.WithoutCancel(request.Context()), request.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	copied.Header = request.Header.Clone()
	response, err := http.DefaultTransport.RoundTrip(copied)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	if violations := response.Header.Get("sl-violations"); violations != "" {
		return violations
	}
	if response.StatusCode >= 300 {
		return string(said)
	}
	return ""
}

// The mock lets everything pass when it cannot compile a description, so each one is shown to refuse something.
func TestTheMockRefusesWhatGitHubWould(t *testing.T) {
	if mock == nil {
		t.Skip("the mock is left out with -short")
	}
	for _, c := range []struct{ name, method, path, body string }{
		{"an unknown path", "GET", "/repos/alice/shop/nothing", ""},
		{"a label with a bare slash", "GET", "/repos/alice/shop/labels/drift/high", ""},
		{"issues in an unknown state", "GET", "/repos/alice/shop/issues?state=merged", ""},
		{"issues in an unknown order", "GET", "/repos/alice/shop/issues?sort=age", ""},
		{"a page that is no number", "GET", "/repos/alice/shop/issues?page=last", ""},
		{"an issue that is no number", "GET", "/repos/alice/shop/issues/x", ""},
		{"an issue without a title", "POST", "/repos/alice/shop/issues", `{"body":"x"}`},
		{"labels that are no list", "POST", "/repos/alice/shop/issues", `{"title":"x","labels":"drift"}`},
		{"an unknown state of an issue", "PATCH", "/repos/alice/shop/issues/1", `{"state":"opened"}`},
		{"an unknown reason", "PATCH", "/repos/alice/shop/issues/1", `{"state_reason":"done"}`},
		{"a comment without a body", "POST", "/repos/alice/shop/issues/1/comments", `{}`},
		{"a label without a name", "POST", "/repos/alice/shop/labels", `{"color":"ffffff"}`},
		{"pull requests in an unknown state", "GET", "/repos/alice/shop/pulls?state=merged", ""},
		{"a pull request without a base", "POST", "/repos/alice/shop/pulls", `{"title":"x","head":"y"}`},
		{"an unknown state of a pull request", "PATCH", "/repos/alice/shop/pulls/1", `{"state":"merged"}`},
		{"comments since no time", "GET", "/repos/alice/shop/issues/1/comments?since=yesterday", ""},
		{"an edit of a comment without a body", "PATCH", "/repos/alice/shop/issues/comments/1", `{}`},
		{"a comment that is no number", "PATCH", "/repos/alice/shop/issues/comments/x", `{"body":"x"}`},
		{"an unknown reaction", "POST", "/repos/alice/shop/issues/comments/1/reactions", `{"content":"thumbsup"}`},
		{"files of no number", "GET", "/repos/alice/shop/pulls/x/files", ""},
		{"reviews of no number", "GET", "/repos/alice/shop/pulls/x/reviews", ""},
		{"a check run without a name", "POST", "/repos/alice/shop/check-runs", `{"head_sha":"a"}`},
		{"a check run with 51 annotations", "POST", "/repos/alice/shop/check-runs",
			`{"name":"x","head_sha":"a","output":{"title":"x","summary":"x","annotations":[` + strings.TrimSuffix(strings.Repeat(`{"path":"a","start_line":1,"end_line":1,"annotation_level":"warning","message":"x"},`, 51), ",") + `]}}`},
		{"an unknown conclusion", "PATCH", "/repos/alice/shop/check-runs/1", `{"status":"completed","conclusion":"fine"}`},
		{"an unknown filter", "GET", "/repos/alice/shop/commits/a/check-runs?filter=newest", ""},
		{"an unknown state of a commit", "POST", "/repos/alice/shop/statuses/a", `{"state":"neutral"}`},
		{"a blob without content", "POST", "/repos/alice/shop/git/blobs", `{"encoding":"base64"}`},
		{"a commit without a tree", "POST", "/repos/alice/shop/git/commits", `{"message":"x"}`},
		{"a tree with an unknown mode", "POST", "/repos/alice/shop/git/trees", `{"tree":[{"path":"a","mode":"777","type":"blob","sha":"a"}]}`},
		{"a ref without a commit", "POST", "/repos/alice/shop/git/refs", `{"ref":"refs/heads/x"}`},
		{"a moved ref without a commit", "PATCH", "/repos/alice/shop/git/refs/heads%2Fx", `{"force":true}`},
		{"an unknown permission", "POST", "/app/installations/1/access_tokens", `{"permissions":{"issues":"all"}}`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, "http://github.invalid"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if ask(request, []byte(c.body)) == "" {
			t.Errorf("%s: the mock allows %s %s %s", c.name, c.method, c.path, c.body)
		}
	}
}
