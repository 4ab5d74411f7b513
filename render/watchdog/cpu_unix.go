//go:build unix

package watchdog

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func ownCPUTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// tick is the unit of CPU time in /proc: USER_HZ is 100 on every architecture of Go.
const tick = 10 * time.Millisecond

// hasProc reports whether the system has /proc.
var hasProc = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
})

// cpuTimeOf returns the CPU time of a running child or, without /proc, the time since its start. It is 0 for a child
// that has just ended, whose time counts when it is done.
func cpuTimeOf(pid int, start time.Time) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	switch {
	case err != nil && hasProc():
		return 0
	case err != nil:
		return time.Since(start)
	}
	// After the name in parentheses, the fields 3 and on: utime is the 14th, stime the 15th.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	var used time.Duration
	for i := 11; i <= 12 && i < len(fields); i++ {
		ticks, _ := strconv.ParseInt(string(fields[i]), 10, 64)
		used += time.Duration(ticks) * tick
	}
	return used
}
