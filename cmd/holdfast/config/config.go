// Package config decodes holdfast.yaml: clusters, repositories, forges, signing, the floor under every
// policy, and limits. Unknown and repeated keys are refused, and so is a secret that is written in the
// file: secrets come from files and environment variables, and are read when they are first needed.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/bot/identity"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/glob"
	"holdfast/gitops/strictyaml"
)

// Config is holdfast.yaml. Its zero value is that of a run without one.
type Config struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=holdfast/v1"`
	Kind       string `json:"kind,omitempty" jsonschema:"enum=Config"`
	// Tier is the tier of clusters that name none. Default: production.
	Tier detect.Tier `json:"tier,omitempty" jsonschema:"enum=dev,enum=staging,enum=production,enum=regulated,enum=dr"`
	// Standards are the compliance standards whose controls findings refer to, such as nist-800-53r5.
	Standards []string `json:"standards,omitempty"`
	// Clusters are the clusters to read. Default: the current context of the kubeconfig.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Repositories are the only repositories that are read for an Application, once there is one.
	Repositories []Repository `json:"repositories,omitempty"`
	// ChartRepositories are the only chart repositories that charts are fetched from, once there is a
	// configuration that lists repositories.
	ChartRepositories []ChartRepository `json:"chartRepositories,omitempty"`
	// Signing is the key with which commits are signed. Nothing is pushed without one.
	Signing *Signing `json:"signing,omitempty"`
	Ledger  *Ledger  `json:"ledger,omitempty"`
	// Floor is what every repository's policy is held to.
	Floor  policy.Floor `json:"floor,omitzero"`
	Limits Limits       `json:"limits,omitzero"`
	// Identities tell which users of clusters are which people on the forge. Without an entry nobody is known, and every
	// pull request of Holdfast's needs two approvals.
	Identities identity.Mapping `json:"identities,omitzero"`
	// Commands are what people may ask for in comments.
	Commands Commands `json:"commands,omitzero"`
	// Serve is about `holdfast serve` alone, and so is Database.
	Serve    Serve    `json:"serve,omitzero"`
	Database Database `json:"database,omitzero"`
}

// Cluster is one cluster to read.
type Cluster struct {
	// Name is how outputs and bindings call the cluster.
	Name string `json:"name"`
	// Kubeconfig is a file. Default: $KUBECONFIG, then ~/.kube/config.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Context is a context of the kubeconfig. Default: its current one.
	Context string      `json:"context,omitempty"`
	Tier    detect.Tier `json:"tier,omitempty" jsonschema:"enum=dev,enum=staging,enum=production,enum=regulated,enum=dr"`
	// Secrets says what is read of Secrets: none, metadata (who owns which key) or values (compared by a
	// keyed hash in memory). Default: none.
	Secrets string `json:"secrets,omitempty" jsonschema:"enum=none,enum=metadata,enum=values"`
	// Interval is how often `holdfast serve` scans the cluster. Default: serve.interval.
	Interval policy.Duration `json:"interval,omitzero"`
	// AuditWebhook takes audit events from the cluster's API server, in `holdfast serve`.
	AuditWebhook *AuditWebhook `json:"auditWebhook,omitempty"`

	line int
}

// SetLine keeps where the cluster stands.
func (c *Cluster) SetLine(line int) { c.line = line }

// Repository is one repository, and which clusters' Applications may name it.
type Repository struct {
	// URL as the engine has it. Spellings that differ in .git, user or https against ssh are the same.
	URL string `json:"url"`
	// Branch is the branch that pull requests go to. Default: the repository's default branch.
	Branch string `json:"branch,omitempty"`
	// Policy is the path of the policy in the repository. Default: .holdfast.yaml.
	Policy string `json:"policy,omitempty"`
	// Clusters and Namespaces are those whose Applications may name this repository; * and ? stand for
	// any characters and any one.
	Clusters   []string `json:"clusters"`
	Namespaces []string `json:"namespaces"`
	Auth       Auth     `json:"auth,omitzero"`
	// Forge is where pull requests and issues go. Without one, nothing can be published.
	Forge *Forge `json:"forge,omitempty"`
	// Webhook takes what the forge tells, in `holdfast serve`.
	Webhook *Webhook `json:"webhook,omitempty"`
	// DashboardIssue says whether `holdfast serve` keeps an issue that lists what is open. Default: true.
	DashboardIssue *bool `json:"dashboardIssue,omitempty"`
	// Onboarding says whether `holdfast serve` proposes a policy where the repository has none. Default: true.
	Onboarding *bool `json:"onboarding,omitempty"`

	line int
}

// SetLine keeps where the repository stands.
func (r *Repository) SetLine(line int) { r.line = line }

// ChartRepository is one Helm chart repository or OCI registry, and which clusters' Applications may name it.
type ChartRepository struct {
	// URL as the engine has it: https://charts.example.com, or oci://registry.example.com/charts, which
	// stands for what lies below it too.
	URL string `json:"url"`
	// Clusters and Namespaces are those whose Applications may name it, as for repositories.
	Clusters   []string  `json:"clusters"`
	Namespaces []string  `json:"namespaces"`
	Auth       ChartAuth `json:"auth,omitzero"`
	// Hosts are further hosts on which its archives lie, as its index or redirects name them.
	Hosts []string `json:"hosts,omitempty"`
	// PlainHTTP allows http in place of https.
	PlainHTTP bool `json:"plainHTTP,omitempty"`

	line int
}

// SetLine keeps where the chart repository stands.
func (r *ChartRepository) SetLine(line int) { r.line = line }

// Load reads and checks a file. Relative paths of files in it are taken from its folder. Secrets are not
// read yet.
func Load(file string) (*Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	c, err := Decode(file, data)
	if err != nil {
		return nil, err
	}
	c.resolve(filepath.Dir(file))
	return c, nil
}

// Decode reads and checks a configuration without touching a disk. name is the file, for errors.
func Decode(name string, data []byte) (*Config, error) {
	var c Config
	if err := strictyaml.Decode(name, data, &c); err != nil {
		return nil, err
	}
	k := checker{file: name}
	k.clusters(c.Clusters)
	k.repositories(&c)
	k.chartRepositories(c.ChartRepositories)
	if c.Signing != nil {
		k.signing(c.Signing, c.Repositories)
	}
	k.ledger(&c)
	k.identities(c.Identities)
	k.commands(&c.Commands)
	k.serve(&c.Serve)
	k.database(&c.Database)
	if err := errors.Join(k.errs...); err != nil {
		return nil, err
	}
	return &c, nil
}

// Repository gives the entry for a URL, in any spelling; nil for none.
func (c *Config) Repository(url string) *Repository {
	for i := range c.Repositories {
		if gitops.SameRepository(c.Repositories[i].URL, url) {
			return &c.Repositories[i]
		}
	}
	return nil
}

// Lists says whether an issue lists what is open.
func (r Repository) Lists() bool { return r.DashboardIssue == nil || *r.DashboardIssue }

// Onboards says whether a policy is proposed where there is none.
func (r Repository) Onboards() bool { return r.Onboarding == nil || *r.Onboarding }

// TierFor gives the strictest tier of the clusters that may name a repository: what a policy for all of them starts from.
func (c *Config) TierFor(r Repository) detect.Tier {
	order := []detect.Tier{detect.Dev, detect.Staging, detect.Production, detect.Regulated}
	strictest := -1
	for _, cluster := range c.Clusters {
		if slices.ContainsFunc(r.Clusters, func(pattern string) bool { return glob.Match(pattern, cluster.Name) }) {
			tier := cmp.Or(cluster.Tier, c.Tier, detect.Production)
			if tier == detect.DR { // must be what production is
				tier = detect.Production
			}
			strictest = max(strictest, slices.Index(order, tier))
		}
	}
	if strictest < 0 {
		return detect.Production
	}
	return order[strictest]
}

// Bindings gives which clusters and namespaces may name which repository.
func (c *Config) Bindings() policy.Bindings {
	var out policy.Bindings
	for _, r := range c.Repositories {
		out = append(out, policy.Binding{URL: r.URL, Clusters: r.Clusters, Namespaces: r.Namespaces})
	}
	return out
}

// ChartRepository gives the entry for a URL; nil for none. A registry's entry stands for what lies below it.
func (c *Config) ChartRepository(url string) *ChartRepository {
	for i := range c.ChartRepositories {
		own := strings.TrimSuffix(c.ChartRepositories[i].URL, "/")
		if url = strings.TrimSuffix(url, "/"); url == own || strings.HasPrefix(own, "oci://") && strings.HasPrefix(url, own+"/") {
			return &c.ChartRepositories[i]
		}
	}
	return nil
}

// resolve makes the paths of files absolute, or at least relative to where the command runs.
func (c *Config) resolve(dir string) {
	paths := []*string{}
	for i := range c.Clusters {
		paths = append(paths, &c.Clusters[i].Kubeconfig)
		if a := c.Clusters[i].AuditWebhook; a != nil {
			paths = append(paths, &a.TokenFile)
		}
	}
	for i := range c.Repositories {
		r := &c.Repositories[i]
		paths = append(paths, &r.Auth.PasswordFile, &r.Auth.SSHKeyFile, &r.Auth.KnownHostsFile)
		if f := r.Forge; f != nil {
			paths = append(paths, &f.TokenFile, &f.Path)
			if f.App != nil {
				paths = append(paths, &f.App.PrivateKeyFile)
			}
		}
		if r.Webhook != nil {
			paths = append(paths, &r.Webhook.SecretFile)
		}
	}
	paths = append(paths, &c.Database.File, &c.Database.URLFile)
	if d := c.Serve.Dashboard; d != nil {
		paths = append(paths, &d.TokenFile)
	}
	for i := range c.ChartRepositories {
		paths = append(paths, &c.ChartRepositories[i].Auth.PasswordFile)
	}
	if s := c.Signing; s != nil {
		paths = append(paths, &s.KeyFile, &s.PassphraseFile)
	}
	if l := c.Ledger; l != nil {
		paths = append(paths, &l.Auth.PasswordFile, &l.Auth.SSHKeyFile, &l.Auth.KnownHostsFile)
	}
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
}

// checker finds what is wrong beyond the form of single keys.
type checker struct {
	file string
	errs []error
}

func (k *checker) fail(line int, format string, args ...any) {
	k.errs = append(k.errs, strictyaml.Errorf(k.file, line, format, args...))
}

func (k *checker) clusters(all []Cluster) {
	lines := map[string]int{}
	for _, c := range all {
		if c.Name == "" || strings.ContainsAny(c.Name, "/*? \n") {
			k.fail(c.line, "clusters: name %q: want a name without blanks, slashes, * and ?", c.Name)
		}
		if first, again := lines[c.Name]; again {
			k.fail(c.line, "clusters: name %q repeats; it is already on line %d", c.Name, first)
		}
		lines[c.Name] = c.line
		if c.Interval != 0 && time.Duration(c.Interval) < shortestInterval {
			k.fail(c.line, "clusters: interval: want at least %s", shortestInterval)
		}
		if c.AuditWebhook != nil {
			k.auditWebhook(c)
		}
	}
}

func (k *checker) repositories(c *Config) {
	for i := range c.Repositories {
		r := &c.Repositories[i]
		k.repositoryURL(r)
		for _, earlier := range c.Repositories[:i] {
			if gitops.SameRepository(earlier.URL, r.URL) {
				k.fail(r.line, "repositories: url repeats; the same repository is already on line %d: list all its clusters there", earlier.line)
			}
		}
		for _, name := range r.Clusters {
			known := slices.ContainsFunc(c.Clusters, func(c Cluster) bool { return c.Name == name })
			if len(c.Clusters) > 0 && !known && !strings.ContainsAny(name, "*?") {
				k.fail(r.line, "repositories: clusters: %q is not the name of a cluster above", name)
			}
		}
		if p := r.Policy; p != "" && !filepath.IsLocal(p) {
			k.fail(r.line, "repositories: policy: %q: want a path inside the repository, without a leading slash", p)
		}
		k.auth(r)
		if r.Forge != nil {
			k.forge(r)
		}
		if r.Webhook != nil {
			k.webhook(r, c.Repositories[:i])
		}
	}
}

// repositoryURL refuses an empty URL and one with a password in it. The URL itself is not printed.
func (k *checker) repositoryURL(r *Repository) {
	if r.URL == "" {
		k.fail(r.line, "repositories: url is empty; want the URL of a Git repository")
		return
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		if !strings.Contains(r.URL, "@") || strings.Contains(r.URL, "://") {
			k.fail(r.line, "repositories: url: is no URL")
		}
		return
	}
	if _, has := u.User.Password(); has || (u.User != nil && strings.HasPrefix(u.Scheme, "http")) {
		k.fail(r.line, "repositories: url: holds a user or password; use auth with username and passwordFile or passwordEnv")
	}
}
