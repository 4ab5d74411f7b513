package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

func newWatcher(t *testing.T, folders ...string) (w *Watcher, root string) {
	t.Helper()
	root = t.TempDir()
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w, err := New(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w, root
}

func TestOnlyEventsOfWatchedPathsMatter(t *testing.T) {
	w, root := newWatcher(t, "a/b", "listed")
	w.Look("a/b/c.yaml")
	w.Look("/a/later/d.yaml")
	w.Look("listed/")
	for name, want := range map[string]bool{
		"": true, "a": true, "a/b": true, "a/b/c.yaml": true, "a/later": true, "a/later/d.yaml": true,
		"a/b/.c.yaml.swp": false, "a/x": false, "b": false, "listed": true, "listed/x": true, "listed/x/y": false,
	} {
		event := fsnotify.Event{Name: filepath.Join(root, name), Op: fsnotify.Create}
		if got := w.isRelevant(event); got != want {
			t.Errorf("%q matters: %t", name, got)
		}
	}
	if w.isRelevant(fsnotify.Event{Name: filepath.Join(root, "listed/x"), Op: fsnotify.Write}) {
		t.Error("what is in a file matters to who lists its folder")
	}
}

func TestWaitSeesChangesBehindLinks(t *testing.T) {
	write := func(name string) func(root string) error {
		return func(root string) error { return os.WriteFile(filepath.Join(root, name), nil, 0o600) }
	}
	for name, change := range map[string]func(root string) error{
		"a file that was looked for":     write("a/file"),
		"the target of a link":           write("target/file"),
		"a link that leads elsewhere":    func(root string) error { return os.Remove(filepath.Join(root, "link")) },
		"a folder that comes":            func(root string) error { return os.Mkdir(filepath.Join(root, "later"), 0o750) },
		"a folder that is moved":         func(root string) error { return os.Rename(filepath.Join(root, "a"), filepath.Join(root, "b")) },
		"the root, that is moved itself": func(root string) error { return os.Rename(root, root+"-moved") },
	} {
		t.Run(name, func(t *testing.T) {
			w, root := newWatcher(t, "a", "target")
			if err := os.Symlink("target", filepath.Join(root, "link")); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a/file", "link/file", "later/deep/file"} {
				w.Look(name)
			}
			if err := change(root); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := w.Wait(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWaitEndsDuringEndlessChanges(t *testing.T) {
	w, root := newWatcher(t, "a")
	w.Look("a/file")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := make(chan error, 1)
	go func() { told <- w.Wait(ctx) }()
	for {
		select {
		case err := <-told:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			if err := os.WriteFile(filepath.Join(root, "a/file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestLimitErrorsNameTheSetting(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{syscall.ENOSPC: "fs.inotify.max_user_watches", syscall.EMFILE: "fs.inotify.max_user_instances"} {
		err := limitError(errno)
		if !errors.Is(err, errno) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	w, _ := newWatcher(t)
	w.err = limitError(syscall.ENOSPC)
	if err := w.Wait(t.Context()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("waits though it misses changes: %v", err)
	}
}
