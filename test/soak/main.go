// Command soak disturbs the cluster of KUBECONFIG while Ats are due all the time, and counts the
// starts of every command. It kills, stops and cuts off controllers; evicts and deletes Pods;
// creates Pods without their gate; and edits, reverts, suspends and removes Ats in a git repository
// that it renders, publishes and syncs. At the end it compares the starts with the expected starts.
// It fails if a command started twice, too early, against git, or not at all; if a status
// contradicts the starts; or if a Pod was admitted without its gate.
//
// Two variables of the environment, shared with the end-to-end tests, make it do more:
//
//   - E2E_FLUX is a command that gets the folder of a checkout after each commit, and shows
//     it to Flux as GitRepository flux-system/repo. Without it, `render apply` applies each
//     commit.
//   - E2E_RESTART_APISERVER is a command that restarts the API server.
//
// The controllers run on this machine. The Pods must reach its address.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// options are the flags of a soak.
type options struct {
	duration        time.Duration
	rate            float64
	stepClock       bool
	hangWebhook     bool
	program, render string
	flux, restart   string
}

func main() {
	o := options{flux: os.Getenv("E2E_FLUX"), restart: os.Getenv("E2E_RESTART_APISERVER")}
	flag.DurationVar(&o.duration, "for", 10*time.Minute,
		"how long to disturb the cluster; the last Ats end a few minutes later")
	flag.Float64Var(&o.rate, "rate", 1, "the number of Ats to create per second")
	flag.BoolVar(&o.stepClock, "step-clock", false,
		"set the wall clock of this machine by up to 8 s, forward and back; needs the right to do so")
	flag.BoolVar(&o.hangWebhook, "hang-webhook", false,
		"let a webhook hold up updates of Pods for up to 25 s; the API server must run on this machine")
	flag.StringVar(&o.program, "controller", "bin/controller", "the controller")
	flag.StringVar(&o.render, "render", "bin/render", "the program render")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := soakCluster(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// soakCluster runs a soak and prints the result. It leaves nothing behind, even if it is
// interrupted, except the logs if something is wrong.
func soakCluster(ctx context.Context, o options) (err error) {
	for _, program := range []*string{&o.program, &o.render} {
		if *program, err = filepath.Abs(*program); err != nil {
			return err
		}
	}
	if o.stepClock {
		if err := setTime(time.Now()); err != nil {
			return fmt.Errorf("set the clock for -step-clock: %w", err)
		}
	}
	s := &soak{options: o, clock: newClock()}
	if s.dir, err = os.MkdirTemp("", "soak-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cleanUp(err != nil && ctx.Err() == nil)) }()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	err = s.run(ctx)
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: nothing was judged")
	case err != nil:
		return err
	}
	r := s.judgeAll()
	s.print(os.Stdout, r)
	if len(r.wrong) > 0 {
		return errors.New("not everything ran as it should have")
	}
	return nil
}

// cleanUp removes everything that the soak created, after the controllers ended.
func (s *soak) cleanUp(keepFiles bool) error {
	errs := []error{s.clock.setAhead(0)}
	if s.webhook != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		errs = append(errs, s.removeWebhook(ctx))
	}
	if s.delivery != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		errs = append(errs, s.delivery.remove(ctx))
	}
	for _, c := range s.controllers {
		errs = append(errs, c.close())
	}
	if s.counter != nil {
		errs = append(errs, s.counter.server.Close())
	}
	if keepFiles {
		fmt.Fprintln(os.Stderr, "the logs of the controllers and the repository are in", s.dir)
	} else {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
