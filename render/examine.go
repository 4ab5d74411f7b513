package render

import (
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Examination is a rendered environment with all that it was made from, also where there are
// errors in it.
type Examination struct {
	Environment string
	// Objects are what was written and what was rendered from it, as far as there are no
	// errors, each with its file.
	Objects []tree.Placed
	// Problems are in the order of files.
	Problems []manifest.Problem
	// Sources are what it is made from; nil where there is no such environment.
	Sources *source.Sources
	// Ways say how objects got into it; nil where kustomize cannot build it.
	Ways *kustomize.Ways

	stages *stages
}

// Examine renders an environment in order to ask about it. It calls progress with the name of
// each stage.
func Examine(repository *Repository, environment string, progress func(step string)) (*Examination, error) {
	names, err := repository.Select(Selection{Names: []string{environment}})
	if err != nil {
		return nil, err
	}
	e := &Examination{Environment: names[0]}
	if !repository.hasEnvironment(environment) {
		e.Problems = []manifest.Problem{repository.missing(environment)}
		return e, nil
	}
	e.stages = runStages(repository, environment, progress)
	e.Sources = e.stages.sources
	e.Problems = manifest.SortProblems(e.stages.problems)
	if len(e.stages.built.objects) == 0 && manifest.HasErrors(e.Problems) {
		return e, nil
	}
	e.Ways = e.stages.ways
	for _, p := range tree.Layout(e.stages.objects, e.stages.checker.IsNamespaced) {
		if p.Taken == nil {
			e.Objects = append(e.Objects, p)
		}
	}
	return e, nil
}

// Locate returns a problem at the file and line where people find an object.
func (e *Examination) Locate(o manifest.Object) manifest.Problem {
	return e.stages.locate(manifest.NewProblem(o, "", manifest.Value{}, ""))
}

// BeforeOverrides returns what an object was rendered to before the overrides of the environment
// changed it, and the folder of those; false where they did not.
func (e *Examination) BeforeOverrides(o manifest.Object) (expanded manifest.Object, folder string, ok bool) {
	expanded, ok = e.stages.before[o.Unstructured]
	return expanded, e.stages.overrides, ok
}
