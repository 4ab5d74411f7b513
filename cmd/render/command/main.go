// Package command is the command render, for any list of kinds.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// Main runs the command line of the process for kinds, and exits.
func Main(kinds ...kind.Kind) {
	tuneCollector()
	os.Exit(run(kinds))
}

// tuneCollector makes the garbage collector run a third as often, up to a limit of memory: a run is short,
// and most of its memory is in use to the end.
func tuneCollector() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(300)
		debug.SetMemoryLimit(1 << 30)
	}
}

func run(all []kind.Kind) int {
	ctx := withKinds(context.Background(), all)
	// No signal is caught: the next run completes one that was killed.
	err := newCommand(&registry.Kinds{All: all}, os.Args[1:]).ExecuteContext(ctx)
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		if _, wrong := kindsOf(ctx); wrong != nil { // the cause of a wrong command line, as flags come from kinds
			err = wrong
		}
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitError
	}
	return 0
}

type kindsKey struct{}

// withKinds returns a context with kinds. The first command that uses them checks them: help, version and
// completion do not wait for that.
func withKinds(ctx context.Context, all []kind.Kind) context.Context {
	check := func() (*registry.Kinds, error) { return registry.New(all...) }
	return context.WithValue(ctx, kindsKey{}, sync.OnceValues(check))
}

// kindsOf returns the kinds in a context, or an error with all that is wrong with them.
func kindsOf(ctx context.Context) (*registry.Kinds, error) {
	return ctx.Value(kindsKey{}).(func() (*registry.Kinds, error))()
}
