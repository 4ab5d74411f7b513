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

// buildAll builds the folder of the entry, and follows the deliveries among its objects.
func (d *Delivery) buildAll(repository *Repository) (b built, problems []manifest.Problem) {
	defer fault.Keep(&problems, PlaceOf(d.name))
	b.root = d
	d.paths = kustomize.FindPaths(d.sources, d.folder)
	objects, problems := d.buildObjects()
	if d.from.IsPlain() || d.from.IsChart { // it may wait for its first objects
		problems = slices.DeleteFunc(problems, func(p manifest.Problem) bool {
			return p.Code == manifest.NoObjects && p.Line == 0
		})
	}
	d.setBuilt(objects)
	if len(problems) == 0 {
		b.local, problems = kustomize.LocalDefinitions(d.paths, objects)
	}
	defined, invalid := d.definitions(slices.Concat(objects, b.local))
	b.local, problems = append(b.local, defined...), append(problems, invalid...)
	if d.postBuild == nil && (IsFolder(d.name) || d.entry != "") {
		problems = append(problems, d.substituteOwn()...)
	}
	for i, o := range d.postBuild.Applied(d.known()) {
		d.objects[i].applied = o
	}
	b.undelivered = repository.undelivered
	if d.from.Cluster != "" {
		d.setBuilt(deliveringTo(d.from.Cluster, d.Applied()))
	}
	b.deliver(repository)
	if d.from.Cluster != "" { // its own objects are in another one
		d.setBuilt(nil)
	}
	objects = d.known()
	b.judges = definitionsIn(slices.Concat(objects, b.local))
	by := d.options.By
	if by != nil {
		b.judges = standIn(by.Definitions, b.judges)
	}
	b.checker, invalid = verdict.New(d.memo, d.kinds, d.kubernetes, b.judges)
	b.checker.PostBuild, b.checker.RuntimeConfig = d.postBuild, d.runtimeConfig
	b.checker.IsJudgedOnly, b.checker.IsRead = IsFolder(d.name), d.installed != ""
	for _, below := range d.below() {
		below.setNamespace(b.checker)
		below.setRendered(b.checker)
	}
	b.checker.IsByHand = IsFolder(d.name) && d.sync == nil
	if by != nil {
		b.checker.KeepCreated()
	}
	b.invalid = append(b.invalid, b.judgeInstalled(invalid)...)
	kustomize.SetImages(d.paths, objects, b.checker.Default)
	for i, o := range objects {
		d.objects[i].known = o
	}
	return b, problems
}

// buildObjects builds the folder. Objects that the memo has are the same ones.
func (d *Delivery) buildObjects() (objects []manifest.Object, problems []manifest.Problem) {
	objects, problems = kustomize.Build(d.paths, d.shared)
	for i := range objects {
		same := memo.Same(d.memo, objects[i].Unstructured)
		objects[i].Unstructured, objects[i].Written = same, same
	}
	return objects, problems
}
