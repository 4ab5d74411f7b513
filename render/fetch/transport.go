package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds of a run. The watchdog of the process bounds its CPU time and memory.
const (
	maxAnswer   = 100 << 20 // the index of a large repository has 20 MiB
	maxAnswers  = 4 << 30   // all together
	maxRequests = 20_000
	atATime     = 12 // sources
)

// times bound how long a run waits.
type times struct {
	all  time.Duration // of a run
	one  time.Duration // of a source
	wait time.Duration // for a connection, or the header of an answer
}

var usual = times{all: 10 * time.Minute, one: 2 * time.Minute, wait: 20 * time.Second}

// trip is the way to a source. It is in the context of each request.
type trip struct {
	host string // with its port
	// mayLeave reports whether its server may lead to another public host: it is of a registry, whose answers have
	// digests and whose paths lead nowhere, or reviewed files name exactly this repository.
	mayLeave bool
}

type tripKey struct{}

// transport sends each request, and each redirected one, within the limits of a trust.
type transport struct {
	http.RoundTripper
	trust   *Trust
	wait    time.Duration
	proxies sync.Map // hosts with ports

	requests, bytes atomic.Int64
}

// newClient returns a client for any number of sources. It waits no longer than wait for an answer to begin.
func newClient(trust *Trust, base *http.Transport, wait time.Duration) *http.Client {
	t := &transport{trust: trust, wait: wait}
	base.Proxy = func(r *http.Request) (*url.URL, error) {
		proxy, err := http.ProxyFromEnvironment(r)
		if proxy != nil {
			t.proxies.Store(hostPort(proxy), true)
		}
		return proxy, err
	}
	base.DialContext = t.dial
	base.TLSHandshakeTimeout = wait
	base.ResponseHeaderTimeout = wait
	t.RoundTripper = base
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 9 {
			return errors.New("too many redirects")
		}
		first := via[0].URL
		if first.Scheme == r.URL.Scheme && hostPort(first) == hostPort(r.URL) {
			return nil
		}
		r.Header.Del("Authorization") // net/http copies that of the first request to another port, and to HTTP
		r.Header.Del("Cookie")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return errors.New("a redirect of credentials to another host")
		}
		return nil
	}}
}

// dial connects to an address if the trust allows it, once its name is resolved.
func (t *transport) dial(ctx context.Context, network, address string) (net.Conn, error) {
	_, isProxy := t.proxies.Load(address) // the caller chooses it
	d := net.Dialer{Timeout: t.wait, Control: func(_, resolved string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err != nil || isProxy {
			return err
		}
		return t.trust.checkAddress(address, at.Addr())
	}}
	return d.DialContext(ctx, network, address)
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	to, _ := r.Context().Value(tripKey{}).(trip)
	host := hostPort(r.URL)
	isAway := host != to.host && (to.host != "docker.io:443" || host != "registry-1.docker.io:443")
	switch address, err := netip.ParseAddr(r.URL.Hostname()); { // a proxy would resolve it
	case isAway && !to.mayLeave && !t.trust.names(host):
		return nil, fmt.Errorf("%s leads to the host %s, which the base does not name: allow it by --fetch-from %s",
			to.host, r.URL.Host, r.URL.Host)
	case r.URL.Scheme != "https" && !t.trust.isPlain(host):
		return nil, fmt.Errorf("%s speaks HTTP, and the base does not name it so", r.URL.Host)
	case err == nil && t.trust.checkAddress(host, address) != nil:
		return nil, t.trust.checkAddress(host, address)
	case t.requests.Add(1) > maxRequests || t.bytes.Load() > maxAnswers:
		return nil, fmt.Errorf("more than %d requests or %d MiB in a run", maxRequests, maxAnswers>>20)
	}
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &bounded{ReadCloser: response.Body, t: t, left: maxAnswer}
	return response, nil
}

// CloseIdleConnections implements the interface of http.Client: a server would keep them.
func (t *transport) CloseIdleConnections() {
	(&http.Client{Transport: t.RoundTripper}).CloseIdleConnections()
}

// bounded is the body of an answer.
type bounded struct {
	io.ReadCloser
	t    *transport
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 || b.t.bytes.Add(int64(n)) > maxAnswers {
		return 0, fmt.Errorf("the answer is over %d MiB, or all together over %d MiB", maxAnswer>>20, maxAnswers>>20)
	}
	return n, err
}
