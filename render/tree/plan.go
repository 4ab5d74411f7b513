package tree

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
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
	files     []File            // all rendered files except the index
	index     []byte            // the new index; nil if no file is left
	interim   []byte            // the index while files are written and pruned
	write     []File            // new and changed files
	prune     []string          // files that are no longer rendered
	unchanged []string          // files that stay as they are
	before    map[string][]byte // the content of what is written and pruned
	changes   []change          // what was staged, in the order in which it is committed
	committed int               // the number of changes that were committed
}

// NewPlan compares rendered/<environment> below root with its new files, in apply order, and with
// the page about them. With keepOrder the index tells kustomize to keep that order. The problems
// are what is in the way. Close the plan after use.
func NewPlan(root *os.Root, environment string, files []File, page []byte, keepOrder bool) (*Plan, []manifest.Problem) {
	p := &Plan{folder: newFolder(root, path.Join(Folder, environment)), before: map[string][]byte{}}
	old, err := p.folder.read(IndexFile)
	if err == nil && old != nil && !isIndex(old) {
		err = p.foreign(IndexFile)
	}
	if err != nil {
		return p, []manifest.Problem{{Message: err.Error()}}
	}
	owned := readIndex(old)
	errs := p.compare(files, owned)
	if len(files) > 0 {
		errs = append(errs, p.otherKustomizations()...)
	}

	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file.Path
		delete(owned, file.Path)
	}
	for _, name := range slices.Sorted(maps.Keys(owned)) {
		errs = append(errs, p.planRemoval(name))
	}
	if len(files) > 0 {
		p.index = newIndex(names, keepOrder)
	} else {
		page = nil
	}
	p.interim = newIndex(slices.Concat(names, p.prune), keepOrder)
	if !bytes.Equal(old, p.index) {
		p.before[IndexFile] = old
	}
	isOther, err := p.planPage(page)
	problems := problemsOf(append(errs, err))
	if isOther {
		problems = append(problems, p.otherPage())
	}
	return p, problems
}

func problemsOf(errs []error) (problems []manifest.Problem) {
	for _, err := range errs {
		if err != nil {
			problems = append(problems, manifest.Problem{Message: err.Error()})
		}
	}
	return problems
}

// Close discards what was staged and not committed.
func (p *Plan) Close() {
	for _, c := range p.changes[p.committed:] {
		p.folder.discard(c)
	}
	p.folder.removeMade()
	p.folder.close()
}

// compare plans to write files that are new or differ, of which render owns some. It reads
// several at a time.
func (p *Plan) compare(files []File, owned map[string]bool) []error {
	p.files = append(p.files, files...)
	before, errs := make([][]byte, len(files)), make([]error, len(files))
	parallel.For(len(files), func(i int) { before[i], errs[i] = p.folder.read(files[i].Path) })
	for i, file := range files {
		switch {
		case errs[i] != nil:
		case before[i] != nil && bytes.Equal(before[i], file.Content):
			p.unchanged = append(p.unchanged, file.Path)
		case before[i] != nil && !owned[file.Path]:
			errs[i] = p.foreign(file.Path)
		default:
			p.write = append(p.write, file)
			p.before[file.Path] = before[i]
		}
	}
	return errs
}

// otherKustomizations returns an error for each kustomization of another name beside the index:
// kustomize builds no folder that has two.
func (p *Plan) otherKustomizations() (errs []error) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if name == IndexFile {
			continue
		}
		content, err := p.folder.read(name)
		if content != nil {
			err = p.foreign(name)
		}
		errs = append(errs, err)
	}
	return errs
}

// foreign returns the error of a file that render does not own.
func (p *Plan) foreign(name string) error {
	return fmt.Errorf("%s was not written by render: move it away", p.folder.full(name))
}

// planRemoval plans to remove a file that is no longer rendered.
func (p *Plan) planRemoval(name string) error {
	old, err := p.folder.read(name)
	if err != nil || old == nil {
		return err
	}
	p.prune = append(p.prune, name)
	p.before[name] = old
	return nil
}

// Files returns all rendered files, relative to the folder.
func (p *Plan) Files() []File {
	if p.index == nil {
		return nil
	}
	return append(slices.Clone(p.files), File{IndexFile, p.index})
}

// Written returns the files that are new or changed, from the root.
func (p *Plan) Written() []string {
	written := make([]string, 0, len(p.write)+1)
	for _, file := range p.write {
		written = append(written, p.folder.full(file.Path))
	}
	if _, changes := p.before[IndexFile]; changes && p.index != nil {
		written = append(written, p.folder.full(IndexFile))
	}
	return written
}

// Unchanged returns the files that do not change, from the root.
func (p *Plan) Unchanged() []string {
	unchanged := make([]string, 0, len(p.unchanged)+1)
	for _, name := range p.unchanged {
		unchanged = append(unchanged, p.folder.full(name))
	}
	if _, changes := p.before[IndexFile]; !changes && p.index != nil {
		unchanged = append(unchanged, p.folder.full(IndexFile))
	}
	return unchanged
}

// Pruned returns the files that are no longer rendered, from the root.
func (p *Plan) Pruned() []string {
	pruned := make([]string, 0, len(p.prune)+1)
	for _, name := range p.prune {
		pruned = append(pruned, p.folder.full(name))
	}
	if old := p.before[IndexFile]; old != nil && p.index == nil {
		pruned = append(pruned, p.folder.full(IndexFile))
	}
	return pruned
}

// Changes reports whether there is anything to do.
func (p *Plan) Changes() bool { return len(p.before) > 0 }

// Stage writes new contents to temporary files, and returns an error if a folder takes no
// changes. It changes no file. The caller holds the lock since before the plan was made, and
// closes the plan in any case.
func (p *Plan) Stage(ctx context.Context) error {
	p.folder.clean()
	if !p.Changes() {
		return nil
	}
	files := p.inOrder()
	p.changes = make([]change, len(files))
	errs := make([]error, len(files))
	parallel.For(len(files), func(i int) {
		p.changes[i].name = files[i].Path
		if errs[i] = ctx.Err(); errs[i] == nil && files[i].Content != nil {
			p.changes[i], errs[i] = p.folder.stage(files[i].Path, files[i].Content)
		}
	})
	for i, name := range p.prune {
		if i == 0 || path.Dir(name) != path.Dir(p.prune[i-1]) {
			errs = append(errs, p.folder.try(name))
		}
	}
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i] // on a full disk, all fail
	}
	return nil
}

// inOrder returns the files to change in the order of the changes: the index lists each file
// before it is written and until after it is removed. Files to remove have no content.
func (p *Plan) inOrder() (files []File) {
	index, changes := p.before[IndexFile]
	if !changes {
		index = p.index
	}
	if !bytes.Equal(index, p.interim) {
		files = append(files, File{IndexFile, p.interim})
	}
	files = append(files, p.write...)
	for _, name := range p.prune {
		files = append(files, File{Path: name})
	}
	if !bytes.Equal(p.interim, p.index) {
		files = append(files, File{IndexFile, p.index})
	}
	return files
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
		case bytes.Equal(p.interim, p.index):
		case c.name == IndexFile:
			what += ", with the files of before and after"
		}
		lines = append(lines, p.folder.full(c.name)+": "+what)
	}
	return lines
}
