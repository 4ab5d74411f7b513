//go:build !windows

package main

import (
	"os"
	"syscall"
	"time"
)

// setTime sets the wall clock of this machine.
func setTime(t time.Time) error {
	value := syscall.NsecToTimeval(t.UnixNano())
	return syscall.Settimeofday(&value)
}

// stopProcess pauses a process until continueProcess resumes it.
func stopProcess(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func continueProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
