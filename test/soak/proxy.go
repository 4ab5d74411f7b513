package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// proxy is the network between a controller and the API server.
type proxy struct {
	listener net.Listener
	target   string

	mutex sync.Mutex
	cut   cut
	held  [2]chan struct{} // closed when the direction flows again
	conns map[*net.TCPConn]bool
}

// cut is what is wrong with a network.
type cut string

const (
	whole        cut = ""               // nothing
	reset        cut = "reset"          // connections are reset, and new ones too
	stall        cut = "stall"          // nothing gets through
	stallAnswers cut = "stall answers"  // requests get through
	stallAsks    cut = "stall requests" // answers get through
)

// The directions of a connection.
const (
	asks = iota
	answers
)

var stalled = map[cut][]int{stall: {asks, answers}, stallAnswers: {answers}, stallAsks: {asks}}

func newProxy(ctx context.Context, target string) (*proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: target, conns: map[*net.TCPConn]bool{}}
	p.flow()
	go p.accept()
	return p, nil
}

// flow has both directions flow; the mutex must be held, or nobody know p yet.
func (p *proxy) flow() {
	for i := range p.held {
		p.held[i] = make(chan struct{})
		close(p.held[i])
	}
}

// set changes what is wrong with the network. What was held goes on, unless the
// connections are reset.
func (p *proxy) set(c cut) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if c == reset {
		for conn := range p.conns {
			_ = conn.SetLinger(0)
			_ = conn.Close()
		}
	}
	for _, direction := range stalled[p.cut] {
		close(p.held[direction])
	}
	for _, direction := range stalled[c] {
		p.held[direction] = make(chan struct{})
	}
	p.cut = c
}

func (p *proxy) await(direction int) {
	p.mutex.Lock()
	flows := p.held[direction]
	p.mutex.Unlock()
	<-flows
}

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		go p.serve(conn.(*net.TCPConn))
	}
}

func (p *proxy) serve(client *net.TCPConn) {
	if !p.add(client) {
		return
	}
	defer p.remove(client)
	p.await(asks)
	conn, err := net.Dial("tcp", p.target) //nolint:noctx // ends with the client
	if err != nil {
		_ = client.SetLinger(0)
		return
	}
	server := conn.(*net.TCPConn)
	if !p.add(server) {
		return
	}
	defer p.remove(server)
	go p.copy(server, client, asks)
	p.copy(client, server, answers)
}

func (p *proxy) copy(to, from *net.TCPConn, direction int) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.await(direction)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
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
func (p *proxy) add(conn *net.TCPConn) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.cut == reset {
		_ = conn.SetLinger(0)
		_ = conn.Close()
		return false
	}
	p.conns[conn] = true
	return true
}

func (p *proxy) remove(conn *net.TCPConn) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_ = conn.Close()
	delete(p.conns, conn)
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.set(reset)
}
