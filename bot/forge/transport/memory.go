package transport

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

const (
	keepEach = 4 << 20  // bytes of one answer
	keepAll  = 32 << 20 // bytes of all answers together
	overhead = 4 << 10  // bytes that an answer counts beside its body, which bounds how many are kept
)

// memory keeps answers that carry an ETag and asks whether they still hold: the server sends them again only when they
// changed. Nothing is given out unasked, so no answer is ever stale. (RFC 9110, section 13.)
type memory struct {
	base http.RoundTripper

	mu    sync.Mutex
	kept  map[string]kept
	order []string // of keys, oldest first
	size  int
}

type kept struct {
	tag    string
	header http.Header
	body   []byte
}

func (m *memory) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet || request.Header.Get("If-None-Match") != "" || request.Header.Get("Range") != "" {
		return m.base.RoundTrip(request)
	}
	key := request.Header.Get("Accept") + " " + request.URL.String()
	before, known := m.find(key)
	asked := request
	if known {
		asked = request.Clone(request.Context())
		asked.Header.Set("If-None-Match", before.tag)
	}
	response, err := m.base.RoundTrip(asked)
	if err != nil {
		return nil, err
	}
	if known && response.StatusCode == http.StatusNotModified {
		discard(response)
		return before.answer(request), nil
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Etag") == "" {
		m.forget(key)
		return response, nil
	}
	return m.keep(key, response)
}

func (k kept) answer(request *http.Request) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: k.header.Clone(), Body: io.NopCloser(bytes.NewReader(k.body)), ContentLength: int64(len(k.body)), Request: request,
	}
}

func (m *memory) find(key string) (kept, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.kept[key]
	return k, ok
}

// keep reads an answer and keeps it, unless it is too long.
func (m *memory) keep(key string, response *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, keepEach+1))
	if err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	if len(body) > keepEach {
		m.forget(key)
		response.Body = rest{io.MultiReader(bytes.NewReader(body), response.Body), response.Body}
		return response, nil
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	m.forget(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[key] = kept{tag: response.Header.Get("Etag"), header: response.Header.Clone(), body: body}
	m.order = append(m.order, key)
	m.size += len(body) + overhead
	for m.size > keepAll {
		m.drop(m.order[0])
	}
	return response, nil
}

func (m *memory) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(key)
}

// drop forgets an answer; the lock is held.
func (m *memory) drop(key string) {
	k, ok := m.kept[key]
	if !ok {
		return
	}
	delete(m.kept, key)
	m.size -= len(k.body) + overhead
	for i, other := range m.order {
		if other == key {
			m.order = append(m.order[:i], m.order[i+1:]...)
			break
		}
	}
}
