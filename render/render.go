// Package render turns the environments of a repository, environments/<name>, into plain
// Kubernetes manifests, rendered/<name>. What it writes depends on the files of the
// repository alone: on no cluster, clock, network or other program.
//
// Rendering is a row of stages: read, build, judge, expand, override, judge, lay out. Each is
// a function from values to values and problems. A stage reports all problems that it sees;
// where one of them is an error, no later stage runs.
package render

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/page"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/warn"
)

// Rendering is a rendered environment.
type Rendering struct {
	// Environment is its name.
	Environment string
	// Objects are what people wrote and what was rendered from it, in apply order, each with its
	// file.
	Objects []manifest.Object
	// Files hold one object each, in the same order.
	Files []tree.File
	// Beside are the page about the environment, and the schema for editors.
	Beside []tree.File
	// Index is what its index says of it. It keeps the order where the environment sets that itself,
	// by sortOptions.
	Index tree.Index
	// Sources are the files that it was made from, relative to the root.
	Sources []string
}

// Render renders an environment. It returns its problems in the order of files, and no
// Rendering if one of them is an error. It calls progress with the name of each stage.
func Render(repository *Repository, name string, progress func(step string)) (*Rendering, []manifest.Problem) {
	s := runStages(repository, name, progress)
	rendering := s.rendering(repository.Now)
	return rendering, manifest.SortProblems(s.problems)
}

// rendering runs the last stages; it returns nil where a stage refused the environment.
func (s *stages) rendering(now time.Time) *Rendering {
	if manifest.HasErrors(s.problems) {
		return nil
	}
	files, problems := s.layOut()
	if s.refused(problems) {
		return nil
	}
	index := tree.Index{KeepsOrder: s.sources.Kustomizations[s.folder].SortOptions != nil}
	if s.kubernetes != 0 {
		index.Kubernetes = s.kubernetes.String()
	}
	beside, err := page.Files(s.kinds, s.name, index.Kubernetes, s.objects, files)
	if err != nil {
		s.problems = append(s.problems, manifest.Problem{Message: err.Error()})
	}
	s.refused(s.warnings(now))
	if manifest.HasErrors(s.problems) {
		return nil
	}
	return &Rendering{
		Environment: s.name,
		Objects:     s.objects,
		Files:       files,
		Beside:      beside,
		Index:       index,
		Sources:     s.sources.FS.FilesRead(),
	}
}

// stages holds what the stages made of an environment. Where one of them refused it, what the
// later ones would make is missing.
type stages struct {
	*environment
	built
	// objects are the written ones, followed by what was rendered from them.
	objects  []manifest.Object
	problems []manifest.Problem
	// before has the rendered objects that overrides changed as they were.
	before map[*unstructured.Unstructured]manifest.Object
}

// refused notes the problems of a stage, with their files and lines, and reports whether any
// of them is an error.
func (s *stages) refused(problems []manifest.Problem) bool {
	for _, p := range problems {
		s.problems = append(s.problems, s.locate(p))
	}
	return manifest.HasErrors(problems)
}

// runStages runs all stages up to the last verdict.
func runStages(repository *Repository, name string, progress func(step string)) *stages {
	progress("reading")
	environment, problems := read(repository, name)
	s := &stages{environment: environment}
	if s.refused(problems) {
		return s
	}
	progress("building")
	s.built, problems = s.build()
	if s.refused(problems) {
		return s
	}
	progress("validating")
	stored, problems := s.judge(s.built)
	s.objects = s.built.objects
	if s.refused(problems) {
		return s
	}
	s.copyChanging(stored)
	progress("expanding")
	expanded, problems := s.expand(s.checker, stored)
	if s.refused(problems) {
		return s
	}
	overridden, problems := s.override(s.built, expanded)
	if s.refused(problems) {
		return s
	}
	s.objects, s.before = slices.Concat(s.objects, overridden.objects), overridden.before
	if s.refused(s.judgeRendered(s.checker, overridden)) {
		return s
	}
	s.refused(s.admit(s.checker, s.objects))
	return s
}

// warnings returns what is accepted and may yet not be what was meant.
func (s *stages) warnings(now time.Time) []manifest.Problem {
	environment := warn.Input{Kinds: s.kinds, Objects: s.objects, Local: s.local, IsNamespaced: s.checker.IsNamespaced, Now: now}
	for _, k := range s.sources.Kustomizations {
		if k.MetaData != nil {
			environment.Elsewhere = append(environment.Elsewhere, k.MetaData.Annotations[warn.ElsewhereAnnotation])
		}
	}
	return append(environment.Warnings(), s.unjudged()...)
}
