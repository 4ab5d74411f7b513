package tree

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render/manifest"
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
	err       error              // of reading the folder
	owned     map[string]content // the files in the previous index
	files     []planned          // the index is the last
	index     planned
	interim   []byte   // the index while files are written and pruned
	changes   []change // the staged changes, in the order of commits
	committed int      // the number of committed changes
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

// NewPlan reads rendered/<environment> below root, and returns a plan that changes nothing. The caller
// must close it.
func NewPlan(root *os.Root, environment string) *Plan {
	folder, err := openFolder(root, environment)
	p := &Plan{folder: folder, index: planned{name: IndexFile}, err: err}
	if err == nil {
		folder.scan()
		p.index.before, p.err = folder.read(IndexFile)
	}
	if p.err == nil && p.index.before != nil && !isIndex(p.index.before) {
		p.err = p.foreign(IndexFile)
	}
	if p.err == nil {
		p.owned = folder.readAll(slices.Collect(maps.Keys(readIndex(p.index.before))))
	}
	return p
}

// Compare plans to replace the previous rendering by files, in apply order, and by the files beside the
// index. A file without content is removed. The problems are files that render did not write.
func (p *Plan) Compare(files, beside []File, index Index) []manifest.Problem {
	if p.err != nil {
		return []manifest.Problem{{Message: p.err.Error()}}
	}
	names := pathsOf(files)
	if len(files) > 0 {
		p.index.after = index.format(names)
	} else {
		beside = []File{{Path: PageFile}, {Path: SchemaFile}}
	}
	problems := p.planFiles(p.withRemovals(files))
	for _, f := range p.files {
		if f.isPruned() {
			names = append(names, f.name)
		}
	}
	p.interim = index.format(names)
	for _, file := range beside {
		before, isForeign, err := p.readBeside(file.Path)
		switch {
		case err != nil:
			problems = append(problems, manifest.Problem{Message: err.Error()})
		case isForeign && file.Content != nil:
			problems = append(problems, p.foreignBeside(file.Path))
		case !isForeign && (before != nil || file.Content != nil):
			p.files = append(p.files, planned{file.Path, before, file.Content})
		}
	}
	p.files = append(p.files, p.index)
	return problems
}

func pathsOf(files []File) []string {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file.Path
	}
	return names
}

// withRemovals appends files without content to files, for those that must not exist: owned files that
// are no longer rendered, and other kustomizations.
func (p *Plan) withRemovals(files []File) []File {
	pruned := maps.Clone(p.owned)
	for _, file := range files {
		delete(pruned, file.Path)
	}
	names := slices.Sorted(maps.Keys(pruned))
	if len(files) > 0 { // kustomize builds no folder with two kustomizations
		names = append(names, konfig.RecognizedKustomizationFileNames()...)
	}
	all := slices.Clone(files)
	for _, name := range names {
		if name != IndexFile {
			all = append(all, File{Path: name})
		}
	}
	return all
}

// Close discards staged changes that were not committed.
func (p *Plan) Close() {
	for _, c := range p.changes[p.committed:] {
		p.folder.discard(c)
	}
	p.folder.removeMade()
	p.folder.close()
}

// planFiles plans to write files, and to remove files without content. An existing file that render
// does not own is a problem.
func (p *Plan) planFiles(files []File) (problems []manifest.Problem) {
	isOwned := func(name string) bool { _, is := p.owned[name]; return is }
	unowned := p.folder.readAll(slices.DeleteFunc(pathsOf(files), isOwned))
	for _, file := range files {
		before, owned := p.owned[file.Path]
		if !owned {
			before = unowned[file.Path]
		}
		f := planned{file.Path, before.bytes, file.Content}
		err := before.err
		switch {
		case err != nil:
		case f.isUnchanged():
			f.before = f.after // frees one of the two
		case f.before != nil && !owned:
			err = p.foreign(f.name)
		}
		if err != nil {
			problems = append(problems, manifest.Problem{Message: err.Error()})
		} else if f.before != nil || f.after != nil {
			p.files = append(p.files, f)
		}
	}
	p.owned = nil
	return problems
}

// foreign returns the error about a file that render does not own.
func (p *Plan) foreign(name string) error {
	return fmt.Errorf("%s was not written by render: move it away", p.folder.full(name))
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
