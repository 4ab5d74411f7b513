package render

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/policy"
)

// Environment is all that one cluster gets from a tree. After an error it has what the stages before made.
type Environment struct {
	Name string
	// Problems are in the order of files.
	Problems []manifest.Problem
	// LeftOut is the number of problems that the settings of the repository leave out.
	LeftOut int
	// Rendering is nil after an error, and of an environment that is judged only.
	Rendering *Rendering

	*common                     // nil if there is no such environment
	built                       // without a judge if kustomize cannot build the entry
	objects  []manifest.Object  // the source objects, followed by their rendered objects
	rendered []manifest.Object  // before the overrides
	found    []manifest.Problem // of all stages
}

// IsThere reports whether the tree has the environment.
func (e *Environment) IsThere() bool { return e.common != nil }

// Deliveries returns the deliveries whose objects are there to be judged, the entry of the environment first.
func (e *Environment) Deliveries() (known []*Delivery) {
	for _, d := range e.root.all() {
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
	for _, p := range tree.Layout(e.objectsOf(of), e.checker.IsNamespaced) {
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
	if d.isEntry() {
		return e.objects
	}
	return d.InGit()
}

// Unchecked returns the kinds of the objects without a definition.
func (e *Environment) Unchecked() []Unchecked { return e.unchecked(e.objects) }

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
	located := locate(e.root.input, e.Paths(), p)
	located.Subject = o
	return located
}

// Sources returns the source files; nil if there is no such environment.
func (e *Environment) Sources() *source.Sources {
	if !e.IsThere() {
		return nil
	}
	return e.root.sources
}

// Paths returns the build paths of the objects; nil if kustomize cannot build the environment.
func (e *Environment) Paths() *kustomize.Paths {
	if !e.IsBuilt() {
		return nil
	}
	return e.root.paths
}

// Overrides returns the folder of the overrides, if there are any.
func (e *Environment) Overrides() string { return e.root.overrides }

// Rendered returns the rendered objects before the overrides.
func (e *Environment) Rendered() []manifest.Object { return e.rendered }

// Definitions returns the CustomResourceDefinitions that judge the environment. There is no judge after an error
// before the verdict.
func (e *Environment) Definitions() (definitions []manifest.Object, hasJudge bool) {
	if !e.IsThere() {
		return nil, false
	}
	return e.judges, e.IsBuilt()
}

// Checker returns the judge of the environment's applied objects.
func (e *Environment) Checker() *verdict.Checker {
	checker := *e.checker
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
func (e *Environment) Known() []manifest.Object { return e.objects }

// Below returns the deliveries below the entry, charts first.
func (e *Environment) Below() []*Delivery { return e.root.below() }

// Untold is a delivery whose objects the files here do not tell: with an error, without its chart, for another cluster,
// or at another revision.
type Untold struct {
	*source.Looks // the paths that it looks at
	// Of is the object in git that delivers, and By the object in the cluster, which a set may make of it.
	Of manifest.Object
	By manifest.ID
	// Reason says why this cluster does not get the objects, or is empty.
	Reason string
	// Why says why the objects are unknown, or is empty.
	Why string
	// IsForEntry reports whether it is for another cluster, whose own environment judges it.
	IsForEntry bool
	// IsUnaffected reports whether no change of a file here changes the objects, as they are at another revision.
	IsUnaffected bool
}

// Untold returns the deliveries without known objects.
func (e *Environment) Untold() (all []Untold) {
	if !e.IsThere() {
		return nil
	}
	for _, d := range e.root.all() {
		if e.isUntold(d) {
			why, _, _ := strings.Cut(strings.Join(d.Unknown, ": "), ": ")
			all = append(all, Untold{Looks: d.Looks, Of: d.Of, By: d.By(), Reason: d.Elsewhere(), Why: why,
				IsForEntry: e.isForEntry(d), IsUnaffected: d.Revision != ""})
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

// isForEntry reports whether a delivery is for another cluster, whose own environment judges it.
func (e *Environment) isForEntry(d *Delivery) bool {
	return !d.isEntry() && d.IsElsewhere && !d.IsSuspended && e.isEntry(targetOf(d.InCluster))
}

// isUntold reports whether no object of a delivery is known, or all are of another revision.
func (e *Environment) isUntold(d *Delivery) bool {
	isUnknown := len(d.Unknown) > 0 && !d.isOpen() || d.Chart != nil
	return isUnknown && len(e.objectsOf(d)) == 0 || d.isEntry() && !e.IsBuilt() || d.Revision != ""
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
	if !e.IsThere() {
		return all
	}
	for _, d := range e.root.all() {
		if e.isUntold(d) {
			continue
		}
		all = append(all, Consumer{Of: d.By(), IsKnown: len(d.Unknown) == 0, Looks: d.Looks})
	}
	return all
}

// Sync returns the Kustomization of Flux that syncs the environment, if it is one of its objects.
func (e *Environment) Sync() manifest.ID {
	if e.root == nil || e.root.sync == nil {
		return manifest.ID{}
	}
	return e.root.sync.Of.ID()
}

// IsBuilt reports whether kustomize built all objects.
func (e *Environment) IsBuilt() bool { return e.checker != nil }

// Kubernetes returns the minor version of Kubernetes that judges the environment.
func (e *Environment) Kubernetes() string {
	return cmp.Or(e.kubernetes, apiserver.Newest).String()
}

// DeclaresKubernetes reports whether the environment says its version, or something else says it for this judge.
func (e *Environment) DeclaresKubernetes() bool { return e.kubernetes != 0 }

// Mutation is the change of an object by the MutatingAdmissionPolicies of an environment.
type Mutation = policy.Mutation

// Mutations returns the mutations of the objects.
func (e *Environment) Mutations() map[manifest.ID]Mutation {
	all, _ := e.checker.Mutations(e.checker.Applied(e.objects))
	mutations := map[manifest.ID]Mutation{}
	for i, m := range all {
		mutations[e.objects[i].ID()] = m
	}
	return mutations
}
