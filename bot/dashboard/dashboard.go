// Package dashboard shows people how the fleet does: pages that are made on the server, read only, without a script.
// It answers nobody who has neither the token nor comes through a trusted proxy.
package dashboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"holdfast/bot/serve"
	"holdfast/templates"
)

// Options are what a Dashboard is made of.
type Options struct {
	// Reports gives the last report of each cluster. They are not changed.
	Reports func(context.Context) ([]serve.Report, error)
	// Clusters are those that the service scans.
	Clusters []serve.Cluster
	// Token lets in who has it: as a bearer, or by a form that sets a cookie. Empty for none.
	Token string
	// UserHeader is where a reverse proxy at one of the addresses of Proxies names whom it has let in. Empty for none.
	UserHeader string
	Proxies    []netip.Prefix
	// Log takes what went wrong; nil drops it.
	Log *slog.Logger
	Now func() time.Time
}

// leastToken is the shortest token that is taken, in characters: it must not be guessed.
const leastToken = 20

// Dashboard is the pages.
type Dashboard struct {
	options Options
	pages   *templates.Pages
	handler http.Handler
	refused rate.Sometimes

	mu    sync.Mutex
	index *index
}

// New checks the options. There is no dashboard that anybody may look at.
func New(o Options) (*Dashboard, error) {
	switch {
	case o.Token == "" && o.UserHeader == "":
		return nil, errors.New("dashboard: needs a token, or a proxy that names users: it is not open to everybody")
	case o.Token != "" && len(o.Token) < leastToken:
		return nil, fmt.Errorf("dashboard: the token has fewer than %d characters: make a longer one, as with openssl rand -hex 24", leastToken)
	case (o.UserHeader == "") != (len(o.Proxies) == 0):
		return nil, errors.New("dashboard: a proxy needs both a header and addresses")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	pages, err := templates.NewPages()
	if err != nil {
		return nil, err
	}
	d := &Dashboard{options: o, pages: pages, refused: rate.Sometimes{First: 5, Interval: 10 * time.Second}}
	d.handler = d.routes()
	return d, nil
}

func (d *Dashboard) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", d.guarded(d.overview))
	mux.HandleFunc("GET /drifts", d.guarded(d.drifts))
	mux.HandleFunc("GET /drift/{id}", d.guarded(d.drift))
	mux.HandleFunc("GET /applications", d.guarded(d.applications))
	mux.HandleFunc("GET /application/{key}", d.guarded(d.application))
	mux.HandleFunc("/", d.guarded(func(w http.ResponseWriter, _ *http.Request, who viewer) {
		d.problem(w, who, http.StatusNotFound, "Not found", "There is no such page.")
	}))
	mux.HandleFunc("GET "+d.pages.StylePath, d.file("text/css; charset=utf-8", d.pages.Style()))
	mux.HandleFunc("GET /icon.svg", d.file("image/svg+xml", d.pages.Icon()))
	if d.options.Token != "" {
		mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
			d.form(w, http.StatusOK, "", within(r.URL.Query().Get("next")))
		})
		same := http.NewCrossOriginProtection()
		mux.Handle("POST /login", same.Handler(http.HandlerFunc(d.login)))
		mux.Handle("POST /logout", same.Handler(http.HandlerFunc(d.logout)))
	}
	return mux
}

// policy is the content security policy: a sheet and an icon of our own, forms to ourselves, and nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	d.handler.ServeHTTP(w, r)
}

// file serves what does not change while the program runs, and holds nothing private.
func (d *Dashboard) file(kind string, data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "public, max-age=3600")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}

// fleet gives the index of the last reports, made anew when one of them has changed.
func (d *Dashboard) fleet(ctx context.Context) (*index, error) {
	reports, err := d.options.Reports(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index == nil || d.index.of != stamp(reports) {
		d.index = newIndex(d.options.Clusters, reports)
	}
	return d.index, nil
}

// show writes a page about the fleet.
func (d *Dashboard) show(w http.ResponseWriter, r *http.Request, who viewer, page func(*index) (func(io.Writer) error, bool)) {
	fleet, err := d.fleet(r.Context())
	if err != nil {
		d.options.Log.Error("the dashboard cannot read the reports", "error", err.Error())
		d.problem(w, who, http.StatusServiceUnavailable, "Not available", "What the last rounds found cannot be read. The log says why.")
		return
	}
	write, found := page(fleet)
	if !found {
		d.problem(w, who, http.StatusNotFound, "Not found", "Nothing of that name is known. It may have settled long ago.")
		return
	}
	d.respond(w, http.StatusOK, write)
}

func (d *Dashboard) respond(w http.ResponseWriter, code int, write func(io.Writer) error) {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		d.options.Log.Error("a page of the dashboard cannot be made", "error", err.Error())
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = page.WriteTo(w) // a client that went away needs no answer
}

func (d *Dashboard) frame(who viewer, place, title string) templates.Frame {
	return templates.Frame{Title: title, Place: place, Style: d.pages.StylePath, User: who.name, CanLogOut: who.session, Now: d.options.Now()}
}

func (d *Dashboard) problem(w http.ResponseWriter, who viewer, code int, title, text string) {
	view := templates.ProblemPage{Frame: d.frame(who, "", title), Text: text}
	d.respond(w, code, func(out io.Writer) error { return d.pages.Problem(out, view) })
}

func (d *Dashboard) form(w http.ResponseWriter, code int, failure, next string) {
	view := templates.LoginPage{Frame: d.frame(viewer{}, "", "Log in"), Failure: failure, Next: next}
	d.respond(w, code, func(out io.Writer) error { return d.pages.Login(out, view) })
}
