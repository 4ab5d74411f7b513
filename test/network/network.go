// Package network is the network between two programs, which a test can cut.
package network

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Network takes connections to an address.
type Network struct {
	listener net.Listener
	target   string

	mutex sync.Mutex
	cut   Cut
	held  [2]chan struct{} // closed when the direction flows again
	conns map[*net.TCPConn]bool
}

// Cut is what is wrong with a network.
type Cut string

// The ways in which a network is cut.
// The cuts that there are.
const (
	Whole        Cut = ""               // nothing
	Reset        Cut = "reset"          // connections are reset, and new ones too
	Stall        Cut = "stall"          // nothing gets through
	StallAnswers Cut = "stall answers"  // requests get through
	StallAsks    Cut = "stall requests" // answers get through
)

// The directions of a connection.
const (
	asks = iota
	answers
)

var stalled = map[Cut][]int{Stall: {asks, answers}, StallAnswers: {answers}, StallAsks: {asks}}

// New returns a network to an address.
func New(ctx context.Context, target string) (*Network, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &Network{listener: listener, target: target, conns: map[*net.TCPConn]bool{}}
	n.flow()
	go n.accept()
	return n, nil
}

// Address returns where a program reaches the network.
func (n *Network) Address() string { return n.listener.Addr().String() }

// flow has both directions flow; the mutex must be held, or nobody know n yet.
func (n *Network) flow() {
	for i := range n.held {
		n.held[i] = make(chan struct{})
		close(n.held[i])
	}
}

// Set changes what is wrong with the network. What was held goes on, unless the
// connections are reset.
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

func (n *Network) serve(client *net.TCPConn) {
	if !n.add(client) {
		return
	}
	defer n.remove(client)
	n.await(asks)
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
	go n.copy(server, client, asks)
	n.copy(client, server, answers)
}

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

// add takes in a connection, unless the network resets all.
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

// Close resets all connections, and takes no more.
func (n *Network) Close() {
	_ = n.listener.Close()
	n.Set(Reset)
}
