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
	objects []manifest.Object
	// paths are the build paths of the objects.
	paths *kustomize.Paths
	// local are the CustomResourceDefinitions that other tools install: local config, and definitions.
	local []manifest.Object
	// checker judges by judges: the CustomResourceDefinitions among objects and local, or stand-ins.
	checker *verdict.Checker
	judges  []manifest.Object
	// invalid are the problems of these CustomResourceDefinitions, and of installed objects.
	invalid []manifest.Problem
	// followed are the folders that Flux builds for Kustomizations of the environment.
	followed folders
	files    *source.FileSystem // of these folders
	// undelivered is Repository.undelivered.
	undelivered func(schema.GroupVersionKind) (definition *unstructured.Unstructured, differing []string)
	// releases are the charts that controllers install, and installed their objects in the cluster.
	releases  []release.Release
	installed []*release.Installed
	// untold are the paths that deliveries look at whose objects are not known.
	untold []*source.Looks
	// cluster is the cluster that charts are rendered for.
	cluster func() charts.Cluster
}

// build builds the environment.
func (in *input) build(repository *Repository) (b built, problems []manifest.Problem) {
	defer fault.Keep(&problems, PlaceOf(in.name))
	b.paths = kustomize.FindPaths(in.sources, in.folder)
	b.objects, problems = in.buildObjects(b.paths)
	if len(problems) == 0 {
		b.local, problems = kustomize.LocalDefinitions(b.paths, b.objects)
	}
	defined, invalid := in.definitions(slices.Concat(b.objects, b.local))
	b.local, problems = append(b.local, defined...), append(problems, invalid...)
	if in.postBuild == nil && (IsFolder(in.name) || in.entry != "") {
		b.objects, invalid = in.setOwnPostBuild(b.objects)
		problems = append(problems, invalid...)
	}
	applied := b.objects
	if in.postBuild != nil {
		applied = in.postBuild.Applied(b.objects)
	}
	b.undelivered = repository.undelivered
	b.deliver(in, repository, applied)
	b.judges = definitionsIn(slices.Concat(b.objects, b.local))
	if in.by != nil {
		b.judges = standIn(in.by.Definitions, b.judges)
	}
	b.checker, invalid = verdict.New(in.memo, in.kinds, in.kubernetes, b.judges)
	b.checker.PostBuild, b.checker.RuntimeConfig = in.postBuild, in.runtimeConfig
	for _, f := range b.followed {
		f.setNamespace(b.checker)
		f.setRendered(b.checker)
	}
	if in.by != nil {
		b.checker.KeepCreated()
	}
	b.invalid = append(b.invalid, b.judgeInstalled(invalid)...)
	kustomize.SetImages(b.paths, b.objects, b.checker.Default)
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
