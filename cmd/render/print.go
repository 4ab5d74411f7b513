package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fatih/color"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// printReport prints what was done to out: the diff of a check, or a summary; and
// errors to errOut.
func printReport(out, errOut io.Writer, r report, check bool) error {
	w := bufio.NewWriter(out)
	if r.failed() {
		printErrors(errOut, r)
		return nil
	}
	for _, e := range r.Environments {
		if check {
			printDiff(w, e.Diff, isTerminal(out))
			continue
		}
		fmt.Fprintf(w, "%s: %s, %d written, %d pruned, %d unchanged\n", e.Name, count(e.Objects, "object"), len(e.Written), len(e.Pruned), len(e.Unchanged))
	}
	return w.Flush()
}

func printErrors(w io.Writer, r report) {
	total := 0
	for _, e := range r.Environments {
		for _, problem := range e.Errors {
			fmt.Fprintln(w, problem)
		}
		total += len(e.Errors)
	}
	fmt.Fprintf(w, "error: %s, nothing was written\n", count(total, "problem"))
}

// printDiff prints a unified diff, in colours on a terminal, unless NO_COLOR is
// set.
func printDiff(w io.Writer, diff string, terminal bool) {
	if !terminal || color.NoColor {
		fmt.Fprint(w, diff)
		return
	}
	added, removed, header := color.New(color.FgGreen), color.New(color.FgRed), color.New(color.Bold)
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			_, _ = header.Fprint(w, line)
		case strings.HasPrefix(line, "+"):
			_, _ = added.Fprint(w, line)
		case strings.HasPrefix(line, "-"):
			_, _ = removed.Fprint(w, line)
		default:
			fmt.Fprint(w, line)
		}
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// moment is how long work may take before its progress shows.
const moment = 500 * time.Millisecond

// progress shows what is being done, on a terminal, once it takes longer than a
// moment.
type progress struct {
	mu      sync.Mutex
	bar     *progressbar.ProgressBar
	doing   string
	timer   *time.Timer
	stopped bool
}

func newProgress(w io.Writer) *progress {
	p := &progress{}
	if isTerminal(w) {
		p.timer = time.AfterFunc(moment, func() { p.show(w) })
	}
	return p
}

func (p *progress) show(w io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.bar = progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(p.doing),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionClearOnFinish(),
	)
}

// step notes what is being done.
func (p *progress) step(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = doing
	if p.bar != nil {
		p.bar.Describe(p.doing)
	}
}

// stop takes the progress from the screen.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}
