package render

import (
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/build"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Examination is an environment of which it can be asked how it came to be, also where there
// are errors in it.
type Examination struct {
	Environment string
	// Objects are what was written and what was rendered from it, as far as there are no
	// errors, each with its file.
	Objects []tree.Placed
	// Problems are in the order of files.
	Problems []object.Problem
	// Sources are what it is made from; nil where there is no such environment.
	Sources *source.Sources

	renderer  *renderer
	rendered  []object.Object            // before overrides, and
	overrides map[object.ID][]build.Step // what these make of them, once they are asked for
}

// Examine renders an environment in order to ask about it. Progress is told what is being
// done.
func Examine(repository *Repository, environment string, progress func(step string)) (*Examination, error) {
	names, err := repository.Select(Selection{Names: []string{environment}})
	if err != nil {
		return nil, err
	}
	e := &Examination{Environment: names[0]}
	files := repository.fileSystem()
	folder, isDir, _ := files.Resolve(path.Join("/", environmentsFolder, environment))
	if !isDir {
		e.Problems = []object.Problem{{File: path.Join(environmentsFolder, environment), Message: "no such environment" + repository.unknown(environment)}}
		return e, nil
	}
	e.renderer = &renderer{kinds: repository.kinds, folder: folder}
	objects := e.renderer.render(files, progress)
	e.Sources = e.renderer.sources
	e.Problems = object.SortProblems(e.renderer.problems)
	for _, p := range tree.Layout(objects, e.renderer.checker.IsNamespaced) {
		if p.Taken == nil {
			e.Objects = append(e.Objects, p)
		}
	}
	return e, nil
}

// Kinds are those that people may write.
func (e *Examination) Kinds() *registry.Kinds { return e.renderer.kinds }

// Files are those that the environment is made from, relative to the root.
func (e *Examination) Files() []string {
	if e.Sources == nil {
		return nil
	}
	return e.Sources.FS.FilesRead()
}

// IsBuilt says whether there is nothing wrong with the environment that kustomize would
// stop at.
func (e *Examination) IsBuilt() bool {
	return e.Sources != nil && len(e.Sources.Problems) == 0 && len(e.renderer.built) > 0
}

// Folder is that of its outermost kustomization, from the root.
func (e *Examination) Folder() string { return e.renderer.folder }

// Overrides is the folder of its overrides, from the root; empty where it has none.
func (e *Examination) Overrides() string { return e.renderer.overrides }

// Origin is the file that an object comes from as it is built, from the root.
func (e *Examination) Origin(o object.Object) string { return e.renderer.originOf(o.Written, false) }

// Traces follows documents to the objects that they are built to.
func (e *Examination) Traces(documents []source.Document) []build.Trace {
	return build.Traces(e.Sources, e.renderer.folder, documents, func(o *unstructured.Unstructured) {
		for _, image := range e.renderer.images {
			image.Restore(o)
		}
	})
}

// OverrideSteps are those in which overrides made of a rendered object what it is.
func (e *Examination) OverrideSteps(o object.Object) []build.Step {
	if e.renderer.overrides == "" || !o.IsRendered() {
		return nil
	}
	if e.overrides == nil {
		e.rendered = e.renderer.expand(e.renderer.stored)
		e.overrides = build.OverrideSteps(e.Sources, e.renderer.overrides, e.rendered)
	}
	i := slices.IndexFunc(e.rendered, func(before object.Object) bool {
		isNamed := before.GetName() == o.GetName() || registry.IsHashName(o.GetName(), before.GetName())
		return before.Written == o.Written && before.GroupVersionKind() == o.GroupVersionKind() && isNamed
	})
	if i < 0 {
		return nil
	}
	return e.overrides[e.rendered[i].ID()]
}
