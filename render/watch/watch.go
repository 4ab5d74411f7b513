// Package watch tells when something changes that was looked at below a folder, or that
// was looked for and is not there yet.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// pause is how long nothing changes after a change until it is told: to save a file
	// takes editors several steps, and to switch branches takes git a step a file.
	pause = 40 * time.Millisecond

	// longest is how long it takes at most until a change is told.
	longest = 250 * time.Millisecond

	// maxLinks is how many links lead on to links before a path is taken for a circle.
	maxLinks = 40
)

// Watcher watches what it was told of with Look. It is for one look at everything: what
// changed may have moved, so that whoever looks again takes a new one.
type Watcher struct {
	root   string
	notify *fsnotify.Watcher

	mu      sync.Mutex
	matters map[string]bool // paths from the root, and folders, with a slash, whose entries do
	watched map[string]bool // folders
	err     error
}

// New watches what is below a folder, a path on disk without links. Close it after use.
func New(root string) (*Watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, limitError(err)
	}
	w := &Watcher{root: root, notify: notify, matters: map[string]bool{"/": true}, watched: map[string]bool{}}
	if err := notify.Add(root); err != nil {
		w.Close()
		return nil, fmt.Errorf("watch %s: %w", root, limitError(err))
	}
	w.watched["/"] = true
	return w, nil
}

// Close ends watching.
func (w *Watcher) Close() { _ = w.notify.Close() }

// Look tells of a path from the root, with slashes, that is about to be looked at: from now
// on no change of it is missed. With a slash at its end, it is a folder that is listed.
func (w *Watcher) Look(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(path.Clean("/"+name), maxLinks)
	if strings.HasSuffix(name, "/") {
		w.watch(path.Clean("/" + name))
		w.matters[path.Join("/", name)+"/"] = true
	}
}

// look watches the folders on the way to a path, and where links on it lead.
func (w *Watcher) look(name string, links int) {
	for i, c := range name + "/" {
		if c != '/' || i == 0 {
			continue
		}
		part := name[:i]
		w.watch(path.Dir(part))
		w.matters[part] = true
		if target, isLink := w.target(part); isLink && links > 0 {
			w.look(path.Join(target, name[i:]), links-1)
			return
		}
	}
}

// target is where a link leads. What is outside is of no interest, as nothing is read there.
func (w *Watcher) target(link string) (target string, isLink bool) {
	target, err := os.Readlink(w.onDisk(link))
	if err != nil {
		return "", false
	}
	if !filepath.IsAbs(target) {
		return path.Join(path.Dir(link), filepath.ToSlash(target)), true
	}
	inside, err := filepath.Rel(w.root, target)
	return path.Join("/", filepath.ToSlash(inside)), err == nil && filepath.IsLocal(inside)
}

// watch watches a folder, if there is one.
func (w *Watcher) watch(folder string) {
	if w.watched[folder] {
		return
	}
	err := w.notify.Add(w.onDisk(folder))
	switch {
	case err == nil:
		w.watched[folder] = true
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR):
		// What holds it is watched, and tells when that is another.
	case w.err == nil:
		w.err = fmt.Errorf("watch %s: %w", strings.TrimPrefix(folder, "/"), limitError(err))
	}
}

func (w *Watcher) onDisk(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

// Wait returns once something changed, when it is done or has taken a while. An error says
// that changes may be missed; it is that of the context where that ends.
func (w *Watcher) Wait(ctx context.Context) error {
	w.mu.Lock()
	err := w.err
	w.mu.Unlock()
	if err != nil {
		return err
	}
	var done, latest <-chan time.Time
	for {
		var changed bool
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, ok := <-w.notify.Events:
			if !ok {
				return fsnotify.ErrClosed
			}
			changed = w.isOf(event)
		case err := <-w.notify.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch %s: %w", w.root, limitError(err))
			}
			changed = true // too much did for each to be told
		case <-done:
			return nil
		case <-latest:
			return nil
		}
		if changed {
			done = time.After(pause)
			if latest == nil {
				latest = time.After(longest)
			}
		}
	}
}

// isOf says whether an event is one of what was looked at.
func (w *Watcher) isOf(event fsnotify.Event) bool {
	inside, err := filepath.Rel(w.root, event.Name)
	if err != nil || event.Name == "" {
		return false
	}
	name := path.Join("/", filepath.ToSlash(inside))
	w.mu.Lock()
	defer w.mu.Unlock()
	isListed := w.matters[path.Dir(name)+"/"] && event.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0
	return w.matters[name] || isListed
}

// limitError says what to do where the system lets nobody watch more.
func limitError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: too many folders are watched: raise fs.inotify.max_user_watches, as with `sudo sysctl fs.inotify.max_user_watches=524288`, or end other programs that watch", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w: too many programs watch, or too many files are open: raise fs.inotify.max_user_instances, as with `sudo sysctl fs.inotify.max_user_instances=1024`, or `ulimit -n`", err)
	}
	return err
}
