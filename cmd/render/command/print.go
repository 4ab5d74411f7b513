package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fatih/color"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// printReport prints the diff of a check, or a summary, to out, and problems to errOut.
func printReport(out, errOut io.Writer, r report) error {
	printProblems(errOut, r.problems())
	if totals := r.totals(); totals != "" {
		fmt.Fprintln(errOut, strings.Replace(totals, "error:", paint(errOut, "error:", color.FgRed), 1))
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

// printSummary prints the number of changed files, unless there are errors.
func printSummary(w io.Writer, r report) {
	if len(r.errors) > 0 {
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

// paint returns a word in a color if w is a terminal.
func paint(w io.Writer, word string, attribute color.Attribute) string {
	if !isColored(w) {
		return word
	}
	painted := color.New(attribute)
	painted.EnableColor() // the package asks about stdout
	return painted.Sprint(word)
}

// printProblems prints problems; on a terminal, the word warning is yellow.
func printProblems(w io.Writer, problems []manifest.Problem) {
	warning := paint(w, "warning:", color.FgYellow)
	for _, p := range problems {
		line := p.String()
		if p.Warning {
			line = strings.Replace(line, "warning:", warning, 1)
		}
		fmt.Fprintln(w, line)
	}
}

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

// problemsError prints problems, and returns the count of the errors among them as an error, if there are any.
func problemsError(cmd *cobra.Command, problems []manifest.Problem, consequence string) error {
	printProblems(cmd.ErrOrStderr(), problems)
	if found, _ := manifest.SplitProblems(problems); len(found) > 0 {
		return errors.New(count(len(found), "problem") + consequence)
	}
	return nil
}

func count(n int, noun string) string { return string(kind.Count(int64(n), noun)) }

// isColored reports whether w is a terminal that may show colors.
func isColored(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// progress shows the current step on a terminal.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(w io.Writer, doing string) *progress {
	return &progress{progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetVisibility(isTerminal(w)),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(true), // show the first step at once
	)}
}

func (p *progress) step(doing string) { p.bar.Describe(doing) }

// pause hides the progress while show prints something else.
func (p *progress) pause(show func()) {
	_ = p.bar.Clear()
	show()
	_ = p.bar.RenderBlank()
}

func (p *progress) stop() { _ = p.bar.Finish() }
