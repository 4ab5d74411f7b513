// Package render turns the repository environments, environments/<name>, into rendered
// environments of plain Kubernetes manifests, rendered/<name>. Its output depends only on the
// files of the repository: on no cluster, clock, network or other program.
//
// Rendering is a row of stages: read, build, judge, expand, override, judge, admit, lay out; see Environment.load. A
// build follows the deliveries among its objects to other folders. Each stage is a function from values to values and
// problems. A stage reports every problem that it finds. A refused object goes no further and hides no other; an
// unknown one has a reason in its delivery, see Coverage.
//
// Load makes an environment, and Judge what there is of it before its layout. NewUpdate loads environments and plans
// the changes of rendered/, to check or write them; UpdateOne does so for a verb that reads one environment of
// rendered/. OneObject renders one object without a repository, to test a kind.
package render

import (
	"cmp"
	"path"
	"slices"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/watchdog"
)

// LoadOptions say how to load an environment.
type LoadOptions struct {
	// Progress, if not nil, is called with the name of each stage.
	Progress func(step string)
	// By, if not nil, is the judge in place of the environment's own.
	By *By
	// MayBeGone is for an environment that nobody asked for: if it is gone, it has an empty rendering and no problem.
	MayBeGone bool
	// NoWarnings leaves out the warnings that the API server does not give, as they have no reader.
	NoWarnings bool
	// Memo, if not nil, is for one environment that is loaded more than once, at several revisions or for several
	// judges: what stays the same is judged and written once.
	Memo *memo.Memo

	isJudgedOnly bool
}

// By is a judge in place of an environment's own. Its verdict keeps more, to be compared.
type By struct {
	// Kubernetes is a minor version, or empty for the one of the environment.
	Kubernetes string
	// Definitions stand in for the CustomResourceDefinitions of the same names.
	Definitions []manifest.Object
}

// Load renders an environment.
func (r *Repository) Load(name string, options LoadOptions) *Environment {
	e := &Environment{Name: name}
	switch {
	case r.HasEnvironment(name):
		e.load(r, options)
		all := manifest.SortProblems(e.found)
		e.Problems = slices.DeleteFunc(slices.Clone(all), e.leavesOut)
		e.LeftOut = len(all) - len(e.Problems)
	case options.MayBeGone:
		e.Rendering = &Rendering{Environment: name}
	default:
		e.Problems = []manifest.Problem{r.missing(name)}
	}
	return e
}

// Judge is Load without a layout and warnings: to explain objects or, by another judge, to compare two verdicts.
func (r *Repository) Judge(name string, options LoadOptions) *Environment {
	options.isJudgedOnly = true
	return r.Load(name, options)
}

// load runs the stages.
func (e *Environment) load(r *Repository, options LoadOptions) {
	step, done := watchdog.Environment(e.Name, source.Relative(folderOf(e.Name)))
	defer done()
	defer fault.Keep(&e.found, PlaceOf(e.Name))
	progress := func(doing string) {
		step(doing)
		if options.Progress != nil {
			options.Progress(doing)
		}
	}
	progress("reading")
	root, problems := readEntry(r, e.Name, options)
	e.common = root.common
	e.root = root
	e.report(r.settingsProblems()) // which hide no other
	absent, isNoneKnown := root.absent()
	e.root.unknown(absent...)
	if isNoneKnown {
		return
	}
	if e.report(problems) {
		e.root.unknown("error")
		return
	}
	progress("building")
	defer kustomize.Share(root.sources)()
	b, problems := root.buildAll(r)
	if len(absent) > 0 && manifest.HasErrors(problems) { // entries may need what is absent
		return
	}
	if e.report(problems) {
		e.root.unknown("error")
		return
	}
	e.built = b
	areKnown := e.judgeAll(r, progress)
	switch {
	case options.isJudgedOnly:
	case !manifest.HasErrors(e.found):
		e.Rendering = e.render(r)
	case areKnown: // otherwise a warning could be about an unknown object
		e.report(e.warnings(e.objects, r))
	}
}

// judgeAll runs the stages from the first verdict to the admission. A refused object goes no further, but for its name:
// references to it lead somewhere. It reports whether all objects of the environment are known as they would be
// applied.
func (e *Environment) judgeAll(r *Repository, progress func(step string)) (areKnown bool) {
	progress("validating")
	e.objects = e.root.known()
	stored, problems := e.judge()
	e.report(problems)
	progress("expanding")
	valid, refused := e.split(stored)
	expanded, problems := e.expand(e.checker, valid, stored)
	areAll := !e.report(problems) && !slices.ContainsFunc(refused, e.isSource)
	e.rendered = expanded.rendered
	o, problems := e.override(e.rendered)
	if areAll { // otherwise the overrides may be of an object that is not rendered
		e.report(problems)
	}
	e.objects = slices.Concat(expanded.sources, refused, o.objects)
	admitted := expanded.sources
	if o.areFinal { // otherwise an override may mend them
		o.objects = e.valid(o.objects)
		e.report(e.judgeRendered(o))
		admitted = slices.Concat(expanded.sources, o.objects)
	}
	e.report(e.admit(e.valid(admitted)))
	e.report(e.root.unlisted(r))
	return areAll && o.areFinal
}

// split splits the built objects into the objects that the API server stores, and the refused ones.
func (e *Environment) split(stored []manifest.Object) (valid, refused []manifest.Object) {
	for _, o := range e.objects {
		n := len(valid)
		if n < len(stored) && stored[n].Written == o.Written && stored[n].Origin == o.Origin {
			valid = append(valid, o)
		} else {
			refused = append(refused, o)
		}
	}
	return valid, refused
}

// refused returns the objects of errors.
func (e *Environment) refused() map[manifest.ID]bool {
	refused := map[manifest.ID]bool{}
	for _, p := range e.found {
		if p.IsError() && p.Subject.Unstructured != nil {
			refused[p.Subject.ID()] = true
		}
	}
	return refused
}

// valid returns the objects without an error, of themselves or of the objects that they are rendered from.
func (e *Environment) valid(objects []manifest.Object) []manifest.Object {
	refused := e.refused()
	if len(refused) == 0 {
		return objects
	}
	return slices.DeleteFunc(slices.Clone(objects), func(o manifest.Object) bool {
		return refused[o.ID()] || o.IsRendered() && refused[o.Source().ID()]
	})
}

// report records a stage's problems with their locations and reports whether any is an error.
func (e *Environment) report(problems []manifest.Problem) bool {
	for _, p := range problems {
		p = e.locate(p)
		if path.Ext(p.File) != "" {
			p.Line = cmp.Or(p.Line, 1) // a problem with a whole file is at its first line
		}
		e.found = append(e.found, p)
	}
	return manifest.HasErrors(problems)
}

// leavesOut reports whether the settings leave out the message of a problem. An error of an environment that is written
// stays, as nothing is written with it.
func (e *Environment) leavesOut(p manifest.Problem) bool {
	return e.known.LeavesOut(string(p.Code)) && (p.Warning || IsFolder(e.Name))
}
