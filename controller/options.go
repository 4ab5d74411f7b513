package controller

import "time"

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
	// As is the user to impersonate; empty for that of the configuration.
	As string
	// Concurrency is how many objects of one kind and namespace are reconciled at a time.
	Concurrency int
	// Grace is for how long what was rendered from a spec may be missing before its
	// object is stalled.
	Grace time.Duration
}
