package controller

import (
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/controller/setup"
)

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
