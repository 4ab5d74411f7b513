package kustomize

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Way is how an object gets from the file that it is written in into an environment.
type Way struct {
	// Document is the object as it is written, or the generator of a kustomization.
	Document source.Document
	// IsGenerated reports whether the document is a generator.
	IsGenerated bool
	// Folders have the kustomizations that may change the object, in the order in which
	// they do.
	Folders []string
}

// Ways has the ways of all objects that the build of a folder loads. kustomize itself can
// annotate objects with their origins, but not without annotating them after each of its
// transformers as well, which takes longer than the build:
// https://github.com/kubernetes-sigs/kustomize/issues/5988
type Ways struct {
	All []Way

	sources *source.Sources
	kinds   *registry.Kinds // that people write and that something is rendered from
	folder  string
	byName  map[manifest.ID][]*Way // without namespaces, by the names in the end
	// By the folder of a kustomization, of those that the build loads and of all:
	loaded     map[string]*source.Kustomization
	generators map[string][]generator
	patches    map[string][]patch
}

// FindWays finds the ways of all objects that the build of a folder loads.
func FindWays(s *source.Sources, kinds *registry.Kinds, folder string) *Ways {
	w := &Ways{
		sources: s, kinds: kinds, folder: folder, byName: map[manifest.ID][]*Way{},
		loaded: map[string]*source.Kustomization{}, generators: map[string][]generator{}, patches: map[string][]patch{},
	}
	for _, k := range s.Kustomizations {
		w.generators[k.Folder], w.patches[k.Folder] = readGenerators(s, k), readPatches(k)
	}
	w.follow(folder, nil)
	for i := range w.All {
		way := &w.All[i]
		id := manifest.ID{Group: way.Document.Group, Kind: way.Document.Kind, Name: w.lastIdentity(*way).name}
		w.byName[id] = append(w.byName[id], way)
	}
	return w
}

// follow adds the ways of what a folder loads. The kustomizations in the folders after change
// all of that later.
func (w *Ways) follow(folder string, after []string) {
	k := w.sources.Kustomizations[folder]
	w.loaded[folder] = k
	all := slices.Concat(w.componentsIn(k, k.Components), []string{folder}, after)
	for _, entry := range k.Resources {
		loaded := k.Paths[entry]
		if w.sources.Kustomizations[loaded] != nil {
			w.follow(loaded, all)
			continue
		}
		for _, d := range w.sources.Documents(loaded) {
			w.All = append(w.All, Way{Document: d, Folders: all})
		}
	}
	for _, g := range w.generators[folder] {
		if g.creates() {
			w.All = append(w.All, Way{Document: g.document, IsGenerated: true, Folders: all})
		}
	}
	for i, entry := range k.Components {
		w.follow(k.Paths[entry], slices.Concat(w.componentsIn(k, k.Components[i+1:]), []string{folder}, after))
	}
}

// componentsIn returns the folders of components, and of those that they load, in the order
// in which they change objects.
func (w *Ways) componentsIn(k *source.Kustomization, entries []string) (folders []string) {
	for _, entry := range entries {
		component := w.sources.Kustomizations[k.Paths[entry]]
		folders = append(append(folders, w.componentsIn(component, component.Components)...), component.Folder)
	}
	return folders
}

// generator is an entry of a kustomization that generates an object, or changes one that another
// generates.
type generator struct {
	types.GeneratorArgs
	kind     string
	document source.Document
}

// readGenerators returns the generators of a kustomization, except those that are not where its file
// usually has them, as in a field with a capital letter.
func readGenerators(s *source.Sources, k *source.Kustomization) (found []generator) {
	documents := s.Documents(k.File)
	add := func(kind string, g types.GeneratorArgs) {
		if len(documents) > 0 && documents[0].Kind == kind && documents[0].Name == g.Name {
			found = append(found, generator{g, kind, documents[0]})
			documents = documents[1:]
		}
	}
	for _, g := range k.ConfigMapGenerator {
		add("ConfigMap", g.GeneratorArgs)
	}
	for _, g := range k.SecretGenerator {
		add("Secret", g.GeneratorArgs)
	}
	return found
}

// creates reports whether a generator makes an object, rather than changing one.
func (g generator) creates() bool {
	return slices.Contains([]string{"", types.BehaviorCreate.String()}, g.Behavior)
}

// changes reports whether a generator merges into a candidate or replaces it.
func (g generator) changes(c candidate) bool { return !g.creates() && g.isOf(c) }

// isOf reports whether a generator is of the kind and name of a candidate.
func (g generator) isOf(c candidate) bool {
	return g.kind == c.gvk.Kind && c.isNamed(g.Name, g.Namespace)
}

// files returns what a generator loads.
func (g generator) files() []string {
	return slices.Concat(g.FileSources, g.EnvSources, []string{g.EnvSource})
}

const defaultNamespace = "default"

// identity is a name and a namespace that an object has while it is built.
type identity struct{ name, namespace string }

// identities returns the identities that an object has while the first of its folders are
// built: as it is written, and after each transformer that changes them.
func (w *Ways) identities(way Way, folders int) []identity {
	id := identity{way.Document.Name, cmp.Or(way.Document.Namespace, defaultNamespace)}
	all := []identity{id}
	for _, folder := range way.Folders[:folders] {
		k := w.sources.Kustomizations[folder]
		id.namespace = cmp.Or(k.Namespace, id.namespace)
		if way.Document.Kind == "Namespace" {
			id.name = cmp.Or(k.Namespace, id.name)
		}
		all = append(all, id)
		if hasAffixes(way.Document.Kind) {
			id.name = k.NamePrefix + id.name
			all = append(all, id)
			id.name += k.NameSuffix
			all = append(all, id)
		}
	}
	return slices.Compact(all)
}

// lastIdentity returns the identity that kustomizations give an object in the end.
func (w *Ways) lastIdentity(way Way) identity {
	all := w.identities(way, len(way.Folders))
	return all[len(all)-1]
}

// hasAffixes reports whether namePrefix and nameSuffix rename objects of a kind.
func hasAffixes(kind string) bool {
	return !slices.Contains([]string{"Namespace", "CustomResourceDefinition", "APIService"}, kind)
}

// Find returns the way of a built object; nil where its name and namespace are not those
// that kustomizations give a document, as after a patch of the name, or are those of several.
func (w *Ways) Find(o manifest.Object) *Way {
	id := manifest.ID{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Name: o.GetName()}
	found := w.byName[id]
	if i := strings.LastIndex(id.Name, "-"); len(found) == 0 && i > 0 {
		id.Name = id.Name[:i] // a hash follows in the names of what is generated
		found = filter(w.byName[id], func(way *Way) bool { return way.IsGenerated })
	}
	for _, way := range found {
		if w.lastIdentity(*way).namespace == o.NamespaceOrDefault() {
			return way
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// setOrigins sets the origins of built objects.
func (w *Ways) setOrigins(objects []manifest.Object) {
	for i, o := range objects {
		if way := w.Find(o); way != nil {
			objects[i].Origin = source.Relative(way.Document.File)
		}
	}
}
