package config

import (
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"holdfast/detect/policy"
)

// Database is where `holdfast serve` keeps its queue: a SQLite file, or PostgreSQL for several processes.
type Database struct {
	// File is a SQLite file, made where it is missing. Default: holdfast.db beside the configuration.
	File string `json:"file,omitempty"`
	// URLFile is a file with a PostgreSQL connection string (postgres://user:password@host:5432/database).
	URLFile string `json:"urlFile,omitempty"`
	// URLEnv is an environment variable that holds it.
	URLEnv string `json:"urlEnv,omitempty"`
	// Lease is how long a process that died keeps its jobs and locks from the others, as 45s, which is the default.
	Lease policy.Duration `json:"lease,omitzero"`

	line int
}

// SetLine keeps where the section stands.
func (d *Database) SetLine(line int) { d.line = line }

// URL reads the connection string; empty for a SQLite file.
func (d Database) URL() (string, error) {
	text, err := secret("database.url", d.URLFile, d.URLEnv)
	return strings.TrimSpace(string(text)), err
}

// Serve is how `holdfast serve` listens, how often it scans, and what it tells.
type Serve struct {
	// Listen is the address of its HTTP. Default: 127.0.0.1:8080.
	Listen string `json:"listen,omitempty"`
	// Interval is how often each cluster is scanned, as 5m, which is the default.
	Interval policy.Duration `json:"interval,omitzero"`
	// Workers is how many clusters are scanned at the same time. Default: 2.
	Workers int `json:"workers,omitempty"`
	// RoundTimeout bounds one round of a cluster, as 15m, which is the default.
	RoundTimeout policy.Duration `json:"roundTimeout,omitzero"`
	// Grace is how long a stop waits for what runs, as 10s, which is the default.
	Grace policy.Duration `json:"grace,omitzero"`
	// LogFormat is json or text. Default: json.
	LogFormat string `json:"logFormat,omitempty" jsonschema:"enum=json,enum=text"`
	// LogLevel is debug, info, warn or error. Default: info.
	LogLevel string `json:"logLevel,omitempty" jsonschema:"enum=debug,enum=info,enum=warn,enum=error"`
	// Traces is the URL of an OpenTelemetry collector that takes OTLP over HTTP. Default: what the
	// OTEL_EXPORTER_OTLP_ENDPOINT variable says, else no traces.
	Traces string `json:"traces,omitempty"`

	line int
}

// SetLine keeps where the section stands.
func (s *Serve) SetLine(line int) { s.line = line }

// Tracing says whether traces are exported, and to which URL; an empty one leaves it to OpenTelemetry's variables.
func (s Serve) Tracing() (enabled bool, endpoint string) {
	return s.Traces != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "", s.Traces
}

// Webhook is what a forge's deliveries about a repository must be signed with.
type Webhook struct {
	// Name makes the path: /webhooks/<name>. Repositories may share a name when type and secret are the same.
	Name string `json:"name"`
	// Type is the forge that sends. Default: the type of the repository's forge.
	Type string `json:"type,omitempty" jsonschema:"enum=github,enum=gitlab,enum=gitea"`
	// SecretFile is a file with the secret, SecretEnv an environment variable that holds it.
	SecretFile string `json:"secretFile,omitempty"`
	SecretEnv  string `json:"secretEnv,omitempty"`
}

// Secret reads the secret.
func (w Webhook) Secret() ([]byte, error) {
	text, err := secret("webhook.secret", w.SecretFile, w.SecretEnv)
	return []byte(strings.TrimRight(string(text), "\r\n")), err
}

// AuditWebhook lets the cluster's API server post its audit events to /audit/<cluster>.
type AuditWebhook struct {
	// TokenFile is a file with the bearer token that it sends, TokenEnv an environment variable that holds it.
	TokenFile string `json:"tokenFile,omitempty"`
	TokenEnv  string `json:"tokenEnv,omitempty"`
}

// Token reads the token.
func (a AuditWebhook) Token() (string, error) {
	text, err := secret("auditWebhook.token", a.TokenFile, a.TokenEnv)
	return strings.TrimSpace(string(text)), err
}

// shortestInterval is the shortest time between two scans of a cluster. Tests go below it by their own means.
const shortestInterval = time.Second

// shortestLease is the shortest time after which a process that is not heard of counts as dead.
const shortestLease = time.Second

func (k *checker) database(d *Database) {
	k.oneOf(d.line, "database", "urlFile", d.URLFile, "urlEnv", d.URLEnv)
	k.variable(d.line, "database: urlEnv", d.URLEnv)
	if d.Lease != 0 && time.Duration(d.Lease) < shortestLease {
		k.fail(d.line, "database: lease: want at least %s", shortestLease)
	}
	if d.File != "" && d.URLFile+d.URLEnv != "" {
		k.fail(d.line, "database: has a file and a URL; want one of them")
	}
}

func (k *checker) serve(s *Serve) {
	if s.Listen != "" {
		if _, port, err := net.SplitHostPort(s.Listen); err != nil || port == "" {
			k.fail(s.line, "serve: listen: %q: want an address and a port, as 127.0.0.1:8080, or :8080 for all addresses", s.Listen)
		}
	}
	if s.Interval != 0 && time.Duration(s.Interval) < shortestInterval {
		k.fail(s.line, "serve: interval: want at least %s", shortestInterval)
	}
	if s.Workers < 0 || s.Workers > 100 {
		k.fail(s.line, "serve: workers: want 1 to 100")
	}
	if s.Traces != "" {
		if u, err := url.Parse(s.Traces); err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
			k.fail(s.line, "serve: traces: want a URL such as http://127.0.0.1:4318, without a user")
		}
	}
}

func (k *checker) webhook(r *Repository, earlier []Repository) {
	w := r.Webhook
	if w.Name == "" || strings.Trim(w.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		k.fail(r.line, "repositories: webhook: name %q: want letters, digits, - and _", w.Name)
	}
	k.oneOf(r.line, "repositories: webhook", "secretFile", w.SecretFile, "secretEnv", w.SecretEnv)
	k.variable(r.line, "repositories: webhook: secretEnv", w.SecretEnv)
	if w.SecretFile == "" && w.SecretEnv == "" {
		k.fail(r.line, "repositories: webhook: needs secretFile or secretEnv: deliveries that nobody signed are not taken")
	}
	if w.Type == "" && r.Forge != nil && r.Forge.Type != "folder" {
		w.Type = r.Forge.Type
	}
	if w.Type == "" {
		k.fail(r.line, "repositories: webhook: type: which forge sends the deliveries? Want github, gitlab or gitea")
	}
	i := slices.IndexFunc(earlier, func(e Repository) bool { return e.Webhook != nil && e.Webhook.Name == w.Name })
	if i >= 0 && *earlier[i].Webhook != *w {
		k.fail(r.line, "repositories: webhook: name %q is already on line %d with another type or secret", w.Name, earlier[i].line)
	}
}

func (k *checker) auditWebhook(c Cluster) {
	a := c.AuditWebhook
	k.oneOf(c.line, "clusters: auditWebhook", "tokenFile", a.TokenFile, "tokenEnv", a.TokenEnv)
	k.variable(c.line, "clusters: auditWebhook: tokenEnv", a.TokenEnv)
	if a.TokenFile == "" && a.TokenEnv == "" {
		k.fail(c.line, "clusters: auditWebhook: needs tokenFile or tokenEnv")
	}
	if strings.ContainsAny(c.Name, "{}") {
		k.fail(c.line, "clusters: auditWebhook: the cluster's name makes the path, which cannot hold braces")
	}
}
