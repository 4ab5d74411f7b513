package tree

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render/manifest"
)

// Previous is the previous rendering of an environment.
type Previous struct {
	folder *folder
	index  []byte
	owned  map[string]content // the files in the index
	err    error              // of reading the folder
}

// ReadPrevious reads rendered/<environment> below root. The caller must close the result or its plan.
func ReadPrevious(root *os.Root, environment string) *Previous {
	p := &Previous{}
	if p.folder, p.err = openFolder(root, environment); p.err == nil {
		p.folder.scan()
		p.index, p.err = p.folder.read(IndexFile)
	}
	if p.err == nil && p.index != nil && !isIndex(p.index) {
		p.err = p.foreign(IndexFile)
	}
	if p.err == nil {
		p.owned = p.folder.readAll(slices.Collect(maps.Keys(readIndex(p.index))))
	}
	return p
}

// Close releases the folder, unless there is a plan.
func (p *Previous) Close() { p.folder.close() }

// foreign returns the error about a file that render does not own.
func (p *Previous) foreign(name string) error {
	return fmt.Errorf("%s was not written by render: move it away", p.folder.full(name))
}

// Plan plans to replace the previous rendering by files, in apply order, and by the files beside the
// index. A file without content is removed. The problems are files that render did not write. The caller
// must close the plan.
func (p *Previous) Plan(files, beside []File, index Index) (*Plan, []manifest.Problem) {
	if p.err != nil {
		return &Plan{folder: p.folder}, []manifest.Problem{{Code: manifest.RunFailed, Message: p.err.Error()}}
	}
	compared, problems := p.compare(p.withRemovals(files))
	plan := &Plan{folder: p.folder, files: compared, index: planned{name: IndexFile, before: p.index}}
	names := pathsOf(files)
	if len(files) > 0 {
		plan.index.after = index.format(names)
	} else {
		beside = []File{{Path: FormerPage}, {Path: SchemaFile}}
	}
	for _, f := range plan.files {
		if f.isPruned() {
			names = append(names, f.name)
		}
	}
	plan.interim = index.format(names)
	for _, file := range beside {
		before, isForeign, err := p.folder.readBeside(file.Path)
		switch {
		case err != nil:
			problems = append(problems, manifest.Problem{Code: manifest.RunFailed, Message: err.Error()})
		case isForeign && file.Content != nil:
			problems = append(problems, p.folder.foreignBeside(file.Path))
		case !isForeign && (before != nil || file.Content != nil):
			plan.files = append(plan.files, planned{file.Path, before, file.Content})
		}
	}
	plan.files = append(plan.files, plan.index)
	return plan, problems
}

// withRemovals appends files that must not exist, without content: owned files that are no longer
// rendered, and other kustomizations.
func (p *Previous) withRemovals(files []File) []File {
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

// compare plans to write files, and to remove files without content. An existing file that render does
// not own is a problem.
func (p *Previous) compare(files []File) (compared []planned, problems []manifest.Problem) {
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
			problems = append(problems, manifest.Problem{Code: manifest.RunFailed, Message: err.Error()})
		} else if f.before != nil || f.after != nil {
			compared = append(compared, f)
		}
	}
	return compared, problems
}
