package render

import (
	"path"
	"slices"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/apiserver"
)

// overridesFolder is the folder of an environment with a component that overrides what was
// rendered.
const overridesFolder = "overrides"

// environment is what an environment is made from.
type environment struct {
	name      string
	kinds     *registry.Kinds
	folder    string // of its kustomization, from the root
	overrides string // the folder of overrides, from the root; empty where it has none
	sources   *source.Sources
	memo      *memo.Memo

	kubernetes apiserver.Version // that it is for; zero where it does not say it

	substitution *Substitution // what Flux substitutes in it; nil where that is nothing
}

// read reads the files of an environment and of its overrides.
func read(repository *Repository, name string) (*environment, []manifest.Problem) {
	go verdict.Prepare(repository.kinds)
	files := repository.fileSystem()
	e := &environment{name: name, kinds: repository.kinds, memo: repository.Memo}
	folder, _, err := files.Resolve(path.Join("/", tree.EnvironmentsFolder, name))
	if err != nil {
		return e, []manifest.Problem{{File: path.Join(tree.EnvironmentsFolder, name), Message: err.Error()}}
	}
	e.folder = folder
	folders := []string{}
	if overrides := path.Join(folder, overridesFolder); files.Exists(overrides) {
		if files.KustomizationFile(overrides) == "" {
			return e, []manifest.Problem{{File: source.Relative(overrides), Message: "no kustomization.yaml: write one of kind Component"}}
		}
		e.overrides, folders = overrides, []string{overrides}
	}
	e.sources = source.Read(e.memo, files, e.kinds.KustomizeConfig(), folder, folders...)
	return e, slices.Concat(e.readKubernetes(), e.readSubstitution(), e.written())
}

// written returns what is wrong with the files, as far as that is known before they are built.
func (e *environment) written() []manifest.Problem {
	problems := slices.Concat(e.sources.Problems, e.sources.NumberProblems())
	for _, kind := range e.kinds.All {
		if kind.TimeField() != "" {
			problems = append(problems, e.sources.TimeProblems(kind.GVK().Group, kind.GVK().Kind, kind.TimeField())...)
		}
	}
	return problems
}

// locate returns a problem with the file and line to change. A problem that has a file is
// returned as it is.
func (e *environment) locate(p manifest.Problem) manifest.Problem {
	if p.File != "" {
		return p
	}
	if p.Field == "" && p.Subject.IsRendered() {
		p.Subject = p.Subject.Source()
	}
	switch {
	case p.Subject.Written != nil:
		return e.sources.Locate(p, e.originOf(p.Subject.Source(), e.folder))
	case e.overrides != "": // which added the object
		return e.locateInOverrides(p)
	}
	return e.sources.Locate(p, e.folder)
}

// locateInOverrides returns a problem with the file and line of the overrides that cause it:
// those of an object that they add, or of their kustomization.
func (e *environment) locateInOverrides(p manifest.Problem) manifest.Problem {
	file := e.sources.Kustomizations[e.overrides].File
	if p.Subject.Unstructured != nil && p.Subject.Written == nil {
		file = e.originOf(p.Subject, e.overrides)
	}
	return e.sources.Locate(p, file)
}

// originOf returns the file, from the root, that an object comes from or, where that is unknown,
// one that has an object of its name, or the kustomization in a folder.
func (e *environment) originOf(o manifest.Object, folder string) string {
	if o.Origin != "" {
		return path.Join("/", o.Origin)
	}
	if written := e.sources.Written(o.ID()); len(written) > 0 {
		return written[0].File
	}
	return e.sources.Kustomizations[folder].File
}
