// Package command is the command render, for the kinds that it is given.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

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
	kinds, err := registry.New(all...)
	if err == nil {
		// No signal is caught: a run that is killed leaves what the next completes.
		err = newCommand(kinds).ExecuteContext(withKinds(context.Background(), kinds))
	}
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitError
	}
	return 0
}

type kindsKey struct{}

// withKinds is a context of commands that know kinds.
func withKinds(ctx context.Context, kinds *registry.Kinds) context.Context {
	return context.WithValue(ctx, kindsKey{}, kinds)
}

// kindsOf are the kinds that a command knows.
func kindsOf(ctx context.Context) *registry.Kinds {
	kinds, _ := ctx.Value(kindsKey{}).(*registry.Kinds)
	return kinds
}
