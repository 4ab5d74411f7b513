//go:build unix

package watchdog

import (
	"os"
	"os/exec"
	"syscall"
)

// Lead makes a command the leader of a group of processes, which ends with its context as a whole: git leaves the
// programs that it starts running.
func Lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killGroup ends a process and, if it leads a group, all of the group.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}
