// Package command implements the command render for any list of kinds.
package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	_ "time/tzdata" // for schedules with a time zone, on machines without a database

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// Main runs the command line of the process, and exits.
func Main(kinds ...kind.Kind) {
	tuneCollector()
	os.Exit(run(kinds))
}

// tuneCollector makes the garbage collector run a third as often, up to a limit of memory: a run is short,
// and most of its memory is in use to the end.
func tuneCollector() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(300)
		leastMemory.Store(360 << 20)
		limitMemory()
	}
}

// mostMemory is the limit while much is in use, in bytes.
const mostMemory = 1 << 30

// leastMemory is the limit while little is in use, in bytes.
var leastMemory atomic.Int64

// limitMemory sets the limit by what is in use, now and after each collection. It grows faster than that:
// collecting garbage costs more where more is in use.
func limitMemory() {
	inUse := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(inUse)
	limit := int64(min(3*inUse[0].Value.Uint64(), 2*mostMemory)) - 256<<20
	debug.SetMemoryLimit(min(max(limit, leastMemory.Load()), mostMemory))
	runtime.AddCleanup(&struct{ *int }{}, func(struct{}) { limitMemory() }, struct{}{})
}

func run(all []kind.Kind) int {
	kinds := &registry.Kinds{All: all}
	// No signal is caught: the next run completes an interrupted one.
	cmd := newCommand(kinds, os.Args[1:])
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") {
		helpAsPlugin(cmd)
	}
	err := cmd.Execute()
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		if wrong := kinds.Check(); wrong != nil { // flags come from kinds, so a broken kind may be the cause
			err = wrong
		}
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitError
	}
	return 0
}

// examples matches calls of render in examples.
var examples = regexp.MustCompile(`(?m)^  render`)

// helpAsPlugin changes render to kubectl render in the help of a command and its subcommands.
func helpAsPlugin(cmd *cobra.Command) {
	if !cmd.HasParent() {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl render"}
	}
	cmd.Example = examples.ReplaceAllString(cmd.Example, "  kubectl render")
	for _, c := range cmd.Commands() {
		helpAsPlugin(c)
	}
}
