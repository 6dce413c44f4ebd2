// Package serve is Holdfast as a service: it takes webhooks, scans each cluster by its schedule and when a push
// concerns it, makes the forges look as the scans want, and tells how it is doing. What has to be done is kept in a
// durable queue (bot/store) before a webhook is answered, and worked from there.
//
// The service decides when and whether something is done. What a round does is behind Rounds.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"holdfast/bot/forge"
	"holdfast/bot/store"
)

// Cluster is one cluster that the service scans.
type Cluster struct {
	Name string
	// Every is how often it is scanned; 0 is DefaultInterval.
	Every time.Duration
	// Audit takes the audit events that its API server posts to /audit/<name>; nil takes none.
	Audit http.Handler
}

// DefaultInterval is how often a cluster is scanned, give or take a tenth.
const DefaultInterval = 5 * time.Minute

// Hook is one webhook, at /webhooks/<name>.
type Hook struct {
	Name string
	// Reader verifies and decodes deliveries.
	Reader forge.Hook
	// Repositories are the URLs of those that deliveries may be about. Whoever has the secret of one repository's
	// hook cannot speak of another.
	Repositories []string
}

// Options are what a Server is made of.
type Options struct {
	// Listen is the address; empty is 127.0.0.1:8080.
	Listen   string
	Store    *store.Store
	Rounds   Rounds
	Clusters []Cluster
	Hooks    []Hook
	// Events acts on what is no push; nil asks for rounds only.
	Events Events
	// Pages serves every other path; nil serves nothing there. With PagesListen they have that address to themselves,
	// since who sends webhooks need not reach them.
	Pages       http.Handler
	PagesListen string
	// Log, Metrics and Tracer take what there is to tell; nil drops it.
	Log     *slog.Logger
	Metrics *Metrics
	Tracer  trace.Tracer
	// Workers is how many clusters are scanned at the same time; 0 is 2.
	Workers int
	// RoundTimeout bounds one round; 0 is 15 minutes.
	RoundTimeout time.Duration
	// Grace is how long a stop waits for rounds and requests that run; 0 is 10 seconds.
	Grace time.Duration
	Now   func() time.Time
}

// Server is the service. Run runs it once.
type Server struct {
	options Options
	log     *slog.Logger
	worker  *store.Worker
	http    *http.Server
	pages   *http.Server // nil where they have no address of their own
	limits  *limiter
	first   *firsts
	reports *reports
	// reading bounds how many bodies are read at the same time, since a body may be large.
	reading chan struct{}
}

// New checks the options. Nothing is listened to yet.
func New(o Options) (*Server, error) {
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:8080")
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics("")
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer("")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	names := map[string]bool{}
	for i, c := range o.Clusters {
		if names[c.Name] {
			return nil, fmt.Errorf("serve: cluster %s is named twice", c.Name)
		}
		names[c.Name] = true
		o.Clusters[i].Every = cmp.Or(c.Every, DefaultInterval)
	}
	if len(o.Clusters) == 0 {
		return nil, errors.New("serve: no cluster to scan")
	}
	s := &Server{options: o, log: o.Log, limits: newLimiter(o.Now), first: newFirsts(o.Clusters), reports: &reports{}, reading: make(chan struct{}, bodiesAtOnce)}
	s.http = s.listening(s.handler())
	if o.Pages != nil && o.PagesListen != "" {
		s.pages = s.listening(s.observed(o.Pages))
	}
	return s, nil
}

func (s *Server) listening(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
}

// servers are those that there are, with the addresses to listen on.
func (s *Server) servers() map[*http.Server]string {
	out := map[*http.Server]string{s.http: s.options.Listen}
	if s.pages != nil {
		out[s.pages] = s.options.PagesListen
	}
	return out
}

// Run serves until ctx ends, then stops: it takes no more requests, lets rounds end within the grace time, and gives
// back the others to the queue. An error means that it could not serve.
func (s *Server) Run(ctx context.Context) error {
	o := s.options
	// The addresses first: a second process on this machine is told before it takes jobs.
	listeners := map[*http.Server]net.Listener{}
	for server, address := range s.servers() {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		defer listener.Close()
		listeners[server] = listener
	}
	if err := s.begin(ctx); err != nil {
		if ctx.Err() != nil { // stopped before it had begun
			return nil
		}
		return err
	}
	o.Metrics.watch(o.Store)
	failed := make(chan error, len(listeners))
	for server, listener := range listeners {
		go func() { failed <- server.Serve(listener) }()
	}
	scheduling, stop := context.WithCancel(ctx)
	scheduled := make(chan struct{})
	go func() {
		defer close(scheduled)
		s.schedule(scheduling)
	}()
	s.log.Info("serving", "address", listeners[s.http].Addr().String(), "clusters", len(o.Clusters), "webhooks", len(o.Hooks))
	if s.pages != nil {
		s.log.Info("serving the dashboard", "address", listeners[s.pages].Addr().String())
	}

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("stopping", "grace", o.Grace.String())
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	}
	stop()
	<-scheduled
	return errors.Join(err, s.shutDown(context.WithoutCancel(ctx)))
}

// begin settles the schedules, takes over what was before, and starts to work jobs.
func (s *Server) begin(ctx context.Context) error {
	o := s.options
	if err := o.Store.Settle(ctx, s.schedules()); err != nil {
		return err
	}
	if err := s.recall(ctx); err != nil {
		return err
	}
	var err error
	s.worker, err = o.Store.Start(ctx, store.Work{
		Round: s.round, Event: s.event, Rounds: o.Workers, Timeout: o.RoundTimeout, Grace: o.Grace, GivenUp: o.Metrics.gaveUp,
	})
	return err
}

// shutDown ends requests and jobs, beside each other, within the grace time and a little more.
func (s *Server) shutDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Grace+5*time.Second)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.worker.Stop(ctx) }()
	var err error
	for server := range s.servers() {
		if failed := server.Shutdown(ctx); failed != nil {
			_ = server.Close()
			err = errors.Join(err, failed)
		}
	}
	if err = errors.Join(err, <-stopped); err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	s.log.Info("stopped")
	return nil
}

func (s *Server) schedules() []store.Schedule {
	var out []store.Schedule
	for _, c := range s.options.Clusters {
		out = append(out, store.Schedule{Cluster: c.Name, Every: c.Every})
	}
	return out
}

// schedule asks for the rounds that are due, until ctx ends.
func (s *Server) schedule(ctx context.Context) {
	schedules := s.schedules()
	often := 5 * time.Second
	for _, one := range schedules {
		often = min(often, max(one.Every/10, 100*time.Millisecond))
	}
	for every := time.NewTicker(often); ; {
		if asked, err := s.options.Store.AskDue(ctx, schedules); err != nil && ctx.Err() == nil {
			s.log.Error("rounds that are due cannot be asked for", "error", err.Error())
		} else if len(asked) > 0 {
			s.log.Debug("rounds are due", "clusters", asked)
		}
		select {
		case <-ctx.Done():
			every.Stop()
			return
		case <-every.C:
		}
	}
}

// Handler is the service's HTTP, for tests.
func (s *Server) Handler() http.Handler { return s.http.Handler }
