// Package command is the command render, for any list of kinds.
package command

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

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
		limitMemory()
	}
}

// limitMemory sets the limit by what is in use, now and after each collection.
func limitMemory() {
	const least, most = 512 << 20, 1 << 30
	inUse := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(inUse)
	debug.SetMemoryLimit(int64(max(least, min(4*inUse[0].Value.Uint64(), most))))
	runtime.AddCleanup(&struct{ *int }{}, func(struct{}) { limitMemory() }, struct{}{})
}

func run(all []kind.Kind) int {
	kinds := &registry.Kinds{All: all}
	// No signal is caught: the next run completes one that was killed.
	err := newCommand(kinds, os.Args[1:]).Execute()
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		if wrong := kinds.Check(); wrong != nil { // the cause of a wrong command line, as flags come from kinds
			err = wrong
		}
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitError
	}
	return 0
}
