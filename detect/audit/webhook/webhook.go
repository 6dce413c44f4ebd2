// Package webhook takes the audit events that an API server posts, so that no log file is needed: point
// --audit-webhook-config-file at a kubeconfig with this handler's URL
// (https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/#webhook-backend).
//
// It keeps the newest writes in bounded memory. What it drops is counted, and the Log that it gives knows of the gap.
package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast/detect/audit"
)

// maxBody bounds one request, in bytes. An API server that truncates posts at most 10 MiB
// (--audit-webhook-truncate-max-batch-size).
const maxBody = 16 << 20

// Options says who may post and how much is kept.
type Options struct {
	// Token is the bearer token that the API server sends; empty when it shows a client certificate.
	Token string
	// ClientName is the common name of the client certificate that the API server shows; empty when it sends a token.
	// The server around this handler verifies certificates against its own authority.
	ClientName string
	// MaxWrites and MaxBytes bound what is kept, in events and in bytes as they were posted; zero is 20,000 and 64 MiB.
	MaxWrites int
	MaxBytes  int
	// Start is when the sink begins to listen: of what was before it knows nothing.
	Start time.Time
}

// Sink is the handler and its memory. It serves any number of requests at once.
type Sink struct {
	options Options
	token   [sha256.Size]byte
	name    [sha256.Size]byte

	mu      sync.Mutex
	batches []batch // those with writes, oldest first
	writes  int
	bytes   int
	covered *audit.Log // when events came, and which windows were dropped
	stats   Stats
}

type batch struct {
	log   *audit.Log
	bytes int
}

// Stats counts what a Sink was sent.
type Stats struct {
	Requests, Events, Writes int
	// Broken events could not be read. Dropped writes gave way to newer ones, or were too many for one request.
	Broken, Dropped int
	// Refused requests were not let in, or were no lists of events.
	Refused int
}

// New makes a Sink. It refuses to take events from everybody.
func New(o Options) (*Sink, error) {
	if o.Token == "" && o.ClientName == "" {
		return nil, errors.New("audit webhook: give the API server's token or the name in its client certificate")
	}
	if o.MaxWrites == 0 {
		o.MaxWrites = 20_000
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	s := &Sink{options: o, token: sha256.Sum256([]byte(o.Token)), name: sha256.Sum256([]byte(o.ClientName)), covered: audit.NewLog()}
	s.covered.Name = "audit webhook"
	s.covered.Cover(o.Start)
	return s, nil
}

// ServeHTTP takes one EventList of audit.k8s.io/v1. It answers once the events are in memory.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, text := s.take(w, r)
	s.mu.Lock()
	s.stats.Requests++
	if code != http.StatusOK {
		s.stats.Refused++
	}
	s.mu.Unlock()
	if code != http.StatusOK {
		http.Error(w, text, code)
	}
}

// take gives the status, and for a refusal what to do about it.
func (s *Sink) take(w http.ResponseWriter, r *http.Request) (code int, text string) {
	if !s.allows(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return http.StatusUnauthorized, "not let in: send the configured token, or show the configured client certificate"
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, "want POST"
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, "want Content-Type application/json"
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge, "want at most 16 MiB: lower --audit-webhook-batch-max-size"
	}
	if err != nil {
		return http.StatusBadRequest, "the body broke off"
	}
	var list struct {
		Kind       string            `json:"kind"`
		APIVersion string            `json:"apiVersion"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Kind != "EventList" || list.APIVersion != "audit.k8s.io/v1" {
		return http.StatusBadRequest, "want an EventList of audit.k8s.io/v1"
	}
	log := audit.NewLog()
	for _, item := range list.Items {
		log.Read("a posted event", item)
	}
	s.keep(batch{log, len(body)})
	return http.StatusOK, ""
}

// allows compares digests, whose length and time to compare tell nothing of the secret.
func (s *Sink) allows(r *http.Request) bool {
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	digest := sha256.Sum256([]byte(given))
	byToken := s.options.Token != "" && bearer && subtle.ConstantTimeCompare(digest[:], s.token[:]) == 1
	if s.options.ClientName == "" || r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return byToken
	}
	digest = sha256.Sum256([]byte(r.TLS.VerifiedChains[0][0].Subject.CommonName))
	return byToken || subtle.ConstantTimeCompare(digest[:], s.name[:]) == 1
}

// keep adds a batch and drops the oldest ones that no longer fit.
func (s *Sink) keep(b batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Events += b.log.Events
	s.stats.Writes += b.log.Writes
	s.stats.Broken += b.log.Broken
	s.covered.Cover(b.log.First)
	s.covered.Cover(b.log.Last)
	if b.log.Broken > 0 { // what they told is missing
		s.covered.Lose(audit.Window{From: b.log.First, To: b.log.Last})
	}
	if b.log.Writes == 0 {
		return
	}
	s.batches = append(s.batches, b)
	s.writes += b.log.Writes
	s.bytes += b.bytes
	for len(s.batches) > 0 && (s.writes > s.options.MaxWrites || s.bytes > s.options.MaxBytes) {
		oldest := s.batches[0]
		s.batches = s.batches[1:]
		s.writes -= oldest.log.Writes
		s.bytes -= oldest.bytes
		s.stats.Dropped += oldest.log.Writes
		// Nothing is whole from the start to the newest that was dropped: one span, however long the sink runs.
		lost := audit.Window{From: s.options.Start, To: oldest.log.Last}
		if oldest.log.First.Before(lost.From) {
			lost.From = oldest.log.First
		}
		s.covered.Lose(lost)
	}
}

// Log gives what is kept now. It is the caller's own.
func (s *Sink) Log() *audit.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := audit.NewLog()
	log.Name = s.covered.Name
	log.Merge(s.covered)
	for _, b := range s.batches {
		log.Merge(b.log)
	}
	return log
}

// Stats gives the counts so far.
func (s *Sink) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}
