package watchdog

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"example.com/gatehouse/render/manifest"
)

const (
	interval = 25 * time.Millisecond
	noLimit  = math.MaxInt64

	// leastHeap is the least limit of the collector, in bytes.
	leastHeap = 500 << 20
)

// Start arms the watchdog for the rest of the process. When a run exceeds its limits, it cleans up and calls end, which
// ends the process.
//
// It also trades memory of the process for time, unless the environment sets GOGC or GOMEMLIMIT. A run is short and
// keeps most of its memory to the end, so the collector waits until the heap reaches a limit: leastHeap, or 9/4 of the
// greatest live heap if that is more. A smaller live heap later leaves the limit, since the run has taken that memory.
// In a container the limit is at most 3/4 of its memory, and always at most 9/10 of the memory that the run may have.
func Start(end func(manifest.Problem)) {
	arm(func(p manifest.Problem) {
		CleanUp()
		end(p)
	})
	isTuned := os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == ""
	most := int64(noLimit)
	if isTuned {
		debug.SetGCPercent(-1)
		if memory, err := memlimit.FromCgroup(); err == nil {
			most = int64(memory / 4 * 3) // #nosec G115 -- no container is that large
		}
		debug.SetMemoryLimit(min(leastHeap, most))
	}
	debug.SetMaxStack(math.MaxInt) // endless recursion takes memory, too
	go watch(isTuned, most)
}

// watch measures the process again and again.
func watch(isTuned bool, most int64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	for limit := int64(leastHeap); ; time.Sleep(interval) {
		metrics.Read(samples)
		bytes := func(i int) int64 { return int64(samples[i].Value.Uint64()) } // #nosec G115 -- no memory is that large
		live := bytes(0)
		if !isTuned {
			check(usage{cpuTime(), live, live})
			continue
		}
		allowed := check(usage{cpuTime(), bytes(1) - bytes(2), live})
		limit = max(limit, live/4*9)
		debug.SetMemoryLimit(min(limit, most, allowed/10*9))
	}
}
