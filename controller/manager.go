// Package controller wires the controllers of Gatehouse into one manager.
package controller

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// New returns a manager that runs controllers, with changes to its own options. Its error has all
// problems of their kinds.
func New(cfg *rest.Config, controllers []setup.Controller, options Options,
	changes ...func(*ctrl.Options)) (ctrl.Manager, error) {
	if _, err := Kinds(controllers); err != nil {
		return nil, err
	}
	controllers = slices.DeleteFunc(slices.Clone(controllers), func(c setup.Controller) bool {
		return c.Kind.IsConverted() // no cluster has objects of a converted kind
	})
	cfg = clientConfig(cfg, options.As)
	scheme, err := Scheme(controllers)
	if err != nil {
		return nil, err
	}
	clock := &setup.Clock{}
	lease := &lease{}
	watches := &watches{failing: map[*toolscache.Reflector]failure{}}
	cfg = clock.Watch(cfg)
	managerOptions := managerOptions(scheme, controllers, options)
	managerOptions.Cache.DefaultWatchErrorHandler = watches.handleError
	managerOptions.LeaderElectionConfig = lease.watch(cfg)
	for _, change := range changes {
		change(&managerOptions)
	}
	mgr, err := ctrl.NewManager(cfg, managerOptions)
	if err != nil {
		return nil, err
	}
	watches.cache = mgr.GetCache()
	clientOptions := client.Options{Scheme: scheme, Mapper: mgr.GetRESTMapper()}
	live, err := newClient(cfg, clientOptions)
	if err != nil {
		return nil, err
	}
	patient, err := newClientWithin(setup.PatientTimeout, cfg, clientOptions)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(clockRunner{clock, cfg}); err != nil {
		return nil, err
	}
	err = setup.AddTo(mgr, setup.Options{
		Namespaces: options.Namespaces, Grace: options.Grace,
		IsFresh: func() bool { return !options.LeaderElect || lease.isFresh() },
		Clock:   clock, Live: live, Patient: patient, Concurrency: options.Concurrency,
	}, controllers)
	if err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if err := mgr.AddReadyzCheck("clock", clock.Check); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("caches", watches.check)
}

// clockRunner runs the clock of the API server in a manager, on every replica.
type clockRunner struct {
	clock  *setup.Clock
	config *rest.Config
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (clockRunner) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (c clockRunner) Start(ctx context.Context) error {
	server, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return err
	}
	return c.clock.Run(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, setup.RequestTimeout)
		defer cancel()
		return server.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	})
}

func managerOptions(scheme *runtime.Scheme, controllers []setup.Controller, options Options) ctrl.Options {
	return ctrl.Options{
		Scheme:    scheme,
		NewClient: newClient,
		NewCache:  setup.NewCache(controllers),
		Cache:     cache.Options{DefaultNamespaces: namespaces(options.Namespaces)},
		Controller: config.Controller{
			// All replicas fill their caches, so that a new leader knows every object.
			EnableWarmup: ptr.To(true),
		},
		LeaderElection:                options.LeaderElect,
		LeaderElectionID:              "gatehouse-controller",
		LeaderElectionNamespace:       options.LeaderElectNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(leaseDuration),
		HealthProbeBindAddress:        options.ProbeAddress,
		Metrics:                       metricsOptions(options),
	}
}

func metricsOptions(options Options) metricsserver.Options {
	metrics := metricsserver.Options{BindAddress: options.MetricsAddress, SecureServing: options.MetricsSecure}
	if options.MetricsSecure {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	if !options.EnableHTTP2 { // https://github.com/advisories/GHSA-qppj-fm5r-hxr3
		metrics.TLSOpts = append(metrics.TLSOpts, func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
	}
	return metrics
}

func namespaces(names []string) map[string]cache.Config {
	configs := map[string]cache.Config{}
	for _, name := range names {
		configs[name] = cache.Config{}
	}
	return configs
}

// Kinds returns the kinds of controllers.
func Kinds(controllers []setup.Controller) (*registry.Kinds, error) {
	kinds := make([]kind.Kind, len(controllers))
	for i, c := range controllers {
		kinds[i] = c.Kind
	}
	return registry.New(kinds...)
}

// Scheme returns a scheme of all types that controllers read and write.
func Scheme(controllers []setup.Controller) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	for _, c := range controllers {
		if err := c.Kind.AddToScheme(scheme); err != nil {
			return nil, fmt.Errorf("add the types of %s: %w", c.Kind.GVK().Kind, err)
		}
	}
	return scheme, nil
}

// Options are the flags of the controller.
type Options struct {
	// LeaderElect elects one of several replicas, and the others stand by.
	LeaderElect bool
	// LeaderElectNamespace is the namespace of the Lease; empty for the namespace of the
	// controller's own Pod.
	LeaderElectNamespace string
	// MetricsAddress and ProbeAddress are host:port; "0" serves none.
	MetricsAddress string
	ProbeAddress   string
	// MetricsSecure serves metrics over HTTPS to clients that the API server authenticates and
	// authorizes.
	MetricsSecure bool
	// EnableHTTP2 serves metrics over HTTP/2 too.
	EnableHTTP2 bool
	// Namespaces are the watched namespaces; empty for all.
	Namespaces []string
	// As is the user to impersonate; empty for the user of the configuration.
	As string
	// Concurrency is how many objects of one kind and namespace are reconciled at a time.
	Concurrency int
	// Grace is how long a rendered object may be missing before its source object is stalled.
	Grace time.Duration
}

// clientConfig returns a configuration without a rate limit: the API server's priority and fairness
// limits how fast many Ats of one instant open.
func clientConfig(cfg *rest.Config, as string) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	if as != "" {
		cfg.Impersonate = rest.ImpersonationConfig{UserName: as}
	}
	cfg.QPS = -1
	cfg.UserAgent = "gatehouse-controller"
	return cfg
}

// newClient returns a client whose requests end after setup.RequestTimeout.
func newClient(cfg *rest.Config, options client.Options) (client.Client, error) {
	return newClientWithin(setup.RequestTimeout, cfg, options)
}

// newClientWithin returns a client whose requests end after a timeout. It uses HTTP/1.1, so
// that simultaneous requests have their own connections: a thousand gates open in two thirds of the
// time of a single HTTP/2 connection. Watches stay with HTTP/2, which notices a dead connection.
func newClientWithin(timeout time.Duration, cfg *rest.Config, options client.Options) (client.Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = timeout
	cfg.NextProtos = []string{"http/1.1"}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	options.HTTPClient = httpClient
	return client.New(cfg, options)
}
