// Package network provides a network between two programs, so that tests can interrupt it.
package network

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Network forwards connections to an address.
type Network struct {
	listener net.Listener
	target   string

	mutex sync.Mutex
	cut   Cut
	held  [2]chan struct{} // closed when the direction flows again
	conns map[*net.TCPConn]bool
}

// Cut is a kind of interruption.
type Cut string

// Interruptions.
const (
	Whole         Cut = ""               // all data passes
	Reset         Cut = "reset"          // old and new connections are reset
	Stall         Cut = "stall"          // no data passes
	StallAnswers  Cut = "stall answers"  // only requests pass
	StallRequests Cut = "stall requests" // only answers pass
)

// The directions of a connection.
const (
	requests = iota
	answers
)

var stalled = map[Cut][]int{Stall: {requests, answers}, StallAnswers: {answers}, StallRequests: {requests}}

// New returns a network to an address.
func New(ctx context.Context, target string) (*Network, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &Network{listener: listener, target: target, conns: map[*net.TCPConn]bool{}}
	for i := range n.held {
		n.held[i] = make(chan struct{})
		close(n.held[i])
	}
	go n.accept()
	return n, nil
}

// Address returns the address of the network for clients.
func (n *Network) Address() string { return n.listener.Addr().String() }

// Set interrupts the network, or repairs it. Delayed data then passes, unless the connections are reset.
func (n *Network) Set(c Cut) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if c == Reset {
		for conn := range n.conns {
			_ = conn.SetLinger(0)
			_ = conn.Close()
		}
	}
	for _, direction := range stalled[n.cut] {
		close(n.held[direction])
	}
	for _, direction := range stalled[c] {
		n.held[direction] = make(chan struct{})
	}
	n.cut = c
}

// await waits until a direction flows.
func (n *Network) await(direction int) {
	n.mutex.Lock()
	flows := n.held[direction]
	n.mutex.Unlock()
	<-flows
}

func (n *Network) accept() {
	for {
		conn, err := n.listener.Accept()
		if err != nil {
			return // closed
		}
		go n.serve(conn.(*net.TCPConn))
	}
}

// serve connects a client with the target.
func (n *Network) serve(client *net.TCPConn) {
	if !n.add(client) {
		return
	}
	defer n.remove(client)
	n.await(requests)
	conn, err := net.Dial("tcp", n.target) //nolint:noctx // ends with the client
	if err != nil {
		_ = client.SetLinger(0)
		return
	}
	server := conn.(*net.TCPConn)
	if !n.add(server) {
		return
	}
	defer n.remove(server)
	go n.copy(server, client, requests)
	n.copy(client, server, answers)
}

// copy forwards data from one connection to the other.
func (n *Network) copy(to, from *net.TCPConn, direction int) {
	buffer := make([]byte, 32<<10)
	for {
		read, err := from.Read(buffer)
		n.await(direction)
		if read > 0 {
			if _, err := to.Write(buffer[:read]); err != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) {
			_ = to.CloseWrite()
			return
		}
		if err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
}

// add registers a connection and returns true, unless the network resets connections.
func (n *Network) add(conn *net.TCPConn) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.cut == Reset {
		_ = conn.SetLinger(0)
		_ = conn.Close()
		return false
	}
	n.conns[conn] = true
	return true
}

func (n *Network) remove(conn *net.TCPConn) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	_ = conn.Close()
	delete(n.conns, conn)
}

// Close resets all connections and accepts no more.
func (n *Network) Close() {
	_ = n.listener.Close()
	n.Set(Reset)
}
