// Package render turns the repository environments, environments/<name>, into rendered
// environments of plain Kubernetes manifests, rendered/<name>. Its output depends only on the
// files of the repository: on no cluster, clock, network or other program.
//
// Rendering is a row of stages: read, build, judge, expand, override, judge, lay out. A build follows the
// deliveries among its objects to other folders. Each stage is
// a function from values to values and problems. A stage reports every problem that it finds. A refused object goes no
// further; an unknown one has a reason in its delivery, see Coverage.
//
// Load makes an environment, and Judge what there is of it before its layout. NewUpdate loads environments and plans
// the changes of rendered/, to check or write them; UpdateOne does so for a verb that reads one environment of
// rendered/. OneObject renders one object without a repository, to test a kind.
package render

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
	"example.com/gatehouse/render/schema"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/policy"
	"example.com/gatehouse/render/warn"
	"example.com/gatehouse/render/watchdog"
)

// Rendering is a rendered environment.
type Rendering struct {
	// Environment is its name.
	Environment string
	// Objects are the source objects and their rendered objects, in apply order, each with its
	// file.
	Objects []manifest.Object
	// Files hold one object each, in the same order. After these come the files of deliveries.
	Files []tree.File
	// Beside are the schema for editors, and files that former versions wrote, without content.
	Beside []tree.File
	// Index describes the environment in its index. The index keeps the order of objects if the
	// environment sets sortOptions.
	Index tree.Index
	// Sources are the source files, relative to the root.
	Sources []string
	// CRLF are files of generators with CRLF line ends, relative to the root.
	CRLF []string
	// PostBuild has the variables that Flux substitutes in Objects, if any.
	PostBuild *flux.PostBuild
	// Deliveries are below the entry, charts first. The objects of charts and ApplicationSets are in no file.
	Deliveries []*Delivery
	// Charts are the charts of the kustomizations.
	Charts []source.Chart
	// NameReferences are the fields that configurations of the kustomizations know to name objects.
	NameReferences []references.Configured
}

// count returns the number of written objects, or of a folder also the number of objects that tools make of them.
func (r *Rendering) count() int {
	n := len(r.Objects)
	if !IsFolder(r.Environment) {
		return n + len(slices.DeleteFunc(slices.Clone(r.Files[n:]), func(f tree.File) bool {
			return path.Base(f.Path) == tree.IndexFile
		}))
	}
	for _, d := range r.Deliveries {
		n += len(d.Applied())
	}
	return n
}

// Environment is all that one cluster gets from a tree. After an error it has what the stages before made.
type Environment struct {
	Name string
	// Problems are in the order of files.
	Problems []manifest.Problem
	// LeftOut is the number of problems that the settings of the repository leave out.
	LeftOut int
	// Rendering is nil after an error, and of an environment that is judged only.
	Rendering *Rendering
	// Sources are the source files; nil if there is no such environment.
	Sources *source.Sources
	// Paths are the build paths of the objects; nil if kustomize cannot build the environment.
	Paths *kustomize.Paths

	pipeline *pipeline // nil if there is no such environment
}

// Load renders an environment. It calls progress with the name of each stage.
func (r *Repository) Load(name string, progress func(step string)) *Environment {
	e, release := r.judge(name, nil, progress)
	defer release()
	if e.IsThere() {
		e.Rendering = e.pipeline.rendering(r)
		e.setProblems()
	}
	return e
}

// setProblems sets the problems of all stages but for messages that the settings leave out.
func (e *Environment) setProblems() {
	e.Problems = e.pipeline.told(e.pipeline.problems)
	e.LeftOut = len(manifest.SortProblems(e.pipeline.problems)) - len(e.Problems)
}

// told returns problems in the order of files, without messages that the settings leave out. An error of an environment
// that is written stays, as nothing is written with it.
func (p *pipeline) told(problems []manifest.Problem) []manifest.Problem {
	return slices.DeleteFunc(manifest.SortProblems(problems), func(problem manifest.Problem) bool {
		return p.known.LeavesOut(string(problem.Code)) && (problem.Warning || IsFolder(p.name))
	})
}

// LoadIfThere is Load for an environment that may be gone unless it was asked for. That has an empty rendering.
func (r *Repository) LoadIfThere(name string, isAskedFor bool, progress func(step string)) *Environment {
	if !isAskedFor && !r.HasEnvironment(name) {
		return &Environment{Name: name, Rendering: &Rendering{Environment: name}}
	}
	return r.Load(name, progress)
}

// By is a judge in place of an environment's own. Its verdict keeps more, to be compared.
type By struct {
	// Kubernetes is a minor version, or empty for the one of the environment.
	Kubernetes string
	// Definitions stand in for the CustomResourceDefinitions of the same names.
	Definitions []manifest.Object
}

// Judge is Load without a layout and warnings: to explain objects or, by another judge, to compare two verdicts.
func (r *Repository) Judge(name string, by *By, progress func(step string)) *Environment {
	e, release := r.judge(name, by, progress)
	release()
	return e
}

// judge runs all stages before the layout. Release ends the use of kustomize's schemas.
func (r *Repository) judge(name string, by *By, progress func(step string)) (e *Environment, release func()) {
	if !r.HasEnvironment(name) {
		return &Environment{Name: name, Problems: []manifest.Problem{r.missing(name)}}, func() {}
	}
	p := runPipeline(r, name, by, progress)
	e = &Environment{Name: name, Sources: p.sources, pipeline: p}
	e.setProblems()
	if len(p.root.objects) > 0 || !manifest.HasErrors(p.problems) {
		e.Paths = p.root.paths
	}
	return e, p.release
}

// IsThere reports whether the tree has the environment.
func (e *Environment) IsThere() bool { return e.pipeline != nil }

// Deliveries returns the deliveries whose objects are there to be judged, the entry of the environment first.
func (e *Environment) Deliveries() (known []*Delivery) {
	for _, d := range e.pipeline.root.all() {
		if d.isEntry() || d.isOpen() || d.Chart != nil {
			known = append(known, d)
		}
	}
	return known
}

// Objects returns the objects of a delivery, each with its file in rendered/ if it has one: as they are in git, for the
// entry of the environment with their rendered objects. After an error some are missing.
func (e *Environment) Objects(of *Delivery) (objects []manifest.Object) {
	folder := path.Join(tree.Folder, e.Name, of.rendered)
	isWritten := of.IsFolder() && of.rendered != "" || of.isEntry() && !IsFolder(e.Name)
	for _, p := range tree.Layout(e.pipeline.objectsOf(of), e.pipeline.checker.IsNamespaced) {
		if p.Taken != nil {
			continue
		}
		p.File = ""
		if isWritten {
			p.File = path.Join(folder, p.Path)
		}
		objects = append(objects, p.Object)
	}
	return objects
}

func (p *pipeline) objectsOf(d *Delivery) []manifest.Object {
	if d.isEntry() {
		return p.objects
	}
	return d.InGit()
}

// Unchecked returns the kinds of the objects without a definition.
func (e *Environment) Unchecked() []Unchecked { return e.pipeline.unchecked(e.pipeline.objects) }

// Locate returns an empty problem with the source file and line of an object.
func (e *Environment) Locate(o manifest.Object) manifest.Problem {
	return e.LocateProblem(manifest.NewProblem(o, "", manifest.Value{}, ""))
}

// LocateProblem returns a problem with its source file and line, or the line of the release that installs the object.
func (e *Environment) LocateProblem(p manifest.Problem) manifest.Problem {
	o := p.Subject
	if _, isOfChart := o.Delivery.(*release.Installed); isOfChart {
		p.Subject = o.Delivery.Object()
		p.Field = ""
	}
	located := locate(e.pipeline.input, e.Paths, p)
	located.Subject = o
	return located
}

// Overrides returns the folder of the overrides, if there are any.
func (e *Environment) Overrides() string { return e.pipeline.overrides }

// Rendered returns the rendered objects before the overrides.
func (e *Environment) Rendered() []manifest.Object { return e.pipeline.rendered }

// Definitions returns the CustomResourceDefinitions that judge the environment. There is no judge after an error
// before the verdict.
func (e *Environment) Definitions() (definitions []manifest.Object, hasJudge bool) {
	if e.pipeline == nil {
		return nil, false
	}
	return e.pipeline.judges, e.pipeline.isBuilt
}

// Checker returns the judge of the environment's applied objects.
func (e *Environment) Checker() *verdict.Checker {
	checker := *e.pipeline.checker
	checker.PostBuild = nil
	return &checker
}

// Judged returns the objects of the environment, and the objects that controllers install.
func (e *Environment) Judged() []manifest.Object {
	all := slices.Clone(e.Known())
	for _, d := range e.Below() {
		all = append(all, d.Applied()...)
	}
	return all
}

// Known returns the source objects, followed by their rendered objects, as far as they are known after an error.
func (e *Environment) Known() []manifest.Object { return e.pipeline.objects }

// Below returns the deliveries below the entry, charts first.
func (e *Environment) Below() []*Delivery { return e.pipeline.root.below() }

// JudgeRest returns all problems, with those of the stages that did not run after an error: on the objects of
// another verdict on the environment that are valid here. Without a judge there are no such stages.
func (e *Environment) JudgeRest(of *Environment) []manifest.Problem {
	p, other := e.pipeline, of.pipeline
	if p.isAdmitted {
		return e.Problems
	}
	refused := refusedBy(p.problems)
	valid := func(objects []manifest.Object) []manifest.Object {
		return slices.DeleteFunc(slices.Clone(objects), func(o manifest.Object) bool {
			return refused[o.ID()] || o.IsRendered() && refused[o.Source().ID()]
		})
	}
	rendered := overridden{paths: p.root.paths}
	if other.isOverridden {
		rendered.objects = valid(other.objects[len(other.root.objects):])
	}
	found := p.locateAll(slices.Concat(p.judgeRendered(p.checker, rendered),
		p.admit(p.checker, valid(other.objects), p.built)))
	return p.told(slices.Concat(p.problems, found))
}

// refusedBy returns the objects of errors.
func refusedBy(problems []manifest.Problem) map[manifest.ID]bool {
	refused := map[manifest.ID]bool{}
	for _, p := range problems {
		if !p.Warning && p.Subject.Unstructured != nil {
			refused[p.Subject.ID()] = true
		}
	}
	return refused
}

// Untold is a delivery whose objects the files here do not tell: with an error, without its chart, for another cluster,
// or at another revision.
type Untold struct {
	*source.Looks // the paths that it looks at
	// Of is the object that delivers, and Reason says why this cluster does not get the objects, or is empty.
	Of     manifest.Object
	Reason string
	// IsUnaffected reports whether no change of a file here changes the objects, as they are at another revision.
	IsUnaffected bool
}

// Untold returns the deliveries without known objects.
func (e *Environment) Untold() (all []Untold) {
	if e.pipeline == nil {
		return nil
	}
	for _, d := range e.pipeline.root.all() {
		if e.isUntold(d) {
			all = append(all, Untold{d.Looks, d.Of, d.Elsewhere(), d.Revision != ""})
		}
	}
	return all
}

// Consumed returns the files whose content the known deliveries consumed, from the root.
func (e *Environment) Consumed() (files []string) {
	for _, c := range e.Consumers() {
		if c.IsKnown {
			files = append(files, c.Looks.Consumed()...)
		}
	}
	return files
}

// Consumes reports whether a delivery of the environment consumes a file.
func (e *Environment) Consumes(file string) bool {
	return slices.ContainsFunc(e.Consumers(), func(c Consumer) bool { return c.Looks.Consumes(file) })
}

// IsWithin reports whether a file, from the root, is in the folder of the environment.
func (e *Environment) IsWithin(file string) bool { return source.IsWithin("/"+file, folderOf(e.Name)) }

// isUntold reports whether no object of a delivery is known, or all are of another revision.
func (e *Environment) isUntold(d *Delivery) bool {
	isUnknown := len(d.Unknown) > 0 && !d.isOpen() || d.Chart != nil
	return isUnknown && len(e.pipeline.objectsOf(d)) == 0 || d.isEntry() && !e.pipeline.isBuilt || d.Revision != ""
}

// Consumer is a delivery with known objects, and the files whose content it consumes.
type Consumer struct {
	Of      manifest.ID // empty for the entry
	IsKnown bool        // as a whole
	Looks   *source.Looks
}

// Consumers returns the deliveries with known objects. It is not nil.
func (e *Environment) Consumers() []Consumer {
	all := []Consumer{}
	if e.pipeline == nil {
		return all
	}
	for _, d := range e.pipeline.root.all() {
		if e.isUntold(d) {
			continue
		}
		c := Consumer{IsKnown: len(d.Unknown) == 0, Looks: d.Looks}
		if !d.isEntry() {
			c.Of = d.Of.ID()
		}
		all = append(all, c)
	}
	return all
}

// IsBuilt reports whether kustomize built all objects.
func (e *Environment) IsBuilt() bool { return e.pipeline != nil && e.pipeline.isBuilt }

// Kubernetes returns the minor version of Kubernetes that judges the environment.
func (e *Environment) Kubernetes() string {
	return cmp.Or(e.pipeline.kubernetes, apiserver.Newest).String()
}

// DeclaresKubernetes reports whether the environment says its version, or something else says it for this judge.
func (e *Environment) DeclaresKubernetes() bool { return e.pipeline.kubernetes != 0 }

// Mutation is the change of an object by the MutatingAdmissionPolicies of an environment.
type Mutation = policy.Mutation

// Mutations returns the mutations of the objects.
func (e *Environment) Mutations() map[manifest.ID]Mutation {
	all, _ := e.pipeline.checker.Mutations(e.pipeline.checker.Applied(e.pipeline.objects))
	mutations := map[manifest.ID]Mutation{}
	for i, m := range all {
		mutations[e.pipeline.objects[i].ID()] = m
	}
	return mutations
}

// pipeline has the results of the stages. After an error later results are missing.
type pipeline struct {
	*input
	built
	// objects are the source objects, followed by their rendered objects.
	objects []manifest.Object
	// rendered are the rendered objects before the overrides.
	rendered []manifest.Object
	problems []manifest.Problem
	// isBuilt reports whether all objects are built, isOverridden whether these are overridden and
	// expanded, and isAdmitted whether all stages ran.
	isBuilt, isOverridden, isAdmitted bool
	// release ends the use of kustomize's schemas.
	release func()
}

// addProblems records a stage's problems with their locations and reports whether any is an error.
func (p *pipeline) addProblems(problems []manifest.Problem) bool {
	p.problems = append(p.problems, p.locateAll(problems)...)
	return manifest.HasErrors(problems)
}

// locateAll returns problems with their locations. A problem with a whole file is at its first line.
func (p *pipeline) locateAll(problems []manifest.Problem) []manifest.Problem {
	located := make([]manifest.Problem, len(problems))
	for i, problem := range problems {
		if located[i] = p.locate(problem); path.Ext(located[i].File) != "" {
			located[i].Line = max(located[i].Line, 1)
		}
	}
	return located
}

// runPipeline runs all stages before the layout.
func runPipeline(repository *Repository, name string, by *By, show func(step string)) (p *pipeline) {
	step, done := watchdog.Environment(name, source.Relative(folderOf(name)))
	defer done()
	progress := func(doing string) {
		step(doing)
		show(doing)
	}
	progress("reading")
	p = &pipeline{built: built{root: &Delivery{}}, release: func() {}}
	defer fault.Keep(&p.problems, PlaceOf(name))
	input, problems := readInput(repository, name, by)
	p.input = input
	p.root = &Delivery{input: input, Looks: input.noted}
	p.addProblems(repository.settingsProblems()) // which hide no other
	absent, isNoneKnown := input.absent()
	p.root.unknown(absent...)
	if isNoneKnown {
		return p
	}
	if p.addProblems(problems) {
		p.root.unknown("error")
		return p
	}
	progress("building")
	p.release = kustomize.Share(p.sources)
	p.built, problems = p.build(repository)
	p.root.unknown(absent...)
	if len(absent) > 0 && manifest.HasErrors(problems) { // entries may need what is absent
		return p
	}
	if p.addProblems(problems) {
		p.root.unknown("error")
		return p
	}
	progress("validating")
	p.isBuilt = true
	p.objects = p.root.known()
	stored, problems := p.judge(p.built)
	if p.addProblems(problems) {
		if by == nil {
			p.goOn(repository, stored)
		}
		return p
	}
	progress("expanding")
	expanded, problems := p.expand(p.checker, p.objects, stored)
	if p.addProblems(problems) {
		return p
	}
	p.rendered = expanded.rendered
	overridden, problems := p.override(p.built, p.rendered)
	if p.addProblems(problems) {
		return p
	}
	p.objects = slices.Concat(expanded.sources, overridden.objects)
	p.isOverridden = true
	if p.addProblems(p.judgeRendered(p.checker, overridden)) {
		return p
	}
	p.isAdmitted = true
	p.addProblems(p.admit(p.checker, p.objects, p.built))
	p.addProblems(p.unlisted(repository))
	return p
}

// goOn judges the rest after errors of the verdict, on the objects that are valid: a refused object hides no problem of
// another one. The rendered objects of a refused one are unknown, so an environment with one stays as it is.
func (p *pipeline) goOn(repository *Repository, stored []manifest.Object) {
	var valid []manifest.Object
	for _, o := range p.root.known() {
		switch n := len(valid); {
		case n < len(stored) && stored[n].Written == o.Written && stored[n].Origin == o.Origin:
			valid = append(valid, o)
		case p.isSource(o):
			return
		}
	}
	p.refused = refusedBy(p.problems)
	expanded, problems := p.expand(p.checker, valid, stored)
	rendered, invalid := p.completeNames(expanded.rendered)
	if p.addProblems(append(problems, invalid...)) {
		return
	}
	p.objects = slices.Concat(p.root.known(), rendered)
	p.isAdmitted = true
	known := map[string]bool{}
	for _, problem := range p.problems {
		known[problem.String()] = true
	}
	found := p.locateAll(slices.Concat(p.admit(p.checker, slices.Concat(expanded.sources, rendered), p.built),
		p.unlisted(repository)))
	p.problems = append(p.problems, slices.DeleteFunc(found, func(problem manifest.Problem) bool {
		return known[problem.String()] // the verdict finds duplicates, too
	})...)
}

// rendering lays the objects out and adds the warnings. After an error it adds them alone, and returns nil.
func (p *pipeline) rendering(repository *Repository) (r *Rendering) {
	defer fault.Keep(&p.problems, PlaceOf(p.name))
	if manifest.HasErrors(p.problems) || !p.isBuilt {
		if p.isAdmitted && !p.isSilent {
			p.addProblems(p.warnings(p.objects, repository))
		}
		return nil
	}
	objects, files, problems := p.layOut()
	index := tree.Index{KeepsOrder: p.sources.Kustomizations[p.folder].SortOptions != nil}
	if p.kubernetes != 0 {
		index.Kubernetes = p.kubernetes.String()
	}
	beside, err := schema.File(p.kinds, objects)
	if !p.isSilent {
		problems = append(problems, p.warnings(objects, repository)...)
	}
	if err != nil {
		problems = append(problems, manifest.Problem{Code: manifest.RunFailed, Message: err.Error()})
	}
	if p.addProblems(problems) {
		return nil
	}
	return &Rendering{
		Environment: p.name,
		Objects:     objects,
		Files:       files,
		Beside:      []tree.File{{Path: tree.FormerPage}, beside},
		Index:       index,
		Sources:     p.filesRead(),
		CRLF:        p.sources.CRLF(),
		PostBuild:   p.postBuild,
		Deliveries:  p.root.below(),
		Charts:      p.sources.Charts,

		NameReferences: p.nameReferences(),
	}
}

// warnings returns the warnings about the objects and about unknown values of variables.
func (p *pipeline) warnings(objects []manifest.Object, repository *Repository) []manifest.Problem {
	all := slices.Concat(objects, p.root.delivered())
	environment := warn.Input{Kinds: p.kinds, Objects: all, Local: p.local, IsNamespaced: p.checker.IsNamespaced,
		Now: repository.Now, Deliveries: p.deliveries(objects)}
	environment.Resources = p.checker.Resources
	environment.IsPartial = slices.ContainsFunc(p.root.all(), func(d *Delivery) bool { return len(d.Unknown) > 0 })
	environment.IsPrepared = sync.OnceValue(func() bool { // it reads all folders
		isPrepared := false
		source.Walk(repository.files, func(name string, _ fs.DirEntry) (enter bool) {
			isPrepared = isPrepared || strings.HasPrefix(path.Base(name), "helmfile")
			return !isPrepared
		})
		return isPrepared
	})
	for _, d := range p.root.charts() {
		environment.Installed = append(environment.Installed, d.Applied()...)
	}
	_, noRendering := repository.files.Lstat(path.Join(tree.Folder, p.name))
	environment.IsWritten = func(o manifest.Object) bool {
		_, err := repository.files.Lstat(o.File)
		return noRendering != nil || err == nil
	}
	p.addKustomizations(&environment)
	if IsFolder(p.name) { // perhaps without a kustomization
		environment.ElsewhereFile = settings.File
	}
	return slices.Concat(blameDeliveries(environment.Warnings()), p.lostNamespaces(), p.unknownValues(objects),
		p.unserved(all))
}

// allSources returns the sources of the environment and of followed folders.
func (p *pipeline) allSources() (all []*source.Sources) {
	for _, d := range p.root.open() {
		all = append(all, d.sources)
	}
	return all
}

// nameReferences returns the fields that configurations of kustomizations know to name objects.
func (p *pipeline) nameReferences() (all []references.Configured) {
	for _, sources := range p.allSources() {
		all = append(all, kustomize.Configured(sources)...)
	}
	return all
}

// elsewhere returns the objects that kustomizations of the environment and of followed folders say are elsewhere.
func (p *pipeline) elsewhere() (lists warn.Elsewhere) {
	for _, sources := range p.allSources() {
		for _, k := range sources.Kustomizations {
			if k.MetaData != nil {
				lists = append(lists, k.MetaData.Annotations[warn.ElsewhereAnnotation])
			}
		}
	}
	lists = append(lists, strings.Join(p.known.Elsewhere, ","))
	if IsFolder(p.name) || p.entry != "" { // a tool syncs it from its own namespace
		lists = append(lists, "Namespace flux-system, Namespace argocd")
	}
	return lists
}

// addKustomizations adds what the kustomizations of the environment and of followed folders say.
func (p *pipeline) addKustomizations(to *warn.Input) {
	var renamed []func(manifest.Object, manifest.ID) (manifest.ID, bool)
	for _, d := range p.root.open() {
		if d.paths != nil {
			renamed = append(renamed, kustomize.Renames(d.paths, d.known()))
		}
	}
	to.Configured, to.Elsewhere = p.nameReferences(), p.elsewhere()
	to.Renamed = func(from manifest.Object, was manifest.ID) (now manifest.ID, ok bool) {
		for i := 0; i < len(renamed) && !ok; i++ {
			now, ok = renamed[i](from, was)
		}
		return now, ok
	}
}
