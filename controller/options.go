package controller

import "time"

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
