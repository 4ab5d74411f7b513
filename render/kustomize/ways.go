package kustomize

import (
	"regexp"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

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

	gvk resid.Gvk
	// stages have the identities that the object is written with and, for each of Folders, those
	// that it has while that is built: after each transformer that changes them.
	stages [][]identity
}

// Ways has the ways of all objects that the build of a folder loads. kustomize itself can
// annotate objects with their origins, but not without annotating them after each of its
// transformers as well, which takes longer than the build:
// https://github.com/kubernetes-sigs/kustomize/issues/5988
type Ways struct {
	All []Way

	sources *source.Sources
	folder  string
	// By the identities in the end, and the same without namespaces:
	byIdentity, byName map[manifest.ID][]*Way
	// By the folder of a kustomization, of those that the build loads and of all:
	loaded     map[string]*source.Kustomization
	order      []string // the folders of the first, as often as they are loaded
	generators map[string][]generator
	patches    map[string][]patch
	// outward has, for each time that a folder is loaded, the folder and those that change its
	// objects after it.
	outward map[string][][]string
}

// FindWays finds the ways of all objects that the build of a folder loads.
func FindWays(s *source.Sources, folder string) *Ways {
	w := &Ways{
		sources: s, folder: folder,
		loaded: map[string]*source.Kustomization{}, generators: map[string][]generator{}, patches: map[string][]patch{},
		outward: map[string][][]string{},
	}
	for _, k := range s.Kustomizations {
		w.generators[k.Folder], w.patches[k.Folder] = readGenerators(s, k), readPatches(k)
	}
	w.follow(folder, nil)
	w.byIdentity, w.byName = make(map[manifest.ID][]*Way, len(w.All)), make(map[manifest.ID][]*Way, len(w.All))
	for i := range w.All {
		way := &w.All[i]
		way.stages = w.stages(*way)
		last := way.lastIdentity()
		id := manifest.ID{Group: way.gvk.Group, Kind: way.gvk.Kind, Namespace: last.namespace, Name: last.name}
		w.byIdentity[id] = append(w.byIdentity[id], way)
		id.Namespace = ""
		w.byName[id] = append(w.byName[id], way)
	}
	return w
}

// follow adds the ways of what a folder loads. The kustomizations in the folders after change
// all of that later.
func (w *Ways) follow(folder string, after []string) {
	k := w.sources.Kustomizations[folder]
	w.loaded[folder] = k
	w.order = append(w.order, folder)
	w.outward[folder] = append(w.outward[folder], slices.Concat([]string{folder}, after))
	all := slices.Concat(w.componentsIn(k, k.Components), []string{folder}, after)
	for _, entry := range k.Resources {
		loaded := k.Paths[entry]
		if w.sources.Kustomizations[loaded] != nil {
			w.follow(loaded, all)
			continue
		}
		for _, d := range w.sources.Documents(loaded) {
			w.All = append(w.All, Way{Document: d, Folders: all, gvk: documentGVK(d)})
		}
	}
	for _, g := range w.generators[folder] {
		if g.creates() {
			w.All = append(w.All, Way{Document: g.document, IsGenerated: true, Folders: all, gvk: g.gvk()})
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
	index    int // in its field
	document source.Document
}

// readGenerators returns the generators of a kustomization, except those that are not where its file
// usually has them, as in a field with a capital letter.
func readGenerators(s *source.Sources, k *source.Kustomization) (found []generator) {
	documents := s.Documents(k.File)
	add := func(kind string, i int, g types.GeneratorArgs) {
		if len(documents) > 0 && documents[0].Kind == kind && documents[0].Name == g.Name {
			found = append(found, generator{g, kind, i, documents[0]})
			documents = documents[1:]
		}
	}
	for i, g := range k.ConfigMapGenerator {
		add("ConfigMap", i, g.GeneratorArgs)
	}
	for i, g := range k.SecretGenerator {
		add("Secret", i, g.GeneratorArgs)
	}
	return found
}

// creates reports whether a generator makes an object, rather than changing one. What kustomize does
// not know it takes for nothing.
func (g generator) creates() bool {
	behavior := types.NewGenerationBehavior(g.Behavior)
	return behavior != types.BehaviorMerge && behavior != types.BehaviorReplace
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

// gvk returns that of what a generator generates.
func (g generator) gvk() resid.Gvk { return resid.NewGvk("", "v1", g.kind) }

// identity is a name and a namespace that an object has while it is built. kustomize has names
// for no namespace and for that of an object that is in none.
type identity struct{ name, namespace string }

func newIdentity(gvk resid.Gvk, name, namespace string) identity {
	return identity{name, resid.NewResIdWithNamespace(gvk, name, namespace).EffectiveNamespace()}
}

// stages returns those of a way.
func (w *Ways) stages(way Way) [][]identity {
	id := newIdentity(way.gvk, way.Document.Name, way.Document.Namespace)
	all := append(make([][]identity, 0, 1+len(way.Folders)), []identity{id})
	for _, folder := range way.Folders {
		k := w.sources.Kustomizations[folder]
		if k.Namespace != "" {
			id = newIdentity(way.gvk, id.name, k.Namespace)
			if way.gvk.Kind == "Namespace" && way.gvk.ApiVersion() == "v1" {
				id.name = k.Namespace
			}
		}
		stage := []identity{id}
		if hasAffixes(way.gvk) {
			id.name = k.NamePrefix + id.name
			stage = append(stage, id)
			id.name += k.NameSuffix
			stage = append(stage, id)
		}
		all = append(all, slices.Compact(stage))
	}
	return all
}

// identities returns the identities that an object has until the first of its folders are built.
func (w Way) identities(folders int) []identity {
	return slices.Compact(slices.Concat(w.stages[:1+folders]...))
}

// lastIdentity returns the identity that kustomizations give an object in the end.
func (w Way) lastIdentity() identity {
	last := w.stages[len(w.Folders)]
	return last[len(last)-1]
}

// hasAffixes reports whether namePrefix and nameSuffix rename objects of a kind.
func hasAffixes(gvk resid.Gvk) bool {
	return gvk.Kind != "Namespace" && gvk.Kind != "CustomResourceDefinition" && (gvk.Kind != "APIService" || gvk.Group != "apiregistration.k8s.io")
}

// hashed matches the names of what is generated, before the hash of its content.
var hashed = regexp.MustCompile(`^(.*)-[0-9a-z]{10}$`)

// findExact returns the way of a built object by the identity that kustomizations give it in the
// end; nil where none gives it that one.
func (w *Ways) findExact(o manifest.Object) *Way {
	gvk := gvkOf(o.GroupVersionKind())
	id := manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: newIdentity(gvk, "", o.GetNamespace()).namespace, Name: o.GetName()}
	if found := w.byIdentity[id]; len(found) > 0 {
		return found[0]
	}
	if match := hashed.FindStringSubmatch(id.Name); match != nil {
		id.Name = match[1]
		for _, way := range w.byIdentity[id] {
			if way.gvk == (generator{kind: gvk.Kind}).gvk() { // also where a generator merges into what is written
				return way
			}
		}
	}
	return nil
}

// Find returns the way of a built object; nil where its name and namespace are not those
// that kustomizations give a document, as after a patch of the name, or are those of several.
func (w *Ways) Find(o manifest.Object) *Way {
	if way := w.findExact(o); way != nil {
		return way
	}
	found := w.byName[manifest.ID{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Name: o.GetName()}]
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
