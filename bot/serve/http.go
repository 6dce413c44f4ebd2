package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// handler is every path that the service has.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, hook := range s.options.Hooks {
		mux.Handle("POST /webhooks/"+hook.Name, s.webhook(hook))
	}
	for _, c := range s.options.Clusters {
		if c.Audit != nil {
			mux.Handle("/audit/"+c.Name, c.Audit)
		}
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.metrics)
	if s.options.Pages != nil && s.options.PagesListen == "" {
		mux.Handle("/", s.options.Pages)
	}
	return s.observed(mux)
}

// observed gives each request an ID, answers a panic by 500, and counts.
func (s *Server) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
		began := s.options.Now()
		counted := &status{ResponseWriter: w, code: http.StatusOK}
		defer func() {
			if p := recover(); p != nil {
				if err, is := p.(error); is && errors.Is(err, http.ErrAbortHandler) {
					panic(p)
				}
				// What it panicked with may hold anything; its type tells where to look.
				s.log.Error("a request panicked", "request", id, "method", r.Method, "path", r.URL.Path, "type", fmt.Sprintf("%T", p))
				if !counted.wrote {
					answer(counted, http.StatusInternalServerError, "internal error")
				}
			}
			s.options.Metrics.request(r.Pattern, counted.code, s.options.Now().Sub(began))
		}()
		next.ServeHTTP(counted, r)
	})
}

type requestKey struct{}

// requestID is the ID of the request that a context is of.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// status remembers what was answered.
type status struct {
	http.ResponseWriter
	code  int
	wrote bool
}

func (s *status) WriteHeader(code int) {
	if !s.wrote {
		s.code, s.wrote = code, true
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Write(data []byte) (int, error) {
	s.wrote = true
	return s.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController and MaxBytesReader reach the connection.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, text)
}

// firsts knows which clusters had a round, and how the last one ended.
type firsts struct {
	mu     sync.Mutex
	order  []string
	rounds map[string]string // error or "", by cluster; absent before the first round
}

func newFirsts(clusters []Cluster) *firsts {
	f := &firsts{rounds: map[string]string{}}
	for _, c := range clusters {
		f.order = append(f.order, c.Name)
	}
	slices.Sort(f.order)
	return f
}

func (f *firsts) ended(cluster string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rounds[cluster] = ""
	if err != nil {
		f.rounds[cluster] = err.Error()
	}
}

// metrics answers with what every process knows of the fleet, whichever made the rounds. A database that does not
// answer leaves that as it was: /readyz says so.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	if reports, err := s.Reports(ctx); err == nil {
		s.options.Metrics.catchUp(reports)
	}
	s.options.Metrics.Handler().ServeHTTP(w, r)
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready    bool `json:"ready"`
	Database bool `json:"database"`
	// Waiting are the clusters that had no round yet, Failing those whose last round failed. A failing cluster does
	// not make the service unready: the others are served. Logs have the reasons.
	Waiting []string `json:"waiting,omitempty"`
	Failing []string `json:"failing,omitempty"`
}

// ready answers 200 when the database answers and every cluster had its first round, however that ended.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	out := readiness{Database: s.options.Store.Ping(ctx) == nil}
	s.first.mu.Lock()
	for _, name := range s.first.order {
		failure, had := s.first.rounds[name]
		switch {
		case !had:
			out.Waiting = append(out.Waiting, name)
		case failure != "":
			out.Failing = append(out.Failing, name)
		}
	}
	s.first.mu.Unlock()
	out.Ready = out.Database && len(out.Waiting) == 0
	w.Header().Set("Content-Type", "application/json")
	if !out.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(out) // a client that went away needs no answer
}
