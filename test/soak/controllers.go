package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"example.com/gatehouse/test/cluster"
	"example.com/gatehouse/test/network"
)

// controller is one of those that run at a time, each with a network of its own.
type controller struct {
	name    string
	config  string // its kubeconfig
	network *network.Network

	cutting sync.Mutex // held by whoever cuts the network

	mutex   sync.Mutex
	process *os.Process // nil while there is none
	began   int64       // where what it says begins in the log
}

// newController prepares a controller.
func (s *soak) newController(ctx context.Context, name string) (*controller, error) {
	c := &controller{name: name, config: filepath.Join(s.dir, name+".kubeconfig")}
	if err := s.ControllerKubeconfig(ctx, c.config); err != nil {
		return nil, err
	}
	var err error
	if c.network, err = cluster.Reroute(ctx, c.config); err != nil {
		return nil, err
	}
	config, err := clientcmd.LoadFromFile(c.config)
	if err != nil {
		return nil, err
	}
	for _, user := range config.AuthInfos {
		user.TokenFile, user.Token = s.tokenFile(), ""
	}
	return c, clientcmd.WriteToFile(*config, c.config)
}

func (s *soak) tokenFile() string { return filepath.Join(s.dir, "token") }

// refreshToken has all controllers find a token that is good for another hour.
func (s *soak) refreshToken(ctx context.Context) error {
	file := filepath.Join(s.dir, "kubeconfig")
	if err := s.ControllerKubeconfig(ctx, file); err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return err
	}
	next := s.tokenFile() + ".next"
	for _, user := range config.AuthInfos {
		if err := os.WriteFile(next, []byte(user.Token), 0o600); err != nil {
			return err
		}
	}
	return os.Rename(next, s.tokenFile())
}

// keepToken refreshes the token long before it ends.
func (s *soak) keepToken(ctx context.Context) {
	for pause(ctx, 10*time.Minute) {
		for s.refreshToken(ctx) != nil {
			if !pause(ctx, time.Second) {
				return
			}
		}
	}
}

// keepRunning runs a controller, and kills it every now and then unless calm has come. Most
// of the time it is elected or stands by, and else it waits for no other. It returns when
// ctx is done and nothing runs.
func (s *soak) keepRunning(ctx context.Context, c *controller) error {
	log, err := os.Create(s.logOf(c))
	if err != nil {
		return err
	}
	defer log.Close()
	for ctx.Err() == nil {
		// #nosec G204 -- what is tested
		cmd := exec.CommandContext(ctx, s.program, "--kubeconfig", c.config, "--namespaces="+namespace, fmt.Sprint("--leader-elect=", rand.N(4) > 0),
			"--leader-election-namespace=gatehouse-system", "--metrics-bind-address=0", "--health-probe-bind-address=0")
		cmd.Stdout, cmd.Stderr = log, log
		began, err := log.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		c.set(cmd.Process, began)
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		s.awaitEnd(ctx, ended)
		_ = cmd.Process.Kill()
		<-ended
		c.set(nil, 0)
		pause(ctx, rand.N(3*time.Second))
	}
	return nil
}

func (s *soak) logOf(c *controller) string { return filepath.Join(s.dir, c.name+".log") }

// leader returns the controller that is elected; another one if there is none.
func (s *soak) leader() *controller {
	for _, c := range s.controllers {
		log, err := os.ReadFile(s.logOf(c))
		c.mutex.Lock()
		began := c.began
		c.mutex.Unlock()
		// One that loses its Lease ends.
		if err == nil && int64(len(log)) > began && bytes.Contains(log[began:], []byte("successfully acquired lease")) {
			return c
		}
	}
	return s.controllers[rand.N(len(s.controllers))]
}

// awaitEnd waits until a controller ends by itself, is to be killed, or ctx is done.
func (s *soak) awaitEnd(ctx context.Context, ended <-chan struct{}) {
	killed := s.killTime()
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

// killTime is when to kill a controller: often soon, sometimes only when it got far.
func (s *soak) killTime() <-chan time.Time {
	if rand.N(2) == 0 {
		return time.After(200*time.Millisecond + rand.N(5*time.Second))
	}
	return time.After(10*time.Second + rand.N(time.Minute))
}

func (c *controller) set(process *os.Process, began int64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.process, c.began = process, began
}

// stop stops the process, and returns what has it go on; nil if none runs.
func (c *controller) stop() (goOn func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	process := c.process
	if process == nil || stopProcess(process) != nil {
		return nil
	}
	return func() { _ = continueProcess(process) }
}
