package controller

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// clientConfig lets many Ats that are due together be opened as fast as the API
// server takes it: its own priority and fairness is the limit.
func clientConfig(cfg *rest.Config, as string) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	if as != "" {
		cfg.Impersonate = rest.ImpersonationConfig{UserName: as}
	}
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
