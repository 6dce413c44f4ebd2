package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/klog/v2"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/transport"
	"holdfast/bot/publish"
	"holdfast/bot/serve"
	"holdfast/bot/store"
	"holdfast/cmd/holdfast/config"
	"holdfast/detect/audit/webhook"
)

// serveFlags are those of serve beside the inputs.
type serveFlags struct {
	listen, database string
}

func newServeCommand(s streams) *cobra.Command {
	var inputs inputFlags
	var own serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "The bot: scans by schedule and on webhooks, and keeps the forges as the scans want",
		Long: `Runs until SIGTERM. Scans each cluster by its interval and when a push concerns it, opens and updates
signed pull requests and issues, and takes webhooks of forges at /webhooks/<name>. /healthz, /readyz and
/metrics tell how it is doing. Its queue lies in a SQLite file or in PostgreSQL (database in
holdfast.yaml); it can be deleted, the forges and Git are the truth.

Exit code 0: stopped by SIGTERM or SIGINT. 2: an error.`,
		Example: `  holdfast serve --config /etc/holdfast/holdfast.yaml
  holdfast serve --config holdfast.yaml --listen 127.0.0.1:9000 --database /var/lib/holdfast/holdfast.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := inputs.check(nil); err != nil {
				return err
			}
			return runServe(cmd.Context(), s, inputs, own)
		},
	}
	inputs.register(cmd.Flags(), nil)
	cmd.Flags().StringVar(&own.listen, "listen", "", "`ADDRESS` of its HTTP (default: serve.listen of the config, else 127.0.0.1:8080)")
	cmd.Flags().StringVar(&own.database, "database", "", "`FILE`: SQLite file of its queue (default: database of the config, else holdfast.db beside the config)")
	return cmd
}

func runServe(ctx context.Context, s streams, inputs inputFlags, own serveFlags) error {
	s.progress, s.color = false, false
	base, err := newSession(s, inputs)
	if err != nil {
		return err
	}
	settings := base.config.Serve
	log := newLogger(s, settings)
	klog.SetSlogLogger(log)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces cannot be exported", "error", err.Error()) }))
	if _, err := base.newPublisher(ctx); err != nil { // a key that cannot sign is told now
		return err
	}
	if s.grace != nil {
		s.grace.Store(int64(graceOf(settings)) + int64(graceTime))
	}
	queue, err := openStore(ctx, base.config, inputs.config, own.database, log)
	if err != nil {
		return err
	}
	defer queue.Close()
	enabled, endpoint := settings.Tracing()
	tracer, flush, err := serve.Tracing(ctx, enabled, endpoint, version)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := flush(ctx); err != nil {
			log.Warn("the last traces are lost", "error", err.Error())
		}
	}()
	metrics := serve.NewMetrics(version)
	forges := &openForges{now: s.now, metrics: metrics, tracer: tracer, open: map[string]openedForge{}}
	base.service = service{
		serving: true,
		budgets: newBudgets(s.now, base.config), effects: effectLog(log).And(s.effects), kept: newKeptSources(s.now, metrics.Git), forge: forges.get,
		commits:   func(c publish.Commits) publish.Commits { return timedCommits{c, s.now, metrics.Git} },
		standings: &standings{}, warn: func(text string) { log.Warn(text) },
	}
	clusters, audits, err := serveClusters(base)
	if err != nil {
		return err
	}
	hooks, err := serveHooks(ctx, base.config, forges, log)
	if err != nil {
		return err
	}
	events := newSteering(base, log)
	var server *serve.Server
	pages, pagesListen, err := openDashboard(settings.Dashboard, clusters, func(ctx context.Context) ([]serve.Report, error) { return server.Reports(ctx) }, log, s.now)
	if err != nil {
		return err
	}
	server, err = serve.New(serve.Options{
		Listen: cmp.Or(own.listen, settings.Listen), Store: queue, Clusters: clusters, Hooks: hooks, Pages: pages, PagesListen: pagesListen,
		Rounds: &rounds{base: base, tracer: tracer, log: log, audits: audits, events: events}, Events: events,
		Log: log, Metrics: metrics, Tracer: tracer, Now: s.now,
		Workers: settings.Workers, RoundTimeout: time.Duration(settings.RoundTimeout), Grace: graceOf(settings),
	})
	if err != nil {
		return err
	}
	events.reports = server.Reports
	return server.Run(ctx)
}

func graceOf(s config.Serve) time.Duration { return cmp.Or(time.Duration(s.Grace), 10*time.Second) }

// effectLog logs each outside effect before and after.
func effectLog(log *slog.Logger) publish.Watch {
	return func(effect string) func(error) {
		log.Debug("effect begins", "effect", effect)
		return func(err error) {
			if err != nil {
				log.Debug("effect failed", "effect", effect, "error", err.Error())
				return
			}
			log.Debug("effect ends", "effect", effect)
		}
	}
}

// newLogger writes to stderr, as JSON unless the configuration says otherwise.
func newLogger(s streams, settings config.Serve) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cmp.Or(settings.LogLevel, "info"))) // the configuration allows levels only
	options := &slog.HandlerOptions{Level: level}
	if settings.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(s.err, options))
	}
	return slog.New(slog.NewJSONHandler(s.err, options))
}

// openStore opens the queue: the file of the flag, else what the configuration says, else a file beside it.
func openStore(ctx context.Context, c *config.Config, file, flag string, log *slog.Logger) (*store.Store, error) {
	options := store.Options{Log: log, File: flag, Lease: time.Duration(c.Database.Lease)}
	if flag == "" {
		url, err := c.Database.URL()
		if err != nil {
			return nil, err
		}
		options.URL, options.File = url, c.Database.File
		if url == "" && options.File == "" {
			options.File = filepath.Join(filepath.Dir(file), "holdfast.db")
		}
	}
	return store.Open(ctx, options)
}

// serveClusters gives the clusters with their intervals, and the sinks of their audit events.
func serveClusters(base *session) ([]serve.Cluster, map[string]*webhook.Sink, error) {
	audits := map[string]*webhook.Sink{}
	var out []serve.Cluster
	for _, target := range base.targets {
		one := serve.Cluster{Name: target.Name, Every: time.Duration(base.config.Serve.Interval)}
		i := slices.IndexFunc(base.config.Clusters, func(c config.Cluster) bool { return c.Name == target.Name })
		if i >= 0 {
			configured := base.config.Clusters[i]
			one.Every = cmp.Or(time.Duration(configured.Interval), one.Every)
			if configured.AuditWebhook != nil {
				token, err := configured.AuditWebhook.Token()
				if err != nil {
					return nil, nil, err
				}
				sink, err := webhook.New(webhook.Options{Token: token, Start: base.streams.now()})
				if err != nil {
					return nil, nil, err
				}
				audits[one.Name], one.Audit = sink, sink
			}
		}
		out = append(out, one)
	}
	return out, audits, nil
}

// serveHooks gives the webhooks of the configured repositories. The bot's own account, whose doings are no news, is
// asked of each forge once; where it does not answer, they count as somebody's.
func serveHooks(ctx context.Context, c *config.Config, forges *openForges, log *slog.Logger) ([]serve.Hook, error) {
	var out []serve.Hook
	for _, r := range c.Repositories {
		if r.Webhook == nil {
			continue
		}
		if i := slices.IndexFunc(out, func(h serve.Hook) bool { return h.Name == r.Webhook.Name }); i >= 0 {
			out[i].Repositories = append(out[i].Repositories, r.URL)
			continue
		}
		secret, err := r.Webhook.Secret()
		if err != nil {
			return nil, err
		}
		account := ""
		if r.Forge != nil {
			if account, err = forges.account(ctx, *r.Forge); err != nil {
				log.Warn("the bot's own account is not known, so that its doings make rounds", "repository", r.URL, "error", err.Error())
			}
		}
		reader, err := openHook(r.Webhook.Type, secret, account)
		if err != nil {
			return nil, fmt.Errorf("webhook %s: %w", r.Webhook.Name, err)
		}
		out = append(out, serve.Hook{Name: r.Webhook.Name, Reader: reader, Repositories: []string{r.URL}})
	}
	return out, nil
}

// forgeKept is how long a forge stays open: its secrets are read again then.
const forgeKept = time.Hour

// openForges keeps forges open, with what they know of the last answers, and counts their requests.
type openForges struct {
	now     func() time.Time
	metrics *serve.Metrics
	tracer  trace.Tracer

	mu   sync.Mutex
	open map[string]openedForge
}

type openedForge struct {
	forge.Publisher
	opened time.Time
}

func (o *openForges) get(ctx context.Context, f config.Forge) (forge.Publisher, error) {
	key, err := json.Marshal(f) // holds names of secrets, not secrets
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.open[string(key)]; ok && o.now().Sub(known.opened) < forgeKept {
		return known.Publisher, nil
	}
	opened, err := openForge(ctx, f, o.carrier(f.Type))
	if err != nil {
		return nil, err
	}
	o.open[string(key)] = openedForge{opened, o.now()}
	return opened, nil
}

func (o *openForges) carrier(api string) http.RoundTripper {
	return o.metrics.Calls(api, o.tracer, transport.Plain())
}

// account asks a forge for the bot's own login.
func (o *openForges) account(ctx context.Context, f config.Forge) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	opened, err := o.get(ctx, f)
	if err != nil {
		return "", err
	}
	who, ok := opened.(interface {
		Account(context.Context) (bot.Actor, error)
	})
	if !ok {
		return "", nil
	}
	actor, err := who.Account(ctx)
	return actor.Login, err
}
