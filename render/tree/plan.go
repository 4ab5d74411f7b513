package tree

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"example.com/gatehouse/render/watchdog"
)

// Folders at the root.
const (
	Folder             = "rendered"     // of generated files
	EnvironmentsFolder = "environments" // of source files, with a folder for each environment
)

// File is a rendered file.
type File struct {
	Path    string // relative to the folder of the environment, with slashes
	Content []byte
}

// Plan holds the changes to the folder of an environment.
type Plan struct {
	folder    *folder
	files     []planned // the index is the last
	index     planned
	interim   []byte   // the index while files are written and pruned
	changes   []change // the staged changes, in the order of commits
	committed int      // the number of committed changes
	release   func()   // of the watchdog; nil before Stage
}

// planned is a file before and after. A content is nil if there is no file.
type planned struct {
	name          string
	before, after []byte
}

func (f planned) isWritten() bool { return f.after != nil && !f.isUnchanged() }
func (f planned) isPruned() bool  { return f.after == nil && f.before != nil }
func (f planned) isUnchanged() bool {
	return f.before != nil && f.after != nil && bytes.Equal(f.before, f.after)
}

func pathsOf(files []File) []string {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file.Path
	}
	return names
}

// Close discards staged changes that were not committed.
func (p *Plan) Close() {
	for _, c := range p.changes[p.committed:] {
		p.folder.discard(c)
	}
	p.folder.removeMade()
	p.folder.close()
	if p.release != nil {
		p.release()
	}
}

// Files returns all files after the plan, relative to the folder.
func (p *Plan) Files() (files []File) {
	for _, f := range p.files {
		if f.after != nil {
			files = append(files, File{f.name, f.after})
		}
	}
	return files
}

// Written returns the new and changed files, from the root.
func (p *Plan) Written() []string { return p.paths(planned.isWritten) }

// Unchanged returns the unchanged files, from the root.
func (p *Plan) Unchanged() []string { return p.paths(planned.isUnchanged) }

// Pruned returns the files that are no longer rendered, from the root.
func (p *Plan) Pruned() []string { return p.paths(planned.isPruned) }

func (p *Plan) paths(matches func(planned) bool) []string {
	paths := []string{} // an empty list in JSON
	for _, f := range p.files {
		if matches(f) {
			paths = append(paths, p.folder.full(f.name))
		}
	}
	return paths
}

// Changes reports whether the plan changes any file.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.files, func(f planned) bool { return f.isWritten() || f.isPruned() })
}

// Stage writes new contents to temporary files, and returns an error if a folder is not writable. It
// changes no rendered file. The caller must have held the lock since before NewPlan.
func (p *Plan) Stage(ctx context.Context) error {
	if p.release == nil {
		p.release = watchdog.Hold() // until Close
	}
	p.folder.clean()
	if !p.Changes() {
		return nil
	}
	files := p.inOrder()
	if err := p.folder.makeFolders(files); err != nil {
		return err
	}
	p.changes = make([]change, len(files))
	errs := p.folder.forEach(pathsOf(files), func(holder *os.Root, i int) (err error) {
		if err = ctx.Err(); err == nil {
			p.changes[i], err = p.folder.stage(holder, files[i])
		}
		return err
	})
	return cmp.Or(errs...) // one error is enough: on a full disk, all files have one
}

// inOrder returns the files to change, in order. Files to remove have no content. The index lists each
// file before it is written, and until it is removed.
func (p *Plan) inOrder() (files []File) {
	if !bytes.Equal(p.index.before, p.interim) {
		files = append(files, File{IndexFile, p.interim})
	}
	besideIndex := p.files[:len(p.files)-1]
	for _, f := range besideIndex {
		if f.isWritten() {
			files = append(files, File{f.name, f.after})
		}
	}
	for _, f := range besideIndex {
		if f.isPruned() {
			files = append(files, File{Path: f.name})
		}
	}
	if !bytes.Equal(p.interim, p.index.after) {
		files = append(files, File{IndexFile, p.index.after})
	}
	return files
}

// Commit makes the staged changes, each atomically. If the run is killed, the next run completes them.
func (p *Plan) Commit() error {
	for _, c := range p.changes[p.committed:] {
		if err := p.folder.commit(c); err != nil {
			return err
		}
		p.committed++
	}
	return nil
}

// Progress returns a line for each change, with its result.
func (p *Plan) Progress() (lines []string) {
	switch {
	case !p.Changes():
		return nil
	case p.committed == 0:
		return []string{p.folder.path + ": nothing was changed"}
	case p.committed == len(p.changes):
		return []string{p.folder.path + ": all was changed"}
	}
	for i, c := range p.changes {
		result := "written"
		if c.staged == "" {
			result = "removed"
		}
		switch {
		case i >= p.committed:
			result = "not " + result
		case bytes.Equal(p.interim, p.index.after):
		case c.Path == IndexFile:
			result += ", with the files of before and after"
		}
		lines = append(lines, p.folder.full(c.Path)+": "+result)
	}
	return lines
}

// Diff returns the plan as a unified diff for `git apply`.
func (p *Plan) Diff() string {
	var b strings.Builder
	for _, f := range p.files {
		if f.isWritten() || f.isPruned() {
			name := p.folder.full(f.name)
			b.WriteString(UnifiedDiff("a/"+name, "b/"+name, f.before, f.after))
		}
	}
	return b.String()
}

// UnifiedDiff returns a unified diff of a file. Without a file, its content is nil.
func UnifiedDiff(from, to string, before, after []byte) string {
	const noFile = "/dev/null" // to diff and git, on every system
	if before == nil {
		from = noFile
	}
	if after == nil {
		to = noFile
	}
	return udiff.Unified(from, to, string(before), string(after))
}
