// Package buildpath traces each object of an environment from its source file through the
// kustomizations that may change it.
package buildpath

import (
	"regexp"
	"slices"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Path is the build path of one object.
type Path struct {
	// Document is the source object, or the generator of the object.
	Document source.Document
	// IsGenerated reports whether Document is a generator.
	IsGenerated bool
	// Folders have the kustomizations that may change the object, in the order of their changes.
	Folders []string
	GVK     resid.Gvk
	// Steps has the identity of the source object and then, for each of Folders, the identities of the
	// object there: one after each transformer that changes it.
	Steps [][]Identity
}

// Paths has the build paths of all objects in the build of a folder. The origin annotations of
// kustomize would take longer than the build, as it adds annotations for each transformer too:
// https://github.com/kubernetes-sigs/kustomize/issues/5988
type Paths struct {
	All     []Path
	Sources *source.Sources
	Folder  string
	// IsDirectory reports whether Argo CD reads the files of the folder without kustomize.
	IsDirectory bool
	// Loaded has the kustomizations of the build by folder.
	Loaded map[string]*source.Kustomization
	// LoadedBy has, for each time that a folder is loaded, the folder itself and then the folders that
	// change its objects later.
	LoadedBy map[string][][]string
	// Generators and Patches of all kustomizations are kept by folder, overrides included.
	Generators map[string][]Generator
	Patches    map[string][]Patch

	mentioned func() map[string]bool // see findMentioned

	// The keys are final identities, with and without the namespace.
	byIdentity, byName map[manifest.ID][]*Path
}

// Find finds the build paths of all objects in the build of a folder.
func Find(s *source.Sources, folder string) *Paths {
	p := &Paths{
		Sources: s, Folder: folder, Loaded: map[string]*source.Kustomization{}, LoadedBy: map[string][][]string{},
		Generators: map[string][]Generator{}, Patches: map[string][]Patch{},
	}
	for _, k := range s.Kustomizations {
		p.Generators[k.Folder] = findGenerators(s, k)
		p.Patches[k.Folder] = findPatches(k)
	}
	p.mentioned = sync.OnceValue(p.findMentioned)
	p.follow(folder, nil)
	p.byIdentity = make(map[manifest.ID][]*Path, len(p.All))
	p.byName = make(map[manifest.ID][]*Path, len(p.All))
	for i := range p.All {
		path := &p.All[i]
		path.Steps = p.steps(*path)
		last := path.Last()
		id := manifest.ID{Group: path.GVK.Group, Kind: path.GVK.Kind, Namespace: last.Namespace, Name: last.Name}
		p.byIdentity[id] = append(p.byIdentity[id], path)
		id.Namespace = ""
		p.byName[id] = append(p.byName[id], path)
	}
	return p
}

// follow adds the build paths of all objects that a folder loads. The kustomizations in outer change
// these objects later.
func (p *Paths) follow(folder string, outer []string) {
	k := p.Sources.Kustomizations[folder]
	p.Loaded[folder] = k
	p.LoadedBy[folder] = append(p.LoadedBy[folder], slices.Concat([]string{folder}, outer))
	all := slices.Concat(p.componentsIn(k, k.Components), []string{folder}, outer)
	for _, entry := range k.Resources {
		loaded := k.Paths[entry]
		if p.Sources.Kustomizations[loaded] != nil {
			p.follow(loaded, all)
			continue
		}
		for _, d := range p.Sources.Documents(loaded) {
			p.All = append(p.All, Path{Document: d, Folders: all, GVK: GVKOfDocument(d)})
		}
	}
	for _, g := range p.Generators[folder] {
		if g.creates() {
			p.All = append(p.All, Path{Document: g.Document, IsGenerated: true, Folders: all, GVK: g.GVK()})
		}
	}
	for i, entry := range k.Components {
		p.follow(k.Paths[entry], slices.Concat(p.componentsIn(k, k.Components[i+1:]), []string{folder}, outer))
	}
}

// componentsIn returns the folders of components and of their own components, in the order of
// their changes.
func (p *Paths) componentsIn(k *source.Kustomization, entries []string) (folders []string) {
	for _, entry := range entries {
		component := p.Sources.Kustomizations[k.Paths[entry]]
		folders = append(append(folders, p.componentsIn(component, component.Components)...), component.Folder)
	}
	return folders
}

// Identity is a name and a namespace of an object during the build. kustomize has names for the
// default namespace and for the absence of a namespace.
type Identity struct{ Name, Namespace string }

// NewIdentity returns the identity of an object as kustomize compares it.
func NewIdentity(gvk resid.Gvk, name, namespace string) Identity {
	return Identity{name, resid.NewResIdWithNamespace(gvk, name, namespace).EffectiveNamespace()}
}

// NamedID is the ID of an object at some step of the build.
type NamedID struct {
	resid.Gvk
	Identity
}

// IDOf returns the ID of a built object as kustomize compares it.
func IDOf(o manifest.Object) NamedID {
	gvk := GVKOf(o)
	return NamedID{gvk, NewIdentity(gvk, o.GetName(), o.GetNamespace())}
}

// GVKOf returns the kind of an object as kustomize has it.
func GVKOf(o manifest.Object) resid.Gvk {
	gvk := o.GroupVersionKind()
	return resid.NewGvk(gvk.Group, gvk.Version, gvk.Kind)
}

// GVKOfDocument returns the kind of a source object as kustomize has it.
func GVKOfDocument(d source.Document) resid.Gvk {
	group, version := resid.ParseGroupVersion(d.APIVersion)
	return resid.NewGvk(group, version, d.Kind)
}

func (p *Paths) steps(path Path) [][]Identity {
	id := NewIdentity(path.GVK, path.Document.Name, path.Document.Namespace)
	all := append(make([][]Identity, 0, 1+len(path.Folders)), []Identity{id})
	for _, folder := range path.Folders {
		k := p.Sources.Kustomizations[folder]
		if k.Namespace != "" && !path.Document.FromChart {
			id = NewIdentity(path.GVK, id.Name, k.Namespace)
			if path.GVK.Kind == "Namespace" && path.GVK.ApiVersion() == "v1" {
				id.Name = k.Namespace
			}
		}
		step := []Identity{id}
		if hasAffixes(path.GVK) {
			id.Name = k.NamePrefix + id.Name
			step = append(step, id)
			id.Name += k.NameSuffix
			step = append(step, id)
		}
		all = append(all, slices.Compact(step))
	}
	return all
}

// Identities returns the identities of the object until the first n of its folders are built.
func (p Path) Identities(n int) []Identity { return slices.Compact(slices.Concat(p.Steps[:1+n]...)) }

// Last returns the identity of the object after all kustomizations.
func (p Path) Last() Identity {
	last := p.Steps[len(p.Folders)]
	return last[len(last)-1]
}

func hasAffixes(gvk resid.Gvk) bool {
	return gvk.Kind != "Namespace" && gvk.Kind != "CustomResourceDefinition" &&
		(gvk.Kind != "APIService" || gvk.Group != "apiregistration.k8s.io")
}

// hashed matches the names of generated objects, up to the hash of their content.
var hashed = regexp.MustCompile(`^(.*)-[0-9a-z]{10}$`)

// FindExact returns the build path that ends with the identity of a built object, or nil.
func (p *Paths) FindExact(o manifest.Object) *Path {
	built := IDOf(o)
	id := manifest.ID{Group: built.Group, Kind: built.Kind, Namespace: built.Namespace, Name: built.Name}
	if found := p.byIdentity[id]; len(found) > 0 {
		return found[0]
	}
	if match := hashed.FindStringSubmatch(id.Name); match != nil {
		id.Name = match[1]
		for _, path := range p.byIdentity[id] {
			if path.GVK == (Generator{Kind: built.Kind}).GVK() { // a generator may merge into a source object
				return path
			}
		}
	}
	return nil
}

// Find returns the build path of a built object. It returns nil if no path ends with the object's
// name and namespace, as after a patch of its name, or if several do.
func (p *Paths) Find(o manifest.Object) *Path {
	if path := p.FindExact(o); path != nil {
		return path
	}
	found := p.byName[manifest.ID{Group: GVKOf(o).Group, Kind: o.GetKind(), Name: o.GetName()}]
	if len(found) != 1 {
		return nil
	}
	return found[0]
}
