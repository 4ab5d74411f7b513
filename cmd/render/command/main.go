// Package command is the command render, for the kinds that it is given.
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

// Main runs the command line of the process for kinds, and ends it.
func Main(kinds ...kind.Kind) {
	tuneCollector()
	os.Exit(run(kinds))
}

// tuneCollector has the garbage collector run a third as often as usual, as long as
// there is memory: a run is short, and most of what it makes stays to its end.
func tuneCollector() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(300)
		debug.SetMemoryLimit(1 << 30)
	}
}

func run(all []kind.Kind) int {
	ctx := withKinds(context.Background(), all)
	// No signal is caught: a run that is killed leaves what the next completes.
	err := newCommand(&registry.Kinds{All: all}, os.Args[1:]).ExecuteContext(ctx)
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		if _, wrong := kindsOf(ctx); wrong != nil { // and so are the flags that come of it
			err = wrong
		}
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitError
	}
	return 0
}

type kindsKey struct{}

// withKinds is a context of commands that know kinds. These are checked once, and by the
// first command that works with them: help, version and completion are not to wait for that.
func withKinds(ctx context.Context, all []kind.Kind) context.Context {
	check := func() (*registry.Kinds, error) { return registry.New(all...) }
	return context.WithValue(ctx, kindsKey{}, sync.OnceValues(check))
}

// kindsOf are the kinds that a command knows. The error has all that is wrong with them.
func kindsOf(ctx context.Context) (*registry.Kinds, error) {
	return ctx.Value(kindsKey{}).(func() (*registry.Kinds, error))()
}
