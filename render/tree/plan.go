package tree

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render/manifest"
)

// The folders at the root.
const (
	// Folder is the folder that machines write.
	Folder = "rendered"
	// EnvironmentsFolder is the folder that people write: each environment is a folder there.
	EnvironmentsFolder = "environments"
)

// File is one file of what is rendered.
type File struct {
	Path    string // relative to the folder of the environment, with slashes
	Content []byte
}

// Plan is what writing would change in the folder of an environment.
type Plan struct {
	folder    *folder
	err       error              // why there can be no plan
	owned     map[string]content // the files that the index before lists
	files     []planned          // the index is the last
	index     planned
	interim   []byte   // the index while files are written and pruned
	changes   []change // what was staged, in the order in which it is committed
	committed int      // the number of changes that were committed
}

// planned is a file before and after. A content is nil where there is no file.
type planned struct {
	name          string
	before, after []byte
}

func (f planned) isWritten() bool { return f.after != nil && !f.isUnchanged() }
func (f planned) isPruned() bool  { return f.after == nil && f.before != nil }
func (f planned) isUnchanged() bool {
	return f.before != nil && f.after != nil && bytes.Equal(f.before, f.after)
}

// NewPlan returns a plan that changes nothing, after it has read what render wrote before to
// rendered/<environment> below root. Close it after use.
func NewPlan(root *os.Root, environment string) *Plan {
	folder, err := openFolder(root, environment)
	p := &Plan{folder: folder, index: planned{name: IndexFile}, err: err}
	if err == nil {
		folder.list()
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

// Compare plans to replace what there is by files, in apply order, and by those beside its index, of
// which one without content must not be there. The problems are what is in the way.
func (p *Plan) Compare(files, beside []File, index Index) []manifest.Problem {
	if p.err != nil {
		return []manifest.Problem{{Message: p.err.Error()}}
	}
	names := pathsOf(files)
	if len(files) > 0 {
		p.index.after = index.list(names)
	} else {
		beside = []File{{Path: PageFile}, {Path: SchemaFile}}
	}
	problems := p.compare(p.withGone(files))
	for _, f := range p.files {
		if f.isPruned() {
			names = append(names, f.name)
		}
	}
	p.interim = index.list(names)
	for _, file := range beside {
		before, isOther, err := p.readBeside(file.Path)
		switch {
		case err != nil:
			problems = append(problems, manifest.Problem{Message: err.Error()})
		case isOther && file.Content != nil:
			problems = append(problems, p.otherFile(file.Path))
		case !isOther && (before != nil || file.Content != nil):
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

// withGone returns the files of an environment followed by those that must not be there, without
// content: the owned ones that it has no more, and other kustomizations.
func (p *Plan) withGone(files []File) []File {
	gone := maps.Clone(p.owned)
	for _, file := range files {
		delete(gone, file.Path)
	}
	names := slices.Sorted(maps.Keys(gone))
	if len(files) > 0 { // kustomize builds no folder that has two
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

// Close discards what was staged and not committed.
func (p *Plan) Close() {
	for _, c := range p.changes[p.committed:] {
		p.folder.discard(c)
	}
	p.folder.removeMade()
	p.folder.close()
}

// compare plans to write files, or to remove those without content, of which render owns some. Another
// file in the place of one is a problem.
func (p *Plan) compare(files []File) (problems []manifest.Problem) {
	isOwned := func(name string) bool { _, is := p.owned[name]; return is }
	others := p.folder.readAll(slices.DeleteFunc(pathsOf(files), isOwned))
	for _, file := range files {
		before, owned := p.owned[file.Path]
		if !owned {
			before = others[file.Path]
		}
		f := planned{file.Path, before.bytes, file.Content}
		err := before.err
		switch {
		case err != nil:
		case f.isUnchanged():
			f.before = f.after // so as not to keep both
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

// foreign returns the error of a file that render does not own.
func (p *Plan) foreign(name string) error {
	return fmt.Errorf("%s was not written by render: move it away", p.folder.full(name))
}

// Files returns all rendered files, relative to the folder.
func (p *Plan) Files() (files []File) {
	for _, f := range p.files {
		if f.after != nil {
			files = append(files, File{f.name, f.after})
		}
	}
	return files
}

// Written returns the files that are new or changed, from the root.
func (p *Plan) Written() []string { return p.paths(planned.isWritten) }

// Unchanged returns the files that do not change, from the root.
func (p *Plan) Unchanged() []string { return p.paths(planned.isUnchanged) }

// Pruned returns the files that are no longer rendered, from the root.
func (p *Plan) Pruned() []string { return p.paths(planned.isPruned) }

func (p *Plan) paths(isOne func(planned) bool) []string {
	paths := []string{} // in JSON a list also where it is empty
	for _, f := range p.files {
		if isOne(f) {
			paths = append(paths, p.folder.full(f.name))
		}
	}
	return paths
}

// Changes reports whether there is anything to do.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.files, func(f planned) bool { return f.isWritten() || f.isPruned() })
}

// Stage writes new contents to temporary files, and returns an error if a folder takes no
// changes. It changes no file. The caller holds the lock since before the plan was made, and
// closes the plan in any case.
func (p *Plan) Stage(ctx context.Context) error {
	p.folder.clean()
	if !p.Changes() {
		return nil
	}
	files, pruned := p.inOrder()
	if err := p.folder.makeFolders(files); err != nil {
		return err
	}
	p.changes = make([]change, len(files))
	errs := p.folder.forEach(pathsOf(files), func(holder *os.Root, i int) (err error) {
		p.changes[i].File = files[i]
		if err = ctx.Err(); err == nil && files[i].Content != nil {
			p.changes[i], err = p.folder.stage(holder, files[i])
		}
		return err
	})
	pruned = slices.CompactFunc(pruned, func(a, b string) bool { return path.Dir(a) == path.Dir(b) })
	errs = append(errs, p.folder.forEach(pruned, func(holder *os.Root, i int) error { return p.folder.try(holder, pruned[i]) })...)
	return cmp.Or(errs...) // on a full disk, all fail
}

// inOrder returns the files to change in the order of the changes, and those among them to
// remove, which have no content. The index lists each file before it is written and until after
// it is removed.
func (p *Plan) inOrder() (files []File, pruned []string) {
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
			files, pruned = append(files, File{Path: f.name}), append(pruned, f.name)
		}
	}
	if !bytes.Equal(p.interim, p.index.after) {
		files = append(files, File{IndexFile, p.index.after})
	}
	return files, pruned
}

// Commit makes the staged changes. It replaces each file atomically: a run that is killed leaves
// a folder that the next run completes.
func (p *Plan) Commit() error {
	for _, c := range p.changes[p.committed:] {
		if err := p.folder.commit(c); err != nil {
			return err
		}
		p.committed++
	}
	return nil
}

// Progress returns a line for each change: whether it was committed.
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
		what := "written"
		if c.staged == "" {
			what = "removed"
		}
		switch {
		case i >= p.committed:
			what = "not " + what
		case bytes.Equal(p.interim, p.index.after):
		case c.Path == IndexFile:
			what += ", with the files of before and after"
		}
		lines = append(lines, p.folder.full(c.Path)+": "+what)
	}
	return lines
}
