package render

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/verdict"
)

// built is a repository environment as kustomize builds it.
type built struct {
	// root is the delivery of the environment's own folder, and has all others below it.
	root *Delivery
	// local are the CustomResourceDefinitions that other tools install: local config, and definitions.
	local []manifest.Object
	// checker judges by judges: the CustomResourceDefinitions among objects and local, or stand-ins.
	checker *verdict.Checker
	judges  []manifest.Object
	// invalid are the problems of these CustomResourceDefinitions, and of installed objects.
	invalid []manifest.Problem
	files   *source.FileSystem // of followed folders
	// undelivered is Repository.undelivered.
	undelivered func(schema.GroupVersionKind) (definition *unstructured.Unstructured, differing []string)
	// releases are the charts that controllers install.
	releases []release.Release
	// cluster is the cluster that charts are rendered for.
	cluster func() charts.Cluster
}

// followed returns the deliveries of folders and sets whose objects are there to be judged.
func (b *built) followed() []*Delivery { return b.root.followed() }

// build builds the environment.
func (in *input) build(repository *Repository) (b built, problems []manifest.Problem) {
	defer fault.Keep(&problems, PlaceOf(in.name))
	b.root = &Delivery{input: in, Looks: in.noted, postBuild: in.postBuild}
	b.root.paths = kustomize.FindPaths(in.sources, in.folder)
	objects, problems := in.buildObjects(b.root.paths)
	if in.from.IsPlain() { // it may wait for its first objects
		problems = slices.DeleteFunc(problems, func(p manifest.Problem) bool {
			return p.Code == manifest.NoObjects && p.Line == 0
		})
	}
	b.root.setBuilt(objects)
	if len(problems) == 0 {
		b.local, problems = kustomize.LocalDefinitions(b.root.paths, objects)
	}
	defined, invalid := in.definitions(slices.Concat(objects, b.local))
	b.local, problems = append(b.local, defined...), append(problems, invalid...)
	if in.postBuild == nil && (IsFolder(in.name) || in.entry != "") {
		problems = append(problems, b.root.substituteOwn()...)
		in.postBuild = b.root.postBuild
	}
	objects = b.root.known()
	for i, o := range in.postBuild.Applied(objects) {
		b.root.objects[i].applied = o
	}
	b.undelivered = repository.undelivered
	if in.from.Cluster != "" {
		b.root.setBuilt(deliveringTo(in.from.Cluster, b.root.Applied()))
	}
	b.deliver(in, repository)
	if in.from.Cluster != "" { // its own objects are in another one
		objects = nil
		b.root.setBuilt(nil)
	}
	b.judges = definitionsIn(slices.Concat(objects, b.local))
	if in.options.By != nil {
		b.judges = standIn(in.options.By.Definitions, b.judges)
	}
	b.checker, invalid = verdict.New(in.memo, in.kinds, in.kubernetes, b.judges)
	b.checker.PostBuild, b.checker.RuntimeConfig = in.postBuild, in.runtimeConfig
	b.checker.IsJudgedOnly, b.checker.IsRead = IsFolder(in.name), in.installed != ""
	for _, d := range b.root.below() {
		d.setNamespace(b.checker)
		d.setRendered(b.checker)
	}
	if in.options.By != nil {
		b.checker.KeepCreated()
	}
	b.invalid = append(b.invalid, b.judgeInstalled(invalid)...)
	kustomize.SetImages(b.root.paths, objects, b.checker.Default)
	for i, o := range objects {
		b.root.objects[i].known = o
	}
	return b, problems
}

// buildObjects builds the folder of paths. Objects that the memo has are the same ones.
func (in *input) buildObjects(paths *kustomize.Paths) (objects []manifest.Object, problems []manifest.Problem) {
	objects, problems = kustomize.Build(paths, in.shared)
	for i := range objects {
		same := memo.Same(in.memo, objects[i].Unstructured)
		objects[i].Unstructured, objects[i].Written = same, same
	}
	return objects, problems
}
