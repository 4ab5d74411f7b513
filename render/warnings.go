package render

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/warn"
)

// warnings returns the warnings about the objects and about unknown values of variables.
func (e *Environment) warnings(objects []manifest.Object, repository *Repository) []manifest.Problem {
	if e.options.NoWarnings {
		return nil
	}
	all := slices.Concat(objects, e.root.delivered())
	environment := warn.Input{Kinds: e.kinds, Objects: all, Local: e.local, IsNamespaced: e.checker.IsNamespaced,
		Now: repository.options.Now, Deliveries: e.deliveries(objects)}
	environment.Resources = e.checker.Resources
	environment.IsPartial = slices.ContainsFunc(e.root.all(), func(d *Delivery) bool { return len(d.Unknown) > 0 })
	environment.IsPrepared = sync.OnceValue(func() bool { // it reads all folders
		isPrepared := false
		source.Walk(repository.files, func(name string, _ fs.DirEntry) (enter bool) {
			isPrepared = isPrepared || strings.HasPrefix(path.Base(name), "helmfile")
			return !isPrepared
		})
		return isPrepared
	})
	for _, d := range e.root.charts() {
		environment.Installed = append(environment.Installed, d.Applied()...)
	}
	_, noRendering := repository.files.Lstat(path.Join(tree.Folder, e.name))
	environment.IsWritten = func(o manifest.Object) bool {
		_, err := repository.files.Lstat(o.File)
		return noRendering != nil || err == nil
	}
	e.addKustomizations(&environment)
	if IsFolder(e.name) { // perhaps without a kustomization
		environment.ElsewhereFile = settings.File
	}
	return slices.Concat(blameDeliveries(environment.Warnings()), e.lostNamespaces(), e.unknownValues(objects),
		e.unserved(all))
}

// allSources returns the sources of the environment and of followed folders.
func (e *Environment) allSources() (all []*source.Sources) {
	for _, d := range e.root.open() {
		all = append(all, d.sources)
	}
	return all
}

// nameReferences returns the fields that configurations of kustomizations know to name objects.
func (e *Environment) nameReferences() (all []references.Configured) {
	for _, sources := range e.allSources() {
		all = append(all, kustomize.Configured(sources)...)
	}
	return all
}

// elsewhere returns the objects that kustomizations of the environment and of followed folders say are elsewhere.
func (e *Environment) elsewhere() (lists warn.Elsewhere) {
	for _, sources := range e.allSources() {
		for _, k := range sources.Kustomizations {
			if k.MetaData != nil {
				lists = append(lists, k.MetaData.Annotations[warn.ElsewhereAnnotation])
			}
		}
	}
	lists = append(lists, strings.Join(e.known.Elsewhere, ","))
	if IsFolder(e.name) || e.entry != "" { // a tool syncs it from its own namespace
		lists = append(lists, "Namespace flux-system, Namespace argocd")
	}
	return lists
}

// addKustomizations adds what the kustomizations of the environment and of followed folders say.
func (e *Environment) addKustomizations(to *warn.Input) {
	var renamed []func(manifest.Object, manifest.ID) (manifest.ID, bool)
	for _, d := range e.root.open() {
		if d.paths != nil {
			renamed = append(renamed, kustomize.Renames(d.paths, d.known()))
		}
	}
	to.Configured, to.Elsewhere = e.nameReferences(), e.elsewhere()
	to.Renamed = func(from manifest.Object, was manifest.ID) (now manifest.ID, ok bool) {
		for i := 0; i < len(renamed) && !ok; i++ {
			now, ok = renamed[i](from, was)
		}
		return now, ok
	}
}

// unknownValues returns one warning about all objects with variables of unknown values.
func (e *Environment) unknownValues(objects []manifest.Object) []manifest.Problem {
	names := e.checker.Unjudged(objects)
	if len(names) == 0 || e.root.postBuild.In != "" {
		return nil
	}
	k := e.root.sources.Kustomizations[e.root.folder]
	return []manifest.Problem{{
		Code:    manifest.InvalidAnnotation,
		Warning: true,
		File:    source.Relative(k.File),
		Line:    e.root.sources.Line(k.File, "metadata", "annotations", flux.Annotation),
		Message: fmt.Sprintf("%s: fields with variables of Flux are not judged, as in %s: write the path of the file "+
			"with the ConfigMaps of their values in place of %s",
			flux.Annotation, manifest.FirstOf(3, names), flux.Unknown),
	}}
}

// lostNamespaces warns of charts in a namespace whose objects name none: kustomize leaves these alone, and a sync puts
// them into its own namespace.
func (e *Environment) lostNamespaces() (warnings []manifest.Problem) {
	found := make([][]string, len(e.root.sources.Charts))
	for _, o := range e.root.known() {
		isNamespaced, _ := e.checker.IsNamespaced(o.GroupVersionKind())
		path := e.root.paths.Find(o)
		if path != nil && path.Document.FromChart && isNamespaced && o.GetNamespace() == "" {
			if i := e.root.sources.ChartOf(path.Document); i >= 0 {
				found[i] = append(found[i], o.String())
			}
		}
	}
	for i, c := range e.root.sources.Charts {
		if names := found[i]; len(names) > 0 && c.Namespace != "" && c.Namespace != metav1.NamespaceDefault {
			warnings = append(warnings, manifest.Problem{Code: manifest.InvalidChart,
				File: c.File, Line: node.Line(c.Node, "name"), Warning: true,
				Message: fmt.Sprintf("chart %s: kustomize gives no namespace to objects of charts, and the templates "+
					"give none to %s: they go to the namespace default, or that of the tool, and not to %s: set it by "+
					"a value of the chart, or by a patch", c.Name, manifest.FirstOf(3, names), c.Namespace)})
		}
	}
	return warnings
}
