package config

import (
	"errors"
	"net"
	"net/netip"
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
	// Dashboard serves pages about the fleet, on an address of their own. Default: none.
	Dashboard *Dashboard `json:"dashboard,omitempty"`

	line int
}

// SetLine keeps where the section stands.
func (s *Serve) SetLine(line int) { s.line = line }

// Dashboard is where the read-only pages are served, and who may look: who has the token, or whom a reverse proxy has
// let in.
type Dashboard struct {
	// Listen is the address of the pages, as 127.0.0.1:8081. Webhooks, health and metrics are not served there.
	Listen string `json:"listen"`
	// TokenFile is a file with the token that lets in, TokenEnv an environment variable that holds it; it has 20
	// characters at least.
	TokenFile string `json:"tokenFile,omitempty"`
	TokenEnv  string `json:"tokenEnv,omitempty"`
	// Proxy trusts a reverse proxy that logs people in.
	Proxy *DashboardProxy `json:"proxy,omitempty"`
}

// DashboardProxy is a reverse proxy that says whom it has let in.
type DashboardProxy struct {
	// Header is where it names the user, as X-Auth-Request-User. It must set it anew for every request.
	Header string `json:"header"`
	// Addresses are those that it connects from, as 10.1.2.3 or 10.1.0.0/16. From others the header counts for nothing.
	Addresses []string `json:"addresses"`
}

// Token reads the token; empty where none is configured.
func (d Dashboard) Token() (string, error) {
	text, err := secret("serve.dashboard.token", d.TokenFile, d.TokenEnv)
	return strings.TrimSpace(string(text)), err
}

// Trusted gives the header that names a proxy's users, and the proxy's addresses; empty without a proxy.
func (d Dashboard) Trusted() (header string, addresses []netip.Prefix) {
	if d.Proxy == nil {
		return "", nil
	}
	for _, text := range d.Proxy.Addresses {
		if network, err := networkOf(text); err == nil { // the others were refused when the file was read
			addresses = append(addresses, network)
		}
	}
	return d.Proxy.Header, addresses
}

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
		k.listen(s.line, "serve: listen", s.Listen)
	}
	if s.Dashboard != nil {
		k.dashboard(s)
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

func (k *checker) listen(line int, where, address string) {
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		k.fail(line, "%s: %q: want an address and a port, as 127.0.0.1:8080, or :8080 for all addresses", where, address)
	}
}

func (k *checker) dashboard(s *Serve) {
	d := s.Dashboard
	k.listen(s.line, "serve: dashboard: listen", d.Listen)
	k.oneOf(s.line, "serve: dashboard", "tokenFile", d.TokenFile, "tokenEnv", d.TokenEnv)
	k.variable(s.line, "serve: dashboard: tokenEnv", d.TokenEnv)
	if d.TokenFile == "" && d.TokenEnv == "" && d.Proxy == nil {
		k.fail(s.line, "serve: dashboard: needs tokenFile, tokenEnv or proxy: it is not open to everybody")
	}
	if d.Proxy == nil {
		return
	}
	if strings.Trim(d.Proxy.Header, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" || d.Proxy.Header == "" {
		k.fail(s.line, "serve: dashboard: proxy: header %q: want the name of a header, as X-Auth-Request-User", d.Proxy.Header)
	}
	if len(d.Proxy.Addresses) == 0 {
		k.fail(s.line, "serve: dashboard: proxy: needs addresses: whoever may set the header is let in")
	}
	for _, text := range d.Proxy.Addresses {
		if _, err := networkOf(text); err != nil {
			k.fail(s.line, "serve: dashboard: proxy: addresses: %q: want an address such as 10.1.2.3, or a network such as 10.1.0.0/16, but not all addresses", text)
		}
	}
}

// networkOf reads an address or a network. That of all addresses is none to trust.
func networkOf(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err == nil && network.Bits() == 0 {
		err = errors.New("all addresses")
	}
	return network.Masked(), err
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
