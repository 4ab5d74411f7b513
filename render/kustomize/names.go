package kustomize

import (
	"slices"

	"example.com/gatehouse/render/source"
)

const (
	defaultNamespace = "default"
	// anyNamespace is where an object is whose namespace cannot be told.
	anyNamespace = "*"
	// everyNamespace is where all objects are.
	everyNamespace = ""
)

// affix is what goes before and after the name of an object.
type affix struct{ prefix, suffix string }

// namesOf returns the names that an object of a file has while it is built, the one
// that is written first.
func (d *division) namesOf(file, name string) (names []string) {
	for _, folder := range d.loaders[file] {
		names = append(names, d.namesIn(folder, name)...)
	}
	return unique(names)
}

// namesIn returns the names that an object of a kustomization has while it is built.
func (d *division) namesIn(folder, name string) (names []string) {
	for _, a := range d.affixesOf(folder) {
		names = append(names, a.prefix+name+a.suffix)
	}
	return names
}

// affixesOf returns what a kustomization, and those that load it, put around names,
// one step after the other.
func (d *division) affixesOf(folder string) []affix {
	if affixes, ok := d.affixes[folder]; ok {
		return affixes
	}
	k := d.reached[folder]
	affixes := []affix{{}, {k.NamePrefix, ""}}
	above := []affix{{}}
	for _, loader := range d.loaders[folder] {
		above = append(above, d.affixesOf(loader)...)
	}
	for _, a := range above {
		affixes = append(affixes, affix{a.prefix + k.NamePrefix, k.NameSuffix + a.suffix})
	}
	d.affixes[folder] = unique(affixes)
	return d.affixes[folder]
}

// namespacesOf returns the namespaces that an object of a file may end in.
func (d *division) namespacesOf(file string, o source.Document) (namespaces []string) {
	for _, folder := range d.loaders[file] {
		namespaces = append(namespaces, d.namespacesIn(folder, o.Namespace)...)
	}
	return unique(namespaces)
}

// namespacesIn returns the namespaces that an object of a kustomization may end in:
// those that the last of the kustomizations on the way out sets, or else its own.
func (d *division) namespacesIn(folder, own string) (namespaces []string) {
	if own == "" {
		own = defaultNamespace
	}
	for _, set := range d.setNamespaces(folder) {
		if set == "" {
			set = own
		}
		namespaces = append(namespaces, set)
	}
	return unique(namespaces)
}

// setNamespaces returns the namespaces that a kustomization and those that load it
// set, one for each way out; empty for a way on which none is set.
func (d *division) setNamespaces(folder string) (namespaces []string) {
	if namespaces, ok := d.namespaces[folder]; ok {
		return namespaces
	}
	own := d.reached[folder].Namespace
	for _, loader := range d.loaders[folder] {
		for _, set := range d.setNamespaces(loader) {
			if set == "" {
				set = own
			}
			namespaces = append(namespaces, set)
		}
	}
	if folder == d.folder {
		namespaces = append(namespaces, own)
	}
	d.namespaces[folder] = unique(namespaces)
	return d.namespaces[folder]
}

// namespacesPassed returns the namespaces that a kustomization and those that load it
// set.
func (d *division) namespacesPassed(folder string) (namespaces []string) {
	if set := d.reached[folder].Namespace; set != "" {
		namespaces = append(namespaces, set)
	}
	for _, loader := range d.loaders[folder] {
		namespaces = append(namespaces, d.namespacesPassed(loader)...)
	}
	return unique(namespaces)
}

func unique[T comparable](list []T) (kept []T) {
	for _, item := range list {
		if !slices.Contains(kept, item) {
			kept = append(kept, item)
		}
	}
	return kept
}
