//go:build !windows

package main

import (
	"syscall"
	"time"
)

// setTime sets the wall clock of this machine.
func setTime(t time.Time) error {
	value := syscall.NsecToTimeval(t.UnixNano())
	return syscall.Settimeofday(&value)
}
