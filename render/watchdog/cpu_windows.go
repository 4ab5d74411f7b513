package watchdog

import (
	"syscall"
	"time"
)

func ownCPUTime() time.Duration {
	var created, exited, kernel, user syscall.Filetime
	process, err := syscall.GetCurrentProcess()
	if err == nil {
		err = syscall.GetProcessTimes(process, &created, &exited, &kernel, &user)
	}
	if err != nil {
		return 0
	}
	ticks := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 + int64(t.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * 100 // nanoseconds
}

// cpuTimeOf returns the time since the start of a running child.
func cpuTimeOf(_ int, start time.Time) time.Duration { return time.Since(start) }
