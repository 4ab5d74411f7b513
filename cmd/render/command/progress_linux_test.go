package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
)

// newTerminal returns a terminal, and the side that shows its output.
func newTerminal(t *testing.T) (terminal, shows *os.File) {
	t.Helper()
	shows, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { shows.Close() })
	connection, err := shows.SyscallConn() // Fd would have reads wait forever
	if err != nil {
		t.Fatal(err)
	}
	var unlock, number uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		var errno syscall.Errno
		err := connection.Control(func(fd uintptr) {
			_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(value)))
		})
		if err != nil || errno != 0 {
			t.Skip(err, errno)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal, shows
}

func TestOnlyTerminalsShowProgress(t *testing.T) {
	root := repository(t)
	repository, err := render.Open(root, gatehouse.All(), render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	unlock, err := repository.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	terminal, shows := newTerminal(t)
	var piped bytes.Buffer
	onTerminal, inPipe := process(t, "", "--all", "--root", root), process(t, "", "--all", "--root", root)
	onTerminal.Stderr, inPipe.Stderr = terminal, &piped
	for _, cmd := range []*exec.Cmd{onTerminal, inPipe} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := shows.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for !strings.Contains(shown.String(), "waiting for another run") {
		if _, err := io.CopyN(&shown, shows, 1); err != nil {
			t.Fatalf("%v after %q", err, shown.String())
		}
	}
	unlock()
	go func() { _, _ = io.Copy(io.Discard, shows) }()
	for _, cmd := range []*exec.Cmd{onTerminal, inPipe} {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if coverageLine.ReplaceAllString(piped.String(), "") != "" {
		t.Errorf("in a pipe: %s", &piped)
	}
}
