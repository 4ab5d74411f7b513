// Package controller wires the controllers of Gatehouse into one manager.
package controller

import (
	"context"
	"crypto/tls"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/controller/memcached"
	"example.com/gatehouse/controller/setup"
)

// controllers are those of Gatehouse, one for each kind that users write.
var controllers = []setup.Controller{
	at.Controller,
	memcached.Controller,
}

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=gatehouse-system,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=gatehouse-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// New returns a manager that runs every controller of Gatehouse.
func New(ctx context.Context, cfg *rest.Config, options Options) (ctrl.Manager, error) {
	return newManager(ctx, cfg, options, managerOptions(options))
}

func newManager(ctx context.Context, cfg *rest.Config, options Options, managerOptions ctrl.Options) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(clientConfig(cfg), managerOptions)
	if err != nil {
		return nil, err
	}
	for _, c := range controllers {
		err := c.AddTo(ctx, mgr, setup.Options{Namespaces: namespaces(options.Namespaces), Grace: options.Grace})
		if err != nil {
			return nil, fmt.Errorf("set up the controller of %s: %w", c.Name, err)
		}
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("ping", healthz.Ping)
}

func managerOptions(options Options) ctrl.Options {
	return ctrl.Options{
		Scheme:    Scheme(),
		NewClient: newClient,
		Client:    clientOptions(),
		Cache: cache.Options{
			DefaultNamespaces: namespaces(options.Namespaces),
			DefaultTransform:  cache.TransformStripManagedFields(),
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

func namespaces(names []string) map[string]cache.Config {
	configs := map[string]cache.Config{}
	for _, name := range names {
		configs[name] = cache.Config{}
	}
	return configs
}

// Scheme returns a scheme of all types that the controllers read and write.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, c := range controllers {
		if err := c.Types.AddToScheme(scheme); err != nil { // types are known at build time
			panic(err)
		}
	}
	return scheme
}
