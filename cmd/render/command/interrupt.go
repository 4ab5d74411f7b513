package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render"
)

// interruption ends a run that writes when a signal arrives: at once until the run writes, and then by its context.
// The run then removes its staged files, or completes its changes if these have begun.
type interruption struct {
	progress  *progress
	signals   chan os.Signal
	cancel    context.CancelFunc
	mu        sync.Mutex
	isWriting bool
	received  os.Signal
}

// interruptible returns the context of a run that writes.
func interruptible(cmd *cobra.Command, p *progress) (context.Context, *interruption) {
	ctx, cancel := context.WithCancel(cmd.Context())
	i := &interruption{progress: p, signals: make(chan os.Signal, 1), cancel: cancel}
	ending.leaveSignals()
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		received, ok := <-i.signals
		if !ok {
			return
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		i.received = received
		if !i.isWriting {
			p.stop()
			exit(int(i.report(cmd)))
		}
		signal.Stop(i.signals) // the next one ends the program
		cancel()
	}()
	return ctx, i
}

// stage stages an update. From now on a signal does not end the program.
func (i *interruption) stage(ctx context.Context, cmd *cobra.Command, update *render.Update) error {
	i.mu.Lock()
	i.isWriting = true
	i.mu.Unlock()
	err := update.Stage(ctx)
	if ctx.Err() != nil {
		i.progress.stop()
		return i.report(cmd)
	}
	return err
}

// end stops waiting for a signal.
func (i *interruption) end() {
	signal.Stop(i.signals)
	close(i.signals)
	i.cancel()
}

// report tells that nothing was changed, and returns the exit code of shells.
func (i *interruption) report(cmd *cobra.Command) exitCode {
	fmt.Fprintln(cmd.ErrOrStderr(), "interrupted: nothing was changed")
	if number, is := i.received.(syscall.Signal); is {
		return exitCode(128 + int(number))
	}
	return exitError
}
