// Package watch waits for changes of source files, including files that do not exist yet.
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
	// quietPeriod is how long Wait waits for more changes after one: editors save a file in several
	// steps, and git writes one file after the other.
	quietPeriod = 40 * time.Millisecond

	// maxDelay is the longest time between a change and the end of Wait.
	maxDelay = 250 * time.Millisecond

	// maxLinks is the number of links to follow before a path counts as a cycle.
	maxLinks = 40
)

// Watcher watches the paths of Look. It serves one run, because a change may redirect links.
type Watcher struct {
	root   string
	notify *fsnotify.Watcher

	mu      sync.Mutex
	matters map[string]bool // paths from the root; a final slash stands for the entries of a folder
	watched map[string]bool // folders
	err     error
}

// New returns a watcher of paths below a folder, given without links. Close it after use.
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

// Look watches a path from the root, with slashes. Call it before reading the path, to miss no change. A
// final slash stands for the entries of a folder.
func (w *Watcher) Look(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(path.Clean("/"+name), maxLinks)
	if strings.HasSuffix(name, "/") {
		w.watch(path.Clean("/" + name))
		w.matters[path.Join("/", name)+"/"] = true
	}
}

// look watches the folders above a path, and the targets of links on the way.
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

// target returns the target of a link. Links that leave the root are not followed.
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

func (w *Watcher) watch(folder string) {
	if w.watched[folder] {
		return
	}
	err := w.notify.Add(w.onDisk(folder))
	switch {
	case err == nil:
		w.watched[folder] = true
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR):
		// The folder above is watched, and reports when this one appears.
	case w.err == nil:
		w.err = fmt.Errorf("watch %s: %w", strings.TrimPrefix(folder, "/"), limitError(err))
	}
}

func (w *Watcher) onDisk(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

// Wait returns after a change, once a quiet period or maxDelay is over. It returns an error if it may miss
// changes, or the error of the context.
func (w *Watcher) Wait(ctx context.Context) error {
	w.mu.Lock()
	err := w.err
	w.mu.Unlock()
	if err != nil {
		return err
	}
	var done, latest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			return nil
		case <-latest:
			return nil
		case event, ok := <-w.notify.Events:
			if !ok {
				return fsnotify.ErrClosed
			}
			if !w.isRelevant(event) {
				continue
			}
		case err := <-w.notify.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) { // an overflow of the queue counts as a change
				return fmt.Errorf("watch %s: %w", w.root, limitError(err))
			}
		}
		done = time.After(quietPeriod)
		if latest == nil {
			latest = time.After(maxDelay)
		}
	}
}

// isRelevant reports whether an event is about a watched path.
func (w *Watcher) isRelevant(event fsnotify.Event) bool {
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

// limitError adds a hint to the error of a system limit on watches.
func limitError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: too many folders are watched: raise fs.inotify.max_user_watches, as with `sudo "+
			"sysctl fs.inotify.max_user_watches=524288`, or end other programs that watch files", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w: too many programs watch, or too many files are open: raise "+
			"fs.inotify.max_user_instances, as with `sudo sysctl fs.inotify.max_user_instances=1024`, or `ulimit -n`",
			err)
	}
	return err
}
