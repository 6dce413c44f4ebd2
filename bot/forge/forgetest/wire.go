package forgetest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Wire is a transport that counts what passes and breaks what it is told to.
type Wire struct {
	// Base carries the requests; nil means http.DefaultTransport.
	Base http.RoundTripper

	mu     sync.Mutex
	passed []exchange
	faults []*fault
}

// exchange is a request that passed, and the status of its answer; 0 where there was none.
type exchange struct {
	method, path string
	status       int
}

// fault breaks the next requests of a method; an empty one means any.
type fault struct {
	method string
	times  int
	how    Fault
}

// Fault answers in place of the forge; send asks the forge itself.
type Fault func(request *http.Request, send func() (*http.Response, error)) (*http.Response, error)

// Break breaks the next requests of a method, so many times. An empty method means any.
func (w *Wire) Break(method string, times int, how Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, &fault{method, times, how})
}

// Mend takes all faults away.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

// RoundTrip implements http.RoundTripper.
func (w *Wire) RoundTrip(request *http.Request) (*http.Response, error) {
	base := w.Base
	if base == nil {
		base = http.DefaultTransport
	}
	send := func() (*http.Response, error) { return base.RoundTrip(request) }
	response, err := w.next(request.Method)(request, send)
	seen := exchange{method: request.Method, path: request.URL.EscapedPath()}
	if err == nil {
		seen.status = response.StatusCode
		response.Request = request
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed = append(w.passed, seen)
	return response, err
}

// next gives what happens to a request: the first fault that fits, or none.
func (w *Wire) next(method string) Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults {
		if f.times > 0 && (f.method == "" || f.method == method) {
			f.times--
			return f.how
		}
	}
	return func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) { return send() }
}

// count says how many requests passed, of a method and with a status; an empty one and 0 mean any.
func (w *Wire) count(method string, status int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, e := range w.passed {
		if (method == "" || e.method == method) && (status == 0 || e.status == status) {
			n++
		}
	}
	return n
}

// Answer gives an answer of its own and keeps the request from the forge.
func Answer(status int, header http.Header, body string) Fault {
	return func(request *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		if header == nil {
			header = http.Header{}
		}
		return &http.Response{
			Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: header.Clone(), Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: request,
		}, nil
	}
}

// Lost lets the forge act and loses its answer.
func Lost(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	response, err := send()
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return nil, errors.New("the connection broke before the answer")
}

// Silent is a forge that does not answer in time.
func Silent(request *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, timeout{}
}

// timeout is what net/http gives when its own limits pass. It looks as if the context's deadline had.
type timeout struct{}

func (timeout) Error() string        { return "timeout awaiting response headers" }
func (timeout) Timeout() bool        { return true }
func (timeout) Temporary() bool      { return true }
func (timeout) Is(target error) bool { return target == context.DeadlineExceeded }
