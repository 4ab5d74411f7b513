package controller

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"example.com/gatehouse/controller/setup"
)

// leaseDuration is the time from the last renewal of a lease to the election of another leader.
const leaseDuration = 15 * time.Second

// lease records the last renewal of a manager's lease. It counts elapsed time, not the wall clock:
// elapsed time goes on while a process is stopped.
type lease struct {
	renewed atomic.Pointer[time.Time]
}

// watch makes a client's requests report renewals of the lease. A lease holds from the time before
// its request was sent.
func (l *lease) watch(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return setup.RoundTripper(func(request *http.Request) (*http.Response, error) {
			sent := time.Now()
			response, err := next.RoundTrip(request)
			isWrite := request.Method == http.MethodPut || request.Method == http.MethodPost
			if err == nil && isWrite && response.StatusCode < 300 && strings.Contains(request.URL.Path, "/leases") {
				l.renewed.Store(&sent)
			}
			return response, err
		})
	})
	return config
}

// isFresh reports whether no other leader can have been elected since the last renewal.
func (l *lease) isFresh() bool {
	renewed := l.renewed.Load()
	return renewed != nil && time.Since(*renewed) < leaseDuration
}
