package watchdog

import (
	"os"
	"os/exec"
	"sync"
	"time"
)

// children are the programs that the process has started.
var children struct {
	sync.Mutex
	running map[*os.Process]time.Time // with their start; the zero time if their CPU time does not count
	ended   time.Duration             // CPU time of those that have ended
}

// Child counts the CPU time of a program that has started as that of the run, until done, which comes after its end.
// The watchdog ends it with the process.
func Child(cmd *exec.Cmd) (done func()) { return addChild(cmd, time.Now()) }

// Helper is Child for a program whose CPU time does not count: what it works on has other bounds.
func Helper(cmd *exec.Cmd) (done func()) { return addChild(cmd, time.Time{}) }

func addChild(cmd *exec.Cmd, start time.Time) (done func()) {
	children.Lock()
	defer children.Unlock()
	if children.running == nil {
		children.running = map[*os.Process]time.Time{}
	}
	children.running[cmd.Process] = start
	return func() {
		children.Lock()
		defer children.Unlock()
		delete(children.running, cmd.Process)
		if cmd.ProcessState != nil && !start.IsZero() {
			children.ended += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
	}
}

// cpuTime returns the CPU time of the process and its children.
func cpuTime() time.Duration {
	children.Lock()
	defer children.Unlock()
	used := ownCPUTime() + children.ended
	for child, start := range children.running {
		if !start.IsZero() {
			used += cpuTimeOf(child.Pid, start)
		}
	}
	return used
}

// killChildren ends the children, and the groups that they lead: one that writes nothing would go on without the
// process.
func killChildren() {
	children.Lock()
	defer children.Unlock()
	for child := range children.running {
		killGroup(child)
	}
}
