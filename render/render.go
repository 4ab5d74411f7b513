// Package render turns the repository environments, environments/<name>, into rendered
// environments of plain Kubernetes manifests, rendered/<name>. Its output depends only on the
// files of the repository: on no cluster, clock, network or other program.
//
// Rendering is a row of stages: read, build, judge, expand, override, judge, lay out. A build follows the
// deliveries among its objects to other folders. Each stage is
// a function from values to values and problems. A stage reports every problem that it finds;
// after an error no later stage runs.
//
// Load makes an environment, and Judge what there is of it before its layout. NewUpdate loads environments and plans
// the changes of rendered/, to check or write them; UpdateOne does so for a verb that reads one environment of
// rendered/. OneObject renders one object without a repository, to test a kind.
package render

import (
	"cmp"
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
	// Unchecked are the kinds of Objects without a definition.
	Unchecked []Unchecked
	// Installed are the objects that controllers install. They are in no file.
	Installed []*release.Installed
	// Followed are the folders that tools apply for objects of the environment. Their objects are among Installed, too.
	Followed []*Delivery
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
	for _, installed := range r.Installed {
		n += len(installed.Objects)
	}
	return n
}

// Environment is all that one cluster gets from a tree. After an error it has what the stages before made.
type Environment struct {
	Name string
	// Problems are in the order of files.
	Problems []manifest.Problem
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
		e.Problems = manifest.SortProblems(e.pipeline.problems)
	}
	return e
}

// LoadIfThere is Load for an environment that may be gone unless it was asked for. That has an empty rendering.
func (r *Repository) LoadIfThere(name string, isAskedFor bool, progress func(step string)) *Environment {
	if !isAskedFor && !r.HasEnvironment(name) {
		return &Environment{Name: name, Rendering: &Rendering{Environment: name}}
	}
	return r.Load(name, progress)
}

// By is a judge in place of that of an environment. Its verdict keeps more, to be compared.
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
	e = &Environment{Name: name, Problems: manifest.SortProblems(p.problems), Sources: p.sources, pipeline: p}
	if len(p.built.objects) > 0 || !manifest.HasErrors(e.Problems) {
		e.Paths = p.paths
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
	isWritten := of.isFolder() && of.rendered != "" || of.isEntry() && !IsFolder(e.Name)
	for _, p := range tree.Layout(e.objectsOf(of), e.pipeline.checker.IsNamespaced) {
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

func (e *Environment) objectsOf(d *Delivery) []manifest.Object {
	switch {
	case d.isEntry():
		return e.pipeline.objects
	case d.Chart != nil:
		return d.Chart.Objects
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
	for _, r := range e.Installed() {
		all = append(all, r.Objects...)
	}
	return all
}

// Known returns the source objects, followed by their rendered objects, as far as they are known after an error.
func (e *Environment) Known() []manifest.Object { return e.pipeline.objects }

// Installed returns the deliveries with their objects.
func (e *Environment) Installed() []*release.Installed {
	return slices.Concat(e.pipeline.root.installed(), e.pipeline.root.asInstalled())
}

// JudgeRest returns all problems, with those of the stages that did not run after an error: on the objects of
// another verdict on the environment that are valid here. Without a judge there are no such stages.
func (e *Environment) JudgeRest(of *Environment) []manifest.Problem {
	p, other := e.pipeline, of.pipeline
	if p.isAdmitted {
		return e.Problems
	}
	refused := map[manifest.ID]bool{}
	for _, p := range e.Problems {
		if !p.Warning && p.Subject.Unstructured != nil {
			refused[p.Subject.ID()] = true
		}
	}
	valid := func(objects []manifest.Object) []manifest.Object {
		return slices.DeleteFunc(slices.Clone(objects), func(o manifest.Object) bool {
			return refused[o.ID()] || o.IsRendered() && refused[o.Source().ID()]
		})
	}
	rendered := overridden{paths: p.paths}
	if other.isOverridden {
		rendered.objects = valid(other.objects[len(other.built.objects):])
	}
	found := p.locateAll(slices.Concat(p.judgeRendered(p.checker, rendered),
		p.admit(p.checker, valid(other.objects), p.built)))
	return manifest.SortProblems(slices.Concat(e.Problems, found))
}

// Untold returns the paths that deliveries without known objects look at: with an error, or without their chart.
func (e *Environment) Untold() (looks []*source.Looks) {
	if e.pipeline == nil {
		return nil
	}
	for _, d := range e.pipeline.root.all() {
		if e.isUntold(d) {
			looks = append(looks, d.Looks)
		}
	}
	return looks
}

// isUntold reports whether no object of a delivery is known.
func (e *Environment) isUntold(d *Delivery) bool {
	isUnknown := len(d.Unknown) > 0 && !d.isOpen() || d.Chart != nil
	return isUnknown && len(e.objectsOf(d)) == 0 || d.isEntry() && !e.pipeline.isBuilt
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
	if p.addProblems(problems) {
		return p
	}
	progress("building")
	p.release = kustomize.Share(p.sources)
	p.built, problems = p.build(repository)
	if p.addProblems(problems) {
		return p
	}
	progress("validating")
	p.isBuilt, p.objects = true, p.built.objects
	stored, problems := p.judge(p.built)
	if p.addProblems(problems) {
		return p
	}
	progress("expanding")
	expanded, problems := p.expand(p.checker, p.built.objects, stored)
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

// rendering lays the objects out and adds the warnings. It returns nil after an error.
func (p *pipeline) rendering(repository *Repository) (r *Rendering) {
	defer fault.Keep(&p.problems, PlaceOf(p.name))
	if manifest.HasErrors(p.problems) {
		return nil
	}
	objects, files, problems := p.layOut()
	if p.addProblems(problems) {
		return nil
	}
	index := tree.Index{KeepsOrder: p.sources.Kustomizations[p.folder].SortOptions != nil}
	if p.kubernetes != 0 {
		index.Kubernetes = p.kubernetes.String()
	}
	beside, err := schema.File(p.kinds, objects)
	if problems = nil; !p.isSilent {
		problems = p.warnings(objects, repository)
	}
	delivered, wrong := p.layOutDelivered()
	problems = append(problems, wrong...)
	if err != nil {
		problems = append(problems, manifest.Problem{Code: manifest.RunFailed, Message: err.Error()})
	}
	if p.addProblems(problems) {
		return nil
	}
	return &Rendering{
		Environment: p.name,
		Objects:     objects,
		Files:       append(files, delivered...),
		Beside:      []tree.File{{Path: tree.FormerPage}, beside},
		Index:       index,
		Sources:     p.filesRead(),
		CRLF:        p.sources.CRLF(),
		PostBuild:   p.postBuild,
		Unchecked:   p.unchecked(slices.Concat(objects, p.root.delivered())),
		Installed:   slices.Concat(p.root.installed(), p.root.asInstalled()),
		Followed:    slices.DeleteFunc(p.followed(), (*Delivery).isSet),
		Charts:      p.sources.Charts,

		NameReferences: p.nameReferences(),
	}
}

// warnings returns the warnings about the objects and about unknown values of variables.
func (p *pipeline) warnings(objects []manifest.Object, repository *Repository) []manifest.Problem {
	all := slices.Concat(objects, p.root.delivered())
	environment := warn.Input{Kinds: p.kinds, Objects: all, Local: p.local, IsNamespaced: p.checker.IsNamespaced,
		Now: repository.Now, Deliveries: p.deliveries(objects)}
	environment.IsPrepared = sync.OnceValue(func() bool { // it reads all folders
		return len(repository.Find(func(name string, _ bool) bool {
			return strings.HasPrefix(path.Base(name), "helmfile")
		})) > 0
	})
	for _, r := range p.root.installed() {
		environment.Installed = append(environment.Installed, r.Objects...)
	}
	_, noRendering := repository.files.Lstat(path.Join(tree.Folder, p.name))
	environment.IsWritten = func(o manifest.Object) bool {
		_, err := repository.files.Lstat(o.File)
		return noRendering != nil || err == nil
	}
	p.addKustomizations(&environment)
	return slices.Concat(blameDeliveries(environment.Warnings()), p.lostNamespaces(), p.unknownValues(objects))
}

// allSources returns the sources of the environment and of followed folders.
func (p *pipeline) allSources() []*source.Sources {
	followed := p.followed()
	all := append(make([]*source.Sources, 0, 1+len(followed)), p.sources)
	for _, d := range followed {
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
	if IsFolder(p.name) || p.entry != "" { // a tool syncs it from its own namespace
		lists = append(lists, "Namespace flux-system, Namespace argocd")
	}
	return lists
}

// addKustomizations adds what the kustomizations of the environment and of followed folders say.
func (p *pipeline) addKustomizations(to *warn.Input) {
	renamed := []func(manifest.Object, manifest.ID) (manifest.ID, bool){kustomize.Renames(p.paths, p.built.objects)}
	for _, d := range p.followed() {
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
