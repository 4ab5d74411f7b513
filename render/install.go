package render

import (
	"cmp"
	"path"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery/definitions"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/secret"
)

// install returns the objects of releases whose charts are in files.
func (b *built) install(in *input, files *source.FileSystem, releases []release.Release) ([]*release.Installed,
	[]manifest.Problem) {
	return release.Installer{
		Files: files, Cluster: b.cluster, Memo: in.shared,
		PostRender: func(k map[string]any, objects []manifest.Object) ([]manifest.Object, error) {
			return kustomize.PostRender(in.sources, k, objects)
		},
		BlamePostRender: func(k map[string]any, p manifest.Problem) (keys []string, part string) {
			return kustomize.BlamePostRender(in.sources, k, p)
		},
		Locate: in.locateText,
	}.Install(releases)
}

// Delivers reports whether a tool may make other objects by an object.
func Delivers(o manifest.Object) bool { return release.Is(o) || folder.Delivers(o) }

// Install returns the objects that tools make by applied objects, with the folders and charts of a repository, which
// may be at another revision. Each has the name of a file.
func (e *Environment) Install(objects []manifest.Object, repository *Repository) ([]*release.Installed,
	[]manifest.Problem) {
	var b built
	var found []manifest.Problem
	files := repository.fileSystem()
	b.followed, _, found = e.pipeline.follow(repository, files, objects)
	for _, f := range b.followed {
		f.setNamespace(e.pipeline.checker)
	}
	delivered := b.followedObjects()
	all, problems := e.pipeline.install(e.pipeline.input, files,
		release.Find(slices.Concat(objects, delivered)))
	problems = append(problems, found...)
	for _, installed := range all {
		for j, o := range installed.Objects {
			installed.Objects[j] = e.pipeline.checker.WithNamespace(o, installed.Namespace)
		}
		installed.Objects = e.pipeline.placeInstalled(installed)
	}
	return append(all, b.delivered()...), problems
}

// placeInstalled gives each object of a release a name of a file in its chart.
func (b *built) placeInstalled(r *release.Installed) (objects []manifest.Object) {
	for _, p := range tree.Layout(r.Objects, b.checker.IsNamespaced) {
		if p.Taken == nil {
			p.File = path.Join(r.Archive, p.Path)
			objects = append(objects, p.Object)
		}
	}
	return objects
}

// addInstalled adds the objects that controllers install by applied and delivered objects, and their
// CustomResourceDefinitions to local
// unless it has them.
func (b *built) addInstalled(in *input, applied []manifest.Object) {
	var defined []manifest.Object
	known := map[string]bool{}
	own := len(b.objects) + len(b.local)
	delivered := b.followedObjects()
	for i, o := range slices.Concat(b.objects, b.local, delivered) {
		if !crd.Is(o.Unstructured) || i >= own && known[o.GetName()] {
			continue
		}
		known[o.GetName()] = true
		defined = append(defined, o)
		if i >= own {
			b.local = append(b.local, o)
		}
	}
	b.cluster = sync.OnceValue(func() charts.Cluster { // most environments have no releases
		return clusterOf(in.sources.Kustomizations[in.folder], defined)
	})
	b.releases = release.Find(slices.Concat(applied, delivered))
	var problems []manifest.Problem
	b.installed, problems = b.install(in, in.sources.FS, b.releases)
	b.invalid = append(b.invalid, blameDeliveries(problems)...)
	for _, r := range b.installed {
		if r.Objects == nil {
			b.untold = append(b.untold, r.Noted)
		}
		for _, o := range r.Objects {
			if crd.Is(o.Unstructured) && !known[o.GetName()] {
				known[o.GetName()] = true
				b.local = append(b.local, o)
			}
		}
	}
	b.local = append(b.local, b.otherDefinitions(in, known)...)
}

// otherDefinitions returns the definitions in files of the repository that nothing delivers, or of this program, for
// the kinds of all objects whose definition is not known, if they serve each version that an object has: others may be
// of another release of the tool.
func (b *built) otherDefinitions(in *input, known map[string]bool) (all []manifest.Object) {
	objects := slices.Concat(b.objects, b.followedObjects())
	for _, r := range b.installed {
		objects = append(objects, r.Objects...)
	}
	found := map[schema.GroupKind]*unstructured.Unstructured{}
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		// most environments have no others, and reading the definitions takes time
		if apiserver.IsGroup(gvk.Group) || in.kinds.Find(gvk) != nil {
			continue
		}
		definition, _ := b.undelivered(gvk)
		if definition == nil {
			definition = definitions.Of(gvk)
		}
		if other, isFound := found[gvk.GroupKind()]; !isFound || other != nil {
			found[gvk.GroupKind()] = definition
		}
	}
	for _, definition := range found {
		if definition != nil && !known[definition.GetName()] {
			all = append(all, manifest.Object{Unstructured: definition, Written: definition})
		}
	}
	slices.SortFunc(all, func(a, b manifest.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all
}

// checkerOf returns the judge of the objects of a release: Flux substitutes variables in the release.
func (b *built) checkerOf(r *release.Installed) *verdict.Checker {
	if f, ok := r.Source.Delivery.(*followed); ok {
		return f.checker(b.checker)
	}
	return b.checker
}

// admissible returns the installed objects whose values are known. A message could quote the values of a Secret.
func (b *built) admissible() (objects []manifest.Object) {
	for _, r := range b.installed {
		if len(r.Unknown) == 0 {
			objects = append(objects, r.Objects...)
		}
	}
	return slices.DeleteFunc(objects, func(o manifest.Object) bool {
		return secret.Is(o.Unstructured) || flux.HasVariables(o.Object)
	})
}

// judgeInstalled returns the problems of installed objects, and of their CustomResourceDefinitions, as
// problems of their releases.
func (b *built) judgeInstalled(invalid []manifest.Problem) []manifest.Problem {
	for _, o := range b.objects {
		if release.Is(o) && !b.hasOwnDefinition(o) {
			invalid = append(invalid, b.misfits(o)...)
		}
	}
	for _, r := range b.installed {
		for j, o := range r.Objects {
			r.Objects[j] = b.checker.WithNamespace(o, r.Namespace)
		}
		invalid = append(invalid, b.checkerOf(r).Installed(r.Objects)...)
		r.Objects = b.placeInstalled(r)
	}
	return blameDeliveries(invalid)
}

// hasOwnDefinition reports whether a definition of the repository judges an object, and none of this program.
func (b *built) hasOwnDefinition(o manifest.Object) bool {
	definition := definitions.Of(o.GroupVersionKind())
	_, isKnown := b.checker.IsNamespaced(o.GroupVersionKind())
	return isKnown && !slices.ContainsFunc(b.judges, func(judge manifest.Object) bool {
		return definition != nil && judge.Unstructured == definition
	})
}

// misfits returns the values of a release that its controller cannot read, and that the definition accepts.
func (b *built) misfits(o manifest.Object) []manifest.Problem {
	misfits := release.Misfits(o)
	if len(misfits) == 0 {
		return nil
	}
	_, found := b.checker.Objects([]manifest.Object{o})
	return slices.DeleteFunc(misfits, func(p manifest.Problem) bool {
		return slices.ContainsFunc(found, func(other manifest.Problem) bool { return other.Field == p.Field })
	})
}
