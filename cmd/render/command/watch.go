package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"example.com/gatehouse/render/watch"
)

// watchEnvironments renders, and renders again on each change of what was rendered, until
// a signal ends it.
func watchEnvironments(cmd *cobra.Command, f flags) error {
	if err := checkWatch(f); err != nil {
		return err
	}
	repository, err := openRepository(cmd.Context(), f.root)
	if err != nil {
		return err
	}
	dir := repository.Dir()
	repository.Close()

	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	w := &watching{cmd: cmd, flags: f, dir: dir, display: newDisplay(cmd.OutOrStdout(), cmd.ErrOrStderr())}
	if err := w.run(ctx); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// checkWatch is the error of flags that --watch makes no sense with.
func checkWatch(f flags) error {
	switch {
	case f.check:
		return errors.New("--watch keeps rendered/ up to date, so that there is nothing to check: leave out --check, and see what changes with git diff")
	case f.output == "github":
		return errors.New("--output github is for a workflow, which ends: leave out --watch")
	}
	return nil
}

// untilSignal returns a context that ends with the first signal to end. The cause is the
// exit code that shells give to it. The second ends the program at once.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			number, _ := s.(syscall.Signal)
			cancel(exitCode(128 + int(number)))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

// watching renders environments again and again.
type watching struct {
	cmd     *cobra.Command
	flags   flags
	dir     string
	display *display
	runs    int
	failed  bool // the last run
}

func (w *watching) run(ctx context.Context) error {
	for {
		watcher, err := watch.New(w.dir)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s was moved or removed: run render again where it is now", w.dir)
		}
		if err != nil {
			return err
		}
		err = w.renderOnce(ctx, watcher)
		if err == nil {
			err = watcher.Wait(ctx)
		}
		watcher.Close()
		if err != nil {
			return err
		}
	}
}

// renderOnce renders and shows what comes of it. An error is one of which there is no end
// but that of the program: one of a later run may be mended.
func (w *watching) renderOnce(ctx context.Context, watcher *watch.Watcher) error {
	p := newProgress(w.cmd.ErrOrStderr(), "rendering")
	defer p.stop()
	run, out, errOut := w.newRun(ctx)
	watcher.Look("environments")
	repository, err := openRepository(ctx, w.dir)
	if err == nil {
		defer repository.Close()
		repository.Look = watcher.Look
		err = renderOnce(run, repository, w.flags, p)
	}
	p.stop()
	var code exitCode
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.As(err, &code) && w.runs == 0:
		return err
	case err != nil && !errors.As(err, &code):
		fmt.Fprintln(errOut, "error:", err)
	}
	return w.display.show(errOut, out, w.state(err != nil))
}

// newRun is the command of one run, of which the output is shown as a whole.
func (w *watching) newRun(ctx context.Context) (run *cobra.Command, out, errOut *page) {
	out, errOut = &page{isTerminal: isTerminal(w.cmd.OutOrStdout())}, &page{isTerminal: isTerminal(w.cmd.ErrOrStderr())}
	run = &cobra.Command{}
	run.SetContext(ctx)
	run.SetOut(out)
	run.SetErr(errOut)
	return run, out, errOut
}

// state says what a run came to, and when that was.
func (w *watching) state(failed bool) string {
	state := "up to date; waiting for changes, Ctrl-C ends"
	switch {
	case failed:
		state = "not up to date; waiting until that is mended, Ctrl-C ends"
	case w.failed:
		state = "all is well again, up to date; waiting for changes, Ctrl-C ends"
	}
	w.failed = failed
	w.runs++
	return time.Now().Format(time.TimeOnly) + " " + state + "\n"
}

// page is what a run prints.
type page struct {
	bytes.Buffer
	isTerminal bool // where it will be shown
}

// display shows pages: on a terminal each in the place of the last, anywhere else one after
// the other.
type display struct {
	out, errOut io.Writer
	screen      *os.File // nil where there is none that takes both
	isUsed      bool
}

func newDisplay(out, errOut io.Writer) *display {
	d := &display{out: out, errOut: errOut}
	file, _ := out.(*os.File)
	if isTerminal(out) && isTerminal(errOut) && os.Getenv("TERM") != "dumb" && runtime.GOOS != "windows" {
		d.screen = file
	}
	return d
}

// show shows what a run came to: problems, the report and the state. What a terminal showed
// before the first can be scrolled back to. Each is written at once and over the last, so
// that nothing flickers.
func (d *display) show(errOut, out *page, state string) error {
	var err error
	if d.screen == nil {
		for _, part := range []struct {
			to      io.Writer
			content string
		}{{d.errOut, errOut.String()}, {d.out, out.String()}, {d.errOut, state}} {
			if err == nil {
				_, err = io.WriteString(part.to, part.content)
			}
		}
	} else {
		_, err = io.WriteString(d.screen, d.paint(errOut.String()+out.String()+state))
	}
	if err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// paint is what has a terminal show a page and nothing else.
func (d *display) paint(page string) string {
	const home, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	var b strings.Builder
	if !d.isUsed {
		_, height, _ := term.GetSize(int(d.screen.Fd()))
		b.WriteString(strings.Repeat("\n", height))
		d.isUsed = true
	}
	b.WriteString(home)
	for line := range strings.Lines(page) {
		b.WriteString(strings.TrimSuffix(line, "\n") + clearLine + "\n")
	}
	b.WriteString(clearBelow)
	return b.String()
}
