// Package controller wires the controllers of Gatehouse into one manager.
package controller

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/controller/memcached"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=gatehouse-system,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=gatehouse-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Options are what an operator of the controller chooses.
type Options struct {
	// LeaderElect has one of several replicas act, the others stand by.
	LeaderElect bool
	// LeaderElectNamespace is where the Lease is; empty for the namespace of the
	// controller's own Pod.
	LeaderElectNamespace string
	// MetricsAddress and ProbeAddress are host:port; "0" serves none.
	MetricsAddress string
	ProbeAddress   string
	// MetricsSecure serves metrics over HTTPS, to whom the API server authenticates
	// and authorizes.
	MetricsSecure bool
	// EnableHTTP2 serves metrics over HTTP/2 too.
	EnableHTTP2 bool
	// Namespaces are those to watch; none for all.
	Namespaces []string
	// Concurrency is how many objects of a kind are reconciled at a time.
	Concurrency int
	// Grace is for how long what was rendered from a spec may be missing before its
	// object is stalled.
	Grace time.Duration
}

// New returns a manager that runs every controller of Gatehouse.
func New(ctx context.Context, cfg *rest.Config, options Options) (ctrl.Manager, error) {
	return newManager(ctx, cfg, options, managerOptions(options))
}

func newManager(ctx context.Context, cfg *rest.Config, options Options, managerOptions ctrl.Options) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(clientConfig(cfg), managerOptions)
	if err != nil {
		return nil, err
	}
	memcachedPods, err := addMemcachedPods(mgr, options)
	if err != nil {
		return nil, err
	}
	if err := at.Setup(ctx, mgr, options.Grace); err != nil {
		return nil, fmt.Errorf("set up the controller of Ats: %w", err)
	}
	if err := memcached.Setup(ctx, mgr, memcachedPods, options.Grace); err != nil {
		return nil, fmt.Errorf("set up the controller of Memcacheds: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("ping", healthz.Ping)
}

// clientConfig lets many Ats that are due together be opened as fast as the API
// server takes it: its own priority and fairness is the limit.
func clientConfig(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.UserAgent = "gatehouse-controller"
	return cfg
}

// newClient returns a client whose requests go over HTTP/1.1, each of those at one
// time on a connection of its own: a thousand gates open in two thirds of the time
// that they take on the one connection of HTTP/2. Watches stay with HTTP/2, which
// notices when its connection is dead.
func newClient(cfg *rest.Config, options client.Options) (client.Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.NextProtos = []string{"http/1.1"}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	options.HTTPClient = httpClient
	return client.New(cfg, options)
}

func managerOptions(options Options) ctrl.Options {
	return ctrl.Options{
		Scheme:    scheme(),
		NewClient: newClient,
		Cache: cache.Options{
			DefaultNamespaces: namespaces(options.Namespaces),
			DefaultTransform:  cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Pod{}:        at.PodCache(),
				&appsv1.Deployment{}: memcached.DeploymentCache(),
			},
		},
		Controller: config.Controller{
			MaxConcurrentReconciles: options.Concurrency,
			// A replica that takes over knows every object already.
			EnableWarmup: ptr.To(true),
		},
		LeaderElection:                options.LeaderElect,
		LeaderElectionID:              "gatehouse-controller",
		LeaderElectionNamespace:       options.LeaderElectNamespace,
		LeaderElectionReleaseOnCancel: true,
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

// addMemcachedPods adds a cache of its own for the Pods of Memcacheds: one cache
// of Pods has one selector, and no selector means "this label or that".
func addMemcachedPods(mgr ctrl.Manager, options Options) (cache.Cache, error) {
	pods, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:        mgr.GetHTTPClient(),
		Scheme:            mgr.GetScheme(),
		Mapper:            mgr.GetRESTMapper(),
		DefaultNamespaces: namespaces(options.Namespaces),
		ByObject:          map[client.Object]cache.ByObject{&corev1.Pod{}: memcached.PodCache()},
	})
	if err != nil {
		return nil, fmt.Errorf("create the cache of memcached Pods: %w", err)
	}
	return pods, mgr.Add(warmCache{pods})
}

// warmCache is a cache that a manager starts with its own and before any controller,
// also on a replica that stands by. The manager knows such a cache by GetCache; another
// would start with the leader's controllers, too late for those that warm up.
type warmCache struct{ cache.Cache }

// GetCache returns the cache itself.
func (w warmCache) GetCache() cache.Cache { return w.Cache }

func namespaces(names []string) map[string]cache.Config {
	configs := map[string]cache.Config{}
	for _, name := range names {
		configs[name] = cache.Config{}
	}
	return configs
}

func scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme,
		appsv1.AddToScheme,
		cachev1alpha1.AddToScheme,
		cnatv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil { // kinds are registered at build time
			panic(err)
		}
	}
	return scheme
}
