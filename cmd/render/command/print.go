package command

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

	"example.com/gatehouse/render/object"
)

// printReport prints what was done to out: the diff of a check, or a summary; and
// warnings and errors to errOut.
func printReport(out, errOut io.Writer, r report) error {
	printProblems(errOut, r.toRead())
	if totals := r.totals(); totals != "" {
		fmt.Fprintln(errOut, totals)
	}
	w := bufio.NewWriter(out)
	if r.check {
		for _, e := range r.Environments {
			printDiff(w, e.Diff, isColored(out))
		}
	} else {
		printSummary(w, r)
	}
	return w.Flush()
}

// printSummary prints what was done, unless that is nothing, as there are errors.
func printSummary(w io.Writer, r report) {
	if r.failed() {
		return
	}
	for _, e := range r.Environments {
		fmt.Fprintf(w, "%s: %s, %d written, %d pruned, %d unchanged", e.Name, count(e.Objects, "object"), len(e.Written), len(e.Pruned), len(e.Unchanged))
		if len(e.Warnings) > 0 {
			fmt.Fprintf(w, ", %s", count(len(e.Warnings), "warning"))
		}
		fmt.Fprintln(w)
	}
}

// printProblems prints problems, on a terminal with the word warning in yellow.
func printProblems(w io.Writer, problems []object.Problem) {
	warning := "warning:"
	if isColored(w) {
		yellow := color.New(color.FgYellow)
		yellow.EnableColor() // the package asks about stdout
		warning = yellow.Sprint(warning)
	}
	for _, p := range problems {
		line := p.String()
		if p.Warning {
			line = strings.Replace(line, "warning:", warning, 1)
		}
		fmt.Fprintln(w, line)
	}
}

// printDiff prints a unified diff.
func printDiff(w io.Writer, diff string, colored bool) {
	if !colored {
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

// isColored says whether what is printed has colours: on a terminal, unless NO_COLOR is
// set.
func isColored(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	switch w := w.(type) {
	case *page:
		return w.isTerminal
	case *os.File:
		return term.IsTerminal(int(w.Fd()))
	}
	return false
}

// moment is how long work may take before its progress shows.
const moment = 100 * time.Millisecond

// progress shows what is being done, on a terminal, once it takes longer than a
// moment.
type progress struct {
	mu      sync.Mutex
	bar     *progressbar.ProgressBar
	doing   string
	timer   *time.Timer
	stopped bool
}

func newProgress(w io.Writer, doing string) *progress {
	p := &progress{doing: doing}
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
		progressbar.OptionSetRenderBlankState(true), // else it shows with the next step
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

// pause takes the progress from the screen while something else is printed.
func (p *progress) pause(show func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	show()
	if p.bar != nil {
		_ = p.bar.RenderBlank()
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
