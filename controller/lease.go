package controller

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"example.com/gatehouse/controller/setup"
)

// leaseDuration is how long after a leader last renewed its lease another one may be
// elected.
const leaseDuration = 15 * time.Second

// lease knows when the leader election of a manager last renewed the lease. Elapsed time
// counts, not the wall clock: it goes on while a process is stopped.
type lease struct {
	renewed atomic.Pointer[time.Time]
}

// watch has a client's requests tell the lease when it is renewed. The lease holds from
// before such a request was sent.
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

// isFresh reports whether nobody else can have been elected since the lease was renewed.
func (l *lease) isFresh() bool {
	renewed := l.renewed.Load()
	return renewed != nil && time.Since(*renewed) < leaseDuration
}
