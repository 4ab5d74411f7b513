package command

import (
	"io"
	"strings"
	"syscall"
	"testing"
)

// A terminal shows how things are, and nothing of how they were.
func TestWatchOnTerminal(t *testing.T) {
	root := repository(t)
	terminal, shows := newTerminal(t)
	w := &watcher{Cmd: process(t, "", "--watch", "--all", "--root", root), ended: make(chan error, 1)}
	w.Env = append(w.Env, "TERM=xterm")
	w.Stdout, w.Stderr = terminal, terminal
	w.start(t)
	go func() { _, _ = io.Copy(&w.printed, shows) }()
	w.await(t, "up to date; waiting")
	writeFile(t, root, "a.yaml", configMap("a", "wrong")+"datta: {}\n")
	w.await(t, "\x1b[H")
	w.await(t, `unknown field "datta"`)
	writeFile(t, root, "a.yaml", configMap("a", "mended"))
	w.await(t, "\x1b[H")
	if page := w.printed.String(); strings.Contains(page, "datta") {
		t.Errorf("shows what is mended: %q", page)
	}
	w.await(t, "all is well again")
	w.await(t, "\x1b[J")
	if code := w.end(t, syscall.SIGINT); code != 130 {
		t.Errorf("exit code %d", code)
	}
}
