// Command render writes the manifests of environments; `render --help` says how.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
)

func main() {
	tuneCollector()
	os.Exit(run())
}

// tuneCollector has the garbage collector run a third as often as usual, as long as
// there is memory: a run is short, and most of what it makes stays to its end.
func tuneCollector() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(300)
		debug.SetMemoryLimit(1 << 30)
	}
}

func run() int {
	// No signal is caught: a run that is killed leaves what the next completes.
	err := newCommand().ExecuteContext(context.Background())
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
