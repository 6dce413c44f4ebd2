package main

import (
	"fmt"
	"time"

	commitclient "github.com/argoproj/argo-cd/v2/commitserver/apiclient"
	"github.com/argoproj/argo-cd/v2/common"
	"github.com/argoproj/argo-cd/v2/controller"
	"github.com/argoproj/argo-cd/v2/controller/sharding"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	appclientset "github.com/argoproj/argo-cd/v2/pkg/client/clientset/versioned"
	"github.com/argoproj/argo-cd/v2/pkg/ratelimiter"
	"github.com/argoproj/argo-cd/v2/reposerver/apiclient"
	"github.com/argoproj/argo-cd/v2/util/argo"
	"github.com/argoproj/argo-cd/v2/util/argo/normalizers"
	cacheutil "github.com/argoproj/argo-cd/v2/util/cache"
	appstatecache "github.com/argoproj/argo-cd/v2/util/cache/appstate"
	"github.com/argoproj/argo-cd/v2/util/kube"
	"github.com/argoproj/argo-cd/v2/util/settings"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// controllerOptions are what a lab decides. Everything else is as Argo CD's own command has it by default.
type controllerOptions struct {
	kubeconfig string
	namespace  string
	repoServer string // address, plain text
	metrics    string // address of the metrics and /healthz listener
	resync     time.Duration
}

// controllerCommand runs the application controller. Argo CD's own command is not used because it listens for metrics
// on every interface of the machine; here the address is moved to loopback before the listener opens.
func controllerCommand() *cobra.Command {
	var options controllerOptions
	command := &cobra.Command{Use: "controller", Args: cobra.NoArgs}
	flags := command.Flags()
	flags.StringVar(&options.kubeconfig, "kubeconfig", "", "file of the cluster that holds the Applications")
	flags.StringVar(&options.namespace, "namespace", "argocd", "namespace of the Applications")
	flags.StringVar(&options.repoServer, "repo-server", "", "address of the repo server, which speaks plain text")
	flags.StringVar(&options.metrics, "metrics-address", "", "where to serve metrics and /healthz")
	flags.DurationVar(&options.resync, "app-resync", 3*time.Minute, "how often each Application is compared anyway")
	newCache := appstatecache.AddCacheFlagsToCmd(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		cache, err := newCache()
		if err != nil {
			return err
		}
		config, err := clientcmd.BuildConfigFromFlags("", options.kubeconfig)
		if err != nil {
			return err
		}
		return runController(command, options, config, cache)
	}
	return command
}

func runController(command *cobra.Command, options controllerOptions, config *rest.Config, cache *appstatecache.Cache) error {
	ctx := command.Context()
	if err := v1alpha1.SetK8SConfigDefaults(config); err != nil {
		return err
	}
	version := common.GetVersion()
	config.UserAgent = fmt.Sprintf("%s/%s (%s)", common.DefaultApplicationControllerName, version.Version, version.Platform)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	applications, err := appclientset.NewForConfig(config)
	if err != nil {
		return err
	}
	cache.Cache.SetClient(cacheutil.NewTwoLevelClient(cache.Cache.GetClient(), 10*time.Minute))

	var running *controller.ApplicationController
	manager := settings.NewSettingsManager(ctx, client, options.namespace,
		settings.WithRepoOrClusterChangedHandler(func() { running.InvalidateProjectsCache() }))
	shards, err := sharding.GetClusterSharding(client, manager, common.DefaultShardingAlgorithm, false)
	if err != nil {
		return err
	}
	running, err = controller.NewApplicationController(
		options.namespace, manager, client, applications,
		apiclient.NewRepoServerClientset(options.repoServer, 60, apiclient.TLSConfiguration{DisableTLS: true}),
		commitclient.NewCommitServerClientset(common.DefaultCommitServerAddr), // nobody calls it: the hydrator is off
		cache, kube.NewKubectl(),
		options.resync,
		0, // no hard resync
		0, // no jitter
		0, // no pause between attempts of self-heal, but:
		&wait.Backoff{Duration: 2 * time.Second, Factor: 3, Cap: 5 * time.Minute},
		330*time.Second,
		0, // a sync may take as long as it needs
		3*time.Minute,
		0, // the port of the metrics; see below
		0, nil, nil,
		20,   // concurrent kubectl calls
		true, // health of each resource is in the Application
		shards,
		nil, // Applications in other namespaces
		ratelimiter.GetDefaultAppRateLimiterConfig(),
		false, // server-side diff only where an Application asks for it
		false, // no clusters shared out among controllers
		normalizers.IgnoreNormalizerOpts{},
		argo.DefaultEnableEventList(),
		false,
	)
	if err != nil {
		return err
	}
	running.GetMetricsServer().Addr = options.metrics
	running.Run(ctx, 20, 10)
	return nil
}
