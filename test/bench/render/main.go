//go:build linux

// Command render prints what rendering costs beside `kustomize build` of the same
// inputs, one after the other: wall time and peak memory of each process, and how
// time grows with the number of CRs. It is run at the root of this repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"golang.org/x/term"
)

func main() {
	b := &bench{}
	flag.StringVar(&b.render, "render", "bin/render", "the render program")
	flag.StringVar(&b.kustomize, "kustomize", "bin/kustomize", "the kustomize program")
	flag.DurationVar(&b.limit, "limit", time.Minute, "how long a process may run before it is killed")
	only := flag.String("only", "", "a regular expression: run only the rows whose names match, "+fitName+" among them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := b.run(ctx, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// bench is what is compared, and how long each process may run.
type bench struct {
	render, kustomize string
	limit             time.Duration
	dir               string // of inputs
}

// run prints the machine, the table of inputs and the fit, as Markdown.
func (b *bench) run(ctx context.Context, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("parse -only: %w", err)
	}
	var selected []input
	for _, in := range inputs {
		if pattern.MatchString(in.name) {
			selected = append(selected, in)
		}
	}
	fit := pattern.MatchString(fitName)
	if len(selected) == 0 && !fit {
		return fmt.Errorf("no row matches -only %s", only)
	}
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return fmt.Errorf("create a folder for inputs: %w", err)
	}
	defer os.RemoveAll(b.dir)
	machine, err := b.describeMachine(ctx)
	if err != nil {
		return err
	}
	fmt.Println(machine)
	if len(selected) > 0 {
		if err := b.compare(ctx, selected); err != nil {
			return err
		}
	}
	if fit {
		return b.printFit(ctx)
	}
	return nil
}

// compare prints a table with a row for each input.
func (b *bench) compare(ctx context.Context, inputs []input) error {
	t := newCostTable(inputs)
	t.printHeader()
	for _, in := range inputs {
		showProgress(in.name)
		c, err := b.measureInput(ctx, in)
		hideProgress()
		if err != nil {
			return fmt.Errorf("measure %s: %w", in.name, err)
		}
		t.printRow(costRow(in.name, c)...)
	}
	return nil
}

// inFolder writes an input to a folder of its own. All of them are removed when the
// benchmark ends, and not before: for half a minute after many files were removed,
// ext4 is slow to make others.
func (b *bench) inFolder(write func(root string) error, measure func(root string) error) error {
	root, err := os.MkdirTemp(b.dir, "")
	if err != nil {
		return fmt.Errorf("create a folder for the input: %w", err)
	}
	if err := write(root); err != nil {
		return fmt.Errorf("write the input: %w", err)
	}
	return measure(root)
}

// prod is the environment that every input has.
func prod(root string) string { return filepath.Join(root, "environments", "prod") }

// clearLine moves to the start of the line and clears it.
const clearLine = "\r\x1b[K"

// showProgress tells whoever looks at a terminal what is being measured.
func showProgress(name string) {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		fmt.Fprint(os.Stderr, clearLine+name)
	}
}

func hideProgress() { showProgress("") }
