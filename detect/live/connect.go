package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/flowcontrol"

	"holdfast/gitops"
)

// Options say which cluster to read, as whom and how hard.
type Options struct {
	// Kubeconfig is a file; empty follows kubectl: $KUBECONFIG, then ~/.kube/config, then the service
	// account of the pod that this process runs in.
	Kubeconfig string
	// Context is the context of the kubeconfig; empty is its current one.
	Context string
	// Name is the cluster's name in outputs; empty takes the context's.
	Name string
	// Namespaces are asked one by one where a list of the whole cluster is forbidden, besides those of
	// the wanted objects and the context's own.
	Namespaces []string
	// Secrets says how far Secrets are read; empty is SecretsNone.
	Secrets Secrets
	// Given are engine objects that may not be in the cluster, or not so: what they refer to is read too.
	Given []gitops.Object
	// UserAgent names the client in the server's audit log, such as holdfast/1.2.0.
	UserAgent string
	// QPS and Burst limit requests a second; 0 takes 100 and 200.
	QPS   float32
	Burst int
	// InFlight limits requests at the same time; 0 takes 8.
	InFlight int
	// Timeout limits one request, its body included; 0 takes a minute.
	Timeout time.Duration
}

// firstAnswer is how long Connect waits, attempts included: a server behind a firewall that drops packets
// does not even refuse.
const firstAnswer = 20 * time.Second

// Cluster is a connection to one API server. It sends GET requests only. It is safe for concurrent use.
type Cluster struct {
	name       string
	version    string
	secrets    Secrets
	namespaces []string
	scoped     bool // the operator named the namespaces
	given      []gitops.Object
	requester  requester
	discovery  *discovery.DiscoveryClient

	mu       sync.Mutex
	served   *served // as found at servedAt
	servedAt time.Time
}

// Connect reads the kubeconfig and asks the server for its version, so that a wrong context, an address
// that does not answer and an expired credential are told apart before a scan begins. Errors name the
// file, the context or the URL.
func Connect(ctx context.Context, o Options) (*Cluster, error) {
	switch o.Secrets {
	case "", SecretsNone, SecretsMetadata, SecretsValues:
	default:
		return nil, fmt.Errorf("secrets mode %q: want none, metadata or values", o.Secrets)
	}
	target, err := load(o.Kubeconfig, o.Context)
	if err != nil {
		return nil, err
	}
	config := target.config
	config.UserAgent = cmp.Or(o.UserAgent, "holdfast")
	config.QPS, config.Burst = cmp.Or(o.QPS, 100), cmp.Or(o.Burst, 200)
	config.WarningHandler = rest.NoWarnings{}
	config.Timeout = 0 // one request is limited by its own context
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("context %q of %s: %w", target.context, target.file, err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("context %q of %s: server address %q: %w", target.context, target.file, config.Host, err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("context %q of %s: %w", target.context, target.file, err)
	}
	c := &Cluster{
		name:       cmp.Or(o.Name, target.context),
		secrets:    cmp.Or(o.Secrets, SecretsNone),
		namespaces: slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(o.Namespaces), target.namespace...)))),
		scoped:     len(o.Namespaces) > 0,
		given:      o.Given,
		discovery:  disco,
		requester: requester{
			client:  client,
			base:    base,
			slots:   make(chan struct{}, cmp.Or(o.InFlight, 8)),
			rate:    flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst),
			timeout: cmp.Or(o.Timeout, time.Minute),
			pause:   200 * time.Millisecond,
		},
	}
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	if c.version, err = c.requester.version(ctx); err != nil {
		return nil, target.explain(err, base)
	}
	return c, nil
}

// Name is the cluster's name in outputs.
func (c *Cluster) Name() string { return c.name }

// Version is the server's git version, such as v1.36.3.
func (c *Cluster) Version() string { return c.version }

// ContextName gives the name of the context that Connect would use, which names the cluster where nothing
// else does.
func ContextName(kubeconfig, context string) (string, error) {
	target, err := load(kubeconfig, context)
	if err != nil {
		return "", err
	}
	return target.context, nil
}

// kubeTarget is one context of a kubeconfig, resolved.
type kubeTarget struct {
	file, context, user string
	namespace           []string // of the context; empty when it names none
	config              *rest.Config
}

func load(file, contextName string) (*kubeTarget, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	raw, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %s", gitops.WithoutValues(err.Error()))
	}
	where := cmp.Or(file, strings.Join(rules.Precedence, ", "))
	name := cmp.Or(contextName, raw.CurrentContext)
	if name == "" && len(raw.Contexts) == 0 {
		return inCluster(where)
	}
	if name == "" {
		return nil, fmt.Errorf("kubeconfig %s has no current context: name one with --context; there are %s", where, contextsOf(raw))
	}
	if raw.Contexts[name] == nil {
		return nil, fmt.Errorf("kubeconfig %s has no context %q; there are %s", where, name, contextsOf(raw))
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, name, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("context %q of %s: %w", name, where, err)
	}
	t := &kubeTarget{file: where, context: name, user: raw.Contexts[name].AuthInfo, config: config}
	if ns := raw.Contexts[name].Namespace; ns != "" {
		t.namespace = []string{ns}
	}
	return t, nil
}

// inCluster uses the pod's service account where there is no kubeconfig at all.
func inCluster(looked string) (*kubeTarget, error) {
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, fmt.Errorf("no kubeconfig with a context in %s, and this is no pod: give --kubeconfig, or a dump with --live", looked)
	}
	if err != nil {
		return nil, fmt.Errorf("service account of this pod: %w", err)
	}
	return &kubeTarget{file: "the pod's service account", context: "in-cluster", user: "service account", config: config}, nil
}

func contextsOf(raw *clientcmdapi.Config) string {
	if len(raw.Contexts) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
}

// explain says what a person can do about a server that does not answer a version request.
func (t *kubeTarget) explain(err error, base *url.URL) error {
	var status *statusError
	switch {
	case errors.As(err, &status) && status.code == http.StatusUnauthorized:
		return fmt.Errorf("cluster at %s refuses the credential of user %q (context %q of %s): it may have expired, log in again: %w",
			base, t.user, t.context, t.file, err)
	case errors.As(err, &status):
		return fmt.Errorf("cluster at %s (context %q of %s): %w", base, t.context, t.file, err)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("cluster at %s (context %q of %s) does not answer in time: %w", base, t.context, t.file, err)
	}
	return fmt.Errorf("cluster at %s (context %q of %s) cannot be reached: %w", base, t.context, t.file, err)
}
