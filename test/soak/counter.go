package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// counter counts the starts of commands. A command reports its start first of all, and waits for the
// answer before it goes on.
type counter struct {
	address string
	clock   *clock
	server  *http.Server

	mutex  sync.Mutex
	starts map[string][]start // by command
}

// start is one start of a container.
type start struct {
	pod string // UID
	id  string // random; the command repeats it when it got no answer
	at  moment
}

// newCounter serves a counter on the address at which the Pods of a node reach this machine.
func newCounter(ctx context.Context, node *corev1.Node, clock *clock) (*counter, error) {
	nodeIP := "127.0.0.1"
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			nodeIP = address.Address
		}
	}
	route, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(nodeIP, "9")) // sends nothing
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(route.LocalAddr().String())
	_ = route.Close()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	c := &counter{address: listener.Addr().String(), clock: clock, starts: map[string][]start{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{command}/{pod}/{id}", c.count)
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

// count answers with the number of starts in the Pod.
func (c *counter) count(w http.ResponseWriter, r *http.Request) {
	at := c.clock.now()
	command := r.PathValue("command")
	pod := r.PathValue("pod")
	id := r.PathValue("id")
	c.mutex.Lock()
	defer c.mutex.Unlock()
	starts := c.starts[command]
	if !slices.ContainsFunc(starts, func(s start) bool { return s.id == id }) {
		starts = append(starts, start{pod, id, at})
		c.starts[command] = starts
	}
	n := 0
	for _, s := range starts {
		if s.pod == pod {
			n++
		}
	}
	fmt.Fprint(w, n)
}

// startsOf returns the starts of a command.
func (c *counter) startsOf(command string) []start {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.starts[command])
}

// script returns a shell script that reports its start, sets n to the number of starts in its Pod,
// and then runs further commands.
func (c *counter) script(then string) string {
	host, port, _ := net.SplitHostPort(c.address)
	return fmt.Sprintf(`id=$(cat /proc/sys/kernel/random/uuid)
until [ "$n" -ge 1 ] 2>/dev/null; do
  n=$(printf 'GET /%%s/%%s/%%s HTTP/1.0\r\n\r\n' "$%s" "$POD_UID" "$id" | nc -w 5 %s %s | tail -n 1)
done
%s`, commandVariable, host, port, then)
}
