// Package render turns the environments of a repository, environments/<name>,
// into plain Kubernetes manifests, rendered/<name>. What it writes depends on the
// files of the repository alone: on no cluster, clock, network or other program.
package render

import (
	"path"
	"slices"

	"example.com/gatehouse/render/check"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/overview"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Rendering is a rendered environment.
type Rendering struct {
	// Environment is its name.
	Environment string
	// Objects are what was written and what was rendered from it, in apply order.
	Objects []object.Object
	// Files have one object each, in the same order.
	Files []tree.File
	// Page is about the environment, for people.
	Page []byte
	// IsSorted says whether it is the environment that says the order, by sortOptions.
	IsSorted bool
	// Sources are the files that it was made from, relative to the root.
	Sources []string
}

// overridesFolder is the folder of an environment with a component that overrides
// what was rendered.
const overridesFolder = "overrides"

// Render renders an environment: build, check, expand, override, check, lay out. Its
// problems are in the order of files. There is no Rendering if one of them is an error.
// Progress is told what is being done.
func Render(repository *Repository, environment string, progress func(step string)) (*Rendering, []object.Problem) {
	files := repository.fileSystem()
	folder, _, err := files.Resolve(path.Join("/", environmentsFolder, environment))
	if err != nil {
		return nil, []object.Problem{{File: path.Join(environmentsFolder, environment), Message: err.Error()}}
	}
	r := &renderer{kinds: repository.kinds, folder: folder}
	objects := r.render(files, progress)
	rendering := &Rendering{Environment: environment, Sources: files.FilesRead()}
	if !object.HasErrors(r.problems) {
		rendering.Objects, rendering.Files = r.files(objects)
		rendering.IsSorted = r.isSorted()
		rendering.Page = overview.Page(repository.kinds, environment, rendering.Objects, rendering.Files)
		r.advise(rendering.Objects, repository.Now)
	}
	problems := object.SortProblems(r.problems)
	if object.HasErrors(problems) {
		return nil, problems
	}
	return rendering, problems
}

// render returns what was written and what is rendered from it: all of it, unless there are
// errors.
func (r *renderer) render(files *source.FileSystem, progress func(step string)) []object.Object {
	go check.Prepare(r.kinds)

	progress("reading")
	r.read(files)

	progress("building")
	built := r.build(files)

	progress("validating")
	written, stored := r.check(built)
	r.keepDefaults(stored)
	r.convert(stored)

	progress("expanding")
	r.stored = stored
	rendered := r.override(r.expand(stored))
	if r.overrides == "" { // which may mend it
		r.reportBehind(written)
	}
	objects := slices.Concat(written, rendered)
	r.admit(objects)
	return objects
}
