package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"example.com/gatehouse/test/cluster"
	"example.com/gatehouse/test/network"
)

// controller is one of several that run at a time. Each has a network of its own.
type controller struct {
	kubeconfig string
	log        *os.File
	network    *network.Network
	cutting    sync.Mutex  // held while the network is cut
	elected    atomic.Bool // a controller that loses its Lease ends

	mutex   sync.Mutex
	process *os.Process // nil while none runs
}

func (s *soak) newController(ctx context.Context, name string) (c *controller, err error) {
	c = &controller{kubeconfig: filepath.Join(s.dir, name+".kubeconfig")}
	if err := s.ControllerKubeconfig(ctx, c.kubeconfig, s.duration+time.Hour); err != nil {
		return nil, err
	}
	if c.network, err = cluster.Reroute(ctx, c.kubeconfig); err != nil {
		return nil, err
	}
	c.log, err = os.Create(filepath.Join(s.dir, name+".log")) // #nosec G304 -- in a temporary folder
	return c, err
}

// Write logs the output of the controller, and notes its election.
func (c *controller) Write(lines []byte) (int, error) {
	if bytes.Contains(lines, []byte("successfully acquired lease")) {
		c.elected.Store(true)
	}
	return c.log.Write(lines)
}

func (c *controller) close() error {
	c.network.Close()
	return c.log.Close()
}

// keepRunning runs a controller until ctx is done. It kills it every now and then, until the soak
// calms down. Three times out of four the controller takes part in the election; otherwise it works
// beside the elected one.
func (s *soak) keepRunning(ctx context.Context, c *controller) error {
	for ctx.Err() == nil {
		// #nosec G204 -- the program under test
		cmd := exec.CommandContext(ctx, s.program, "--kubeconfig", c.kubeconfig, "--namespaces="+namespace,
			fmt.Sprint("--leader-elect=", rand.N(4) > 0),
			"--leader-election-namespace=gatehouse-system", "--metrics-bind-address=0", "--health-probe-bind-address=0")
		cmd.Stdout, cmd.Stderr = c, c
		if err := cmd.Start(); err != nil {
			return err
		}
		c.setProcess(cmd.Process)
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		s.awaitEnd(ctx, ended)
		_ = cmd.Process.Kill()
		<-ended
		c.setProcess(nil)
		pause(ctx, rand.N(3*time.Second))
	}
	return nil
}

// awaitEnd waits until a controller ends by itself or is to be killed, or ctx is done.
func (s *soak) awaitEnd(ctx context.Context, ended <-chan struct{}) {
	killed := killTime()
	for {
		select {
		case <-ended:
			s.count("controllers ended by themselves")
			return
		case <-ctx.Done():
			return
		case <-killed:
		}
		if !s.calm.Load() {
			s.count("controllers killed")
			return
		}
		killed = nil
	}
}

// killTime returns the time at which to kill a controller: half of the time, before it did much.
func killTime() <-chan time.Time {
	if rand.N(2) == 0 {
		return time.After(200*time.Millisecond + rand.N(5*time.Second))
	}
	return time.After(10*time.Second + rand.N(time.Minute))
}

// leader returns the elected controller, or any controller if none is elected.
func (s *soak) leader() *controller {
	for _, c := range s.controllers {
		if c.elected.Load() {
			return c
		}
	}
	return s.controllers[rand.N(len(s.controllers))]
}

func (c *controller) setProcess(process *os.Process) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.process = process
	c.elected.Store(false)
}

// stop stops the process. It returns a function that lets the process go on, or nil if none runs.
func (c *controller) stop() (goOn func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	process := c.process
	if process == nil || stopProcess(process) != nil {
		return nil
	}
	return func() { _ = continueProcess(process) }
}
