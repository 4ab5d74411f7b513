package kustomize

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Way is how an object gets from the file that it is written in into an environment.
type Way struct {
	// Document is the object as it is written, or the entry of a kustomization that
	// generates it.
	Document source.Document
	// Folders have the kustomizations that may change the object, in the order in which
	// they do.
	Folders []string

	names      []string // one more than folders: as it is written, and after each of them
	namespaces []string // likewise
}

// Name returns the name that the kustomizations give the object.
func (w Way) Name() string { return w.names[len(w.Folders)] }

// Ways has the ways of all objects that the build of a folder loads. kustomize itself can
// annotate objects with their origins, but not without annotating them after each of its
// transformers as well, which takes longer than the build:
// https://github.com/kubernetes-sigs/kustomize/issues/5988
type Ways struct {
	All []Way

	sources   *source.Sources
	byName    map[manifest.ID][]*Way // without namespaces, by the names in the end
	byWritten map[manifest.ID][]*Way // by the names as they are written

	// What Entries reads again for each object:
	patches   map[types.Patch]patch
	selectors map[*types.Selector]*selector
}

// FindWays finds the ways of all objects that the build of a folder loads.
func FindWays(s *source.Sources, folder string) *Ways {
	w := &Ways{
		sources: s, byName: map[manifest.ID][]*Way{}, byWritten: map[manifest.ID][]*Way{},
		patches: map[types.Patch]patch{}, selectors: map[*types.Selector]*selector{},
	}
	w.follow(folder, nil)
	for i := range w.All {
		way := &w.All[i]
		id := manifest.ID{Group: way.Document.Group, Kind: way.Document.Kind, Name: way.Name()}
		w.byName[id] = append(w.byName[id], way)
		id.Name = way.Document.Name
		w.byWritten[id] = append(w.byWritten[id], way)
	}
	return w
}

// follow adds the ways of what a folder loads. The kustomizations in the folders after change
// all of that later.
func (w *Ways) follow(folder string, after []string) {
	k := w.sources.Kustomizations[folder]
	if k == nil || slices.Contains(after, folder) {
		return
	}
	all := slices.Concat(w.componentsIn(k, k.Components), []string{folder}, after)
	for _, entry := range k.Resources {
		if loaded := k.Paths[entry]; w.sources.Kustomizations[loaded] != nil {
			w.follow(loaded, all)
		} else {
			w.add(w.sources.Documents(loaded), all)
		}
	}
	w.add(filter(w.sources.Documents(k.File), isGenerated), all)
	for i, entry := range k.Components {
		w.follow(k.Paths[entry], slices.Concat(w.componentsIn(k, k.Components[i+1:]), []string{folder}, after))
	}
}

// componentsIn returns the folders of components, and of those that they load, in the order
// in which they change objects.
func (w *Ways) componentsIn(k *source.Kustomization, entries []string) (folders []string) {
	for _, entry := range entries {
		if component := w.sources.Kustomizations[k.Paths[entry]]; component != nil && component != k {
			folders = append(append(folders, w.componentsIn(component, component.Components)...), component.Folder)
		}
	}
	return folders
}

// isGenerated reports whether a document is an entry of a kustomization that generates an object,
// rather than changing one that another generates.
func isGenerated(d source.Document) bool {
	if d.APIVersion != "" || d.Kind != "ConfigMap" && d.Kind != "Secret" {
		return false
	}
	behavior := source.Field(d.Node, "behavior")
	return behavior == nil || !slices.Contains([]string{types.BehaviorMerge.String(), types.BehaviorReplace.String()}, behavior.Value)
}

func (w *Ways) add(documents []source.Document, folders []string) {
	for _, d := range documents {
		way := Way{Document: d, Folders: folders, names: []string{d.Name}, namespaces: []string{d.Namespace}}
		for i, folder := range folders {
			k := w.sources.Kustomizations[folder]
			name := k.NamePrefix + way.names[i] + k.NameSuffix
			if d.Kind == "Namespace" {
				name = cmp.Or(k.Namespace, way.names[i])
			}
			way.names = append(way.names, name)
			way.namespaces = append(way.namespaces, cmp.Or(k.Namespace, way.namespaces[i]))
		}
		w.All = append(w.All, way)
	}
}

// Find returns the way of a built object; nil where its name and namespace are not those
// that kustomizations give a document, as after a patch of the name, or are those of several.
func (w *Ways) Find(o manifest.Object) *Way {
	id := manifest.ID{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Name: o.GetName()}
	found := w.byName[id]
	if len(found) == 0 {
		found = w.byWritten[id] // kustomize leaves the names of some kinds alone
	}
	if i := strings.LastIndex(id.Name, "-"); len(found) == 0 && i > 0 {
		id.Name = id.Name[:i] // a hash follows in the names of what is generated
		found = filter(w.byName[id], func(way *Way) bool { return isGenerated(way.Document) })
	}
	for _, way := range found {
		if way.namespaces[len(way.Folders)] == o.GetNamespace() {
			return way
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// setOrigins sets the origins of objects that were built from a folder.
func setOrigins(s *source.Sources, folder string, objects []manifest.Object) {
	ways := FindWays(s, folder)
	for i, o := range objects {
		if way := ways.Find(o); way != nil {
			objects[i].Origin = source.Relative(way.Document.File)
		}
	}
}
