// Command soak has Ats due all the time on the cluster that KUBECONFIG names, makes
// trouble all the while, and counts the starts of every command: controllers are killed,
// stopped and cut off from the API server, Pods evicted, deleted and created without their
// gate, Ats edited, reverted, suspended and removed in a git repository that is rendered,
// published and synced. In
// the end it compares with what should have been, and fails if a command started twice,
// too early, against what git says, or not at all, if a status says otherwise than what
// happened, or if a Pod came without its gate.
//
// Two commands, those of the end-to-end tests, have it do more:
//
//   - E2E_FLUX is given the folder of a checkout after each commit, and has Flux see it
//     as GitRepository flux-system/repo. Without it the soak applies by itself.
//   - E2E_RESTART_APISERVER restarts the API server.
//
// The controllers run on this machine, whose address the Pods must reach.
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

// options are what the user of a soak chooses.
type options struct {
	duration        time.Duration
	rate            float64
	step            bool
	program, render string
	flux, restart   string
}

func main() {
	o := options{flux: os.Getenv("E2E_FLUX"), restart: os.Getenv("E2E_RESTART_APISERVER")}
	flag.DurationVar(&o.duration, "for", 10*time.Minute, "for how long there is trouble; what was begun then takes a few minutes to end")
	flag.Float64Var(&o.rate, "rate", 1, "how many Ats are made a second")
	flag.BoolVar(&o.step, "step-clock", false, "set the wall clock of this machine by up to 8 s, forward and back, which takes the right to")
	flag.StringVar(&o.program, "controller", "bin/controller", "the controller")
	flag.StringVar(&o.render, "render", "bin/render", "the program render")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run runs a soak and prints what came of it. It leaves nothing behind, also when it is
// interrupted, but for the logs where something was wrong.
func run(ctx context.Context, o options) (err error) {
	for _, program := range []*string{&o.program, &o.render} {
		if *program, err = filepath.Abs(*program); err != nil {
			return err
		}
	}
	if o.step {
		if err := setTime(time.Now()); err != nil {
			return fmt.Errorf("set the clock, as -step-clock asks for: %w", err)
		}
	}
	s := &soak{options: o, clock: newClock(setTime)}
	if s.dir, err = os.MkdirTemp("", "soak-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cleanUp(err != nil && ctx.Err() == nil)) }()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	err = s.run(ctx)
	s.printed.end()
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: nothing was judged")
	case err != nil:
		return err
	}
	r := judgeAll(s.trials, s.counter.of, s.clock.history(), s.clock.now())
	s.print(os.Stdout, r)
	if r.failed() || s.counts.all()[letIn] > 0 {
		return errors.New("not everything ran as it should have")
	}
	return nil
}

// cleanUp takes away what the soak made. The controllers have ended before.
func (s *soak) cleanUp(failed bool) error {
	errs := []error{s.clock.setAhead(0)}
	if s.delivery != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		errs = append(errs, s.delivery.remove(ctx))
	}
	for _, c := range s.controllers {
		c.network.Close()
	}
	if s.counter != nil {
		errs = append(errs, s.counter.server.Close())
	}
	if failed {
		fmt.Fprintln(os.Stderr, "the logs of the controllers and the repository are in", s.dir)
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
