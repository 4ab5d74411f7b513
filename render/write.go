package render

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// The kustomization.yaml of a rendered environment is the index of what render
// owns there: the files that it lists, and itself. Nothing else in the folder is
// ever changed or removed, but for the temporary files of runs that were killed.

const indexFile = "kustomization.yaml"

// indexHeader tells an index from a kustomization that a person wrote.
const indexHeader = "# Written by gatehouse render, which owns the files listed here: do not edit.\n"

// index lists files in apply order.
func index(names []string) []byte {
	var b bytes.Buffer
	b.WriteString(indexHeader)
	b.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n")
	for _, name := range names {
		b.WriteString("- " + name + "\n")
	}
	return b.Bytes()
}

// isIndex says whether a kustomization is one that render wrote, also if a merge
// left its marks there, or git the line ends of another system.
func isIndex(content []byte) bool {
	first, _, _ := bytes.Cut(content, []byte("\n"))
	return string(bytes.TrimSpace(first)) == strings.TrimSpace(indexHeader) || bytes.HasPrefix(first, []byte("<<<<<<< "))
}

// readIndex returns the files that an index lists. It reads line by line, so that
// one with the marks of a merge conflict is the index of both sides.
func readIndex(content []byte) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "- ")
		if ok && isOwnable(name) {
			names[name] = true
		}
	}
	return names
}

// isOwnable says whether a path is one that render might have written: whoever
// edits an index must not have other files removed.
func isOwnable(name string) bool {
	folder, base, ok := strings.Cut(name, "/")
	return ok && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) &&
		!strings.HasPrefix(folder, ".") && !strings.Contains(base, "/") && !strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".yaml")
}

// folder is the folder of a rendered environment.
type folder struct {
	root *os.Root // the folder that holds rendered/
	path string   // rendered/<environment>, with slashes
}

// read returns the content of a file of the folder, nil where there is none.
func (f folder) read(name string) ([]byte, error) {
	target := path.Join(f.path, name)
	for i, c := range target + "/" {
		if c != '/' {
			continue
		}
		info, err := f.root.Lstat(target[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%s is a link: rendered manifests are written to real files and folders only; remove it", target[:i])
		case i < len(target) && !info.IsDir():
			return nil, fmt.Errorf("%s is not a folder: move it away", target[:i])
		case i == len(target) && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a file: move it away", target)
		}
	}
	return f.root.ReadFile(target)
}

// plan is what writing would change in a folder.
type plan struct {
	folder    folder
	index     []byte            // the new one; nil where nothing is left
	transit   []byte            // the index while files are written and pruned
	write     []file            // new and changed files
	prune     []string          // files that are rendered no more
	unchanged []string          // files that stay as they are
	before    map[string][]byte // the content of what is written and pruned
}

// newPlan compares a folder with the files that are to be in it, in apply order.
// The error lists what is in the way.
func newPlan(f folder, files []file) (*plan, error) {
	p := &plan{folder: f, before: map[string][]byte{}}
	old, err := f.read(indexFile)
	if err != nil {
		return nil, err
	}
	if old != nil && !isIndex(old) {
		return nil, fmt.Errorf("%s was not written by render: move it away", path.Join(f.path, indexFile))
	}
	owned := readIndex(old)

	var names []string
	var errs []error
	for _, file := range files {
		names = append(names, file.path)
		errs = append(errs, p.compare(file, owned[file.path]))
		delete(owned, file.path)
	}
	for _, name := range slices.Sorted(maps.Keys(owned)) {
		errs = append(errs, p.remove(name))
	}
	if len(files) > 0 {
		p.index = index(names)
	}
	p.transit = index(slices.Concat(names, p.prune))
	if !bytes.Equal(old, p.index) {
		p.before[indexFile] = old
	}
	return p, errors.Join(errs...)
}

// compare notes what has to be done for a file, which render owns or not.
func (p *plan) compare(file file, owned bool) error {
	old, err := p.folder.read(file.path)
	switch {
	case err != nil:
		return err
	case old != nil && bytes.Equal(old, file.content):
		p.unchanged = append(p.unchanged, file.path)
		return nil
	case old != nil && !owned:
		return fmt.Errorf("%s was not written by render: move it away", path.Join(p.folder.path, file.path))
	}
	p.write = append(p.write, file)
	p.before[file.path] = old
	return nil
}

// remove notes that a file is rendered no more.
func (p *plan) remove(name string) error {
	old, err := p.folder.read(name)
	if err != nil || old == nil {
		return err
	}
	p.prune = append(p.prune, name)
	p.before[name] = old
	return nil
}

// changes says whether there is anything to do.
func (p *plan) changes() bool { return len(p.before) > 0 }

// apply carries the plan out. Killed at any instant, it leaves a folder that the
// next run completes: the index owns every file before it is written and until
// after it is removed, and each file is replaced at once.
func (p *plan) apply(ctx context.Context) error {
	if !p.changes() {
		return nil
	}
	if len(p.write)+len(p.prune) > 0 {
		if err := p.folder.replace(indexFile, p.transit); err != nil {
			return err
		}
	}
	for _, file := range p.write {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.folder.replace(file.path, file.content); err != nil {
			return err
		}
	}
	for _, name := range p.prune {
		if err := p.folder.remove(name); err != nil {
			return err
		}
	}
	if p.index == nil {
		return p.folder.remove(indexFile)
	}
	return p.folder.replace(indexFile, p.index)
}

// temporary is the prefix of files that are being written.
const temporary = ".render-"

// replace gives a file new content, at once.
func (f folder) replace(name string, content []byte) error {
	target := path.Join(f.path, name)
	if err := f.root.MkdirAll(path.Dir(target), 0o755); err != nil {
		return err
	}
	unfinished := path.Join(path.Dir(target), temporary+rand.Text())
	if err := f.root.WriteFile(unfinished, content, 0o644); err != nil {
		_ = f.root.Remove(unfinished)
		return err
	}
	return f.root.Rename(unfinished, target)
}

// remove removes a file, and its folder where that is empty then.
func (f folder) remove(name string) error {
	target := path.Join(f.path, name)
	if err := f.root.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = f.root.Remove(path.Dir(target)) // refused where the folder holds more
	return nil
}

// clean removes what runs that were killed left unfinished. The caller holds the
// lock: nobody else is writing.
func (f folder) clean() error {
	return fs.WalkDir(f.root.FS(), f.path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.Type().IsRegular() && strings.HasPrefix(entry.Name(), temporary):
			return f.root.Remove(name)
		}
		return nil
	})
}

// lockPoll is how often a run that waits for another looks again.
const lockPoll = 100 * time.Millisecond

// lock waits until no other run writes to rendered/ in the folder root, and keeps
// others out until unlock. It leaves no file: the lock is on the folder itself.
func lock(ctx context.Context, root *os.Root) (unlock func(), err error) {
	if err := root.MkdirAll(renderedFolder, 0o755); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(root.Name(), renderedFolder), flock.SetFlag(os.O_RDONLY))
	if _, err := l.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("lock %s: %w", renderedFolder, err)
	}
	return func() { _ = l.Unlock() }, nil
}
