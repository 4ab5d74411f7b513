// Package command is the command render, for any list of kinds.
package command

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	_ "time/tzdata" // for rules that name a time zone, where the machine has none

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
