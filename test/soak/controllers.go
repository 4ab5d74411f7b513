package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// controller is one of those that run at a time, each with a network of its own.
type controller struct {
	name   string
	steady bool // never killed
	proxy  *proxy
	config string // its kubeconfig

	network sync.Mutex // held by whoever cuts it

	mutex   sync.Mutex
	process *os.Process // nil while there is none
	began   moment
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

// keepRunning runs a controller, and kills it every now and then unless it is steady
// or calm has come. It returns when ctx is done and nothing runs.
func (s *soak) keepRunning(ctx context.Context, c *controller) error {
	log, err := os.Create(filepath.Join(s.dir, c.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	for ctx.Err() == nil {
		elect := !c.steady && rand.N(2) == 0
		// #nosec G204 -- what is tested
		cmd := exec.CommandContext(ctx, s.program, "--kubeconfig", c.config, "--namespaces="+namespace, fmt.Sprint("--leader-elect=", elect),
			"--leader-election-namespace=gatehouse-system", "--metrics-bind-address=0", "--health-probe-bind-address=0")
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			return err
		}
		c.set(cmd.Process, s.clock.now())
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		s.awaitEnd(ctx, c, ended)
		_ = cmd.Process.Kill()
		<-ended
		c.set(nil, 0)
		pause(ctx, rand.N(3*time.Second))
	}
	return nil
}

// awaitEnd waits until a controller ends by itself, is to be killed, or ctx is done.
func (s *soak) awaitEnd(ctx context.Context, c *controller, ended <-chan struct{}) {
	killed := s.killTime(c)
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

// killTime is when to kill a controller: often at once, sometimes only when it got far.
func (s *soak) killTime(c *controller) <-chan time.Time {
	switch {
	case c.steady:
		return nil
	case rand.N(3) > 0:
		return time.After(200*time.Millisecond + rand.N(5*time.Second))
	default:
		return time.After(10*time.Second + rand.N(time.Minute))
	}
}

func (c *controller) set(process *os.Process, began moment) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.process, c.began = process, began
}

// memory is what the process holds in MiB, and since when it runs; zero where there is
// none.
func (c *controller) memory() (float64, moment) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.process == nil {
		return 0, 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.Pid)) // #nosec G304 -- a number
	if err != nil {
		return 0, 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		return 0, 0
	}
	return kib / 1024, c.began
}
