package command

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/watchdog"
)

// exit ends the process with nothing of it left behind.
func exit(code int) {
	watchdog.CleanUp()
	os.Exit(code)
}

// ending is how the process ends before its command is done: by the watchdog, or by a signal.
var ending end

type end struct {
	signals chan os.Signal
	mu      sync.Mutex
	show    func(manifest.Problem)
	bar     *progress // nil while none shows
}

// start arms the watchdog, and ends the process on a signal. A command that writes leaves signals to its interruption.
func (e *end) start(errOut *inert) {
	e.show = func(p manifest.Problem) { fmt.Fprintln(errOut, p) }
	watchdog.Start(func(p manifest.Problem) {
		e.mu.Lock()
		if e.bar != nil {
			e.bar.stop()
		}
		e.show(p)
		os.Exit(exitError)
	})
	e.signals = make(chan os.Signal, 1)
	signal.Notify(e.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		received := <-e.signals
		if number, is := received.(syscall.Signal); is {
			exit(128 + int(number)) // as in shells
		}
		exit(exitError)
	}()
}

// leaveSignals leaves signals to somebody else.
func (e *end) leaveSignals() {
	if e.signals != nil {
		signal.Stop(e.signals)
	}
}

func (e *end) stops(p *progress) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bar = p
}

// report shows the problem of the watchdog in another way than on stderr.
func (e *end) report(show func(manifest.Problem)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.show = show
}
