package parts

import (
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/source"
)

// entries are the entries of a kustomization that a part may lack, by their targets.
type entries struct {
	all []*node // the generators first
	// named are generators and patches by the ID of their target, and scaled are replicas by its name.
	// kustomize fails without these targets, unless the entry generates the object.
	named  map[buildpath.NamedID][]*node
	scaled map[string][]*node
	// selecting are patches and replacements that change the objects of a selector, and copying are
	// replacements that copy from them.
	selecting, copying []selection
}

// selection is an entry with a selector of objects. A nil selector selects all.
type selection struct {
	entry    *node
	selector *buildpath.Selector
}

func newEntries(paths *buildpath.Paths, k *source.Kustomization) *entries {
	e := &entries{named: map[buildpath.NamedID][]*node{}, scaled: map[string][]*node{}}
	add := func(field string, index int, loads ...string) *node {
		n := &node{position: position{k.File, field, index}, loadedBy: paths.LoadedBy[k.Folder]}
		for _, entry := range loads {
			if file := k.Paths[entry]; file != "" {
				n.files = append(n.files, file)
			}
		}
		e.all = append(e.all, n)
		return n
	}
	name := func(n *node, gvk resid.Gvk, name, namespace string) {
		id := buildpath.NamedID{Gvk: gvk, Identity: buildpath.NewIdentity(gvk, name, namespace)}
		e.named[id] = append(e.named[id], n)
	}
	for _, g := range paths.Generators[k.Folder] {
		name(add(g.Field(), g.Index, g.Files()...), g.GVK(), g.Name, g.Namespace)
	}
	for _, p := range paths.Patches[k.Folder] {
		n := add(p.Field, p.Index, p.Path)
		if p.Selector != nil {
			e.selecting = append(e.selecting, selection{n, p.Selector})
			continue
		}
		for _, d := range p.Documents {
			name(n, buildpath.GVKOfDocument(d), d.Name, d.Namespace)
		}
	}
	for i, r := range k.Replicas {
		e.scaled[r.Name] = append(e.scaled[r.Name], add("replicas", i))
	}
	for i, r := range k.Replacements {
		n := add("replacements", i)
		if r.Source != nil {
			e.copying = append(e.copying, selection{n, selectorOf(r.Source.ResId)})
		}
		for _, target := range r.Targets {
			if target != nil && target.Select != nil {
				e.selecting = append(e.selecting, selection{n, selectorOf(target.Select.ResId)})
			}
		}
	}
	return e
}

// selectorOf returns a selector of at least the objects that a replacement selects: kustomize reads
// namespaces differently there. Nil selects all.
func selectorOf(id resid.ResId) *buildpath.Selector {
	id.Namespace = ""
	s, err := buildpath.NewSelector(&types.Selector{ResId: id})
	if err != nil {
		return nil
	}
	return s
}

// findChanges returns the entries that may change the objects of each node, the nodes from which each entry copies, and
// the pairs of a node and an entry that fails without it.
func findChanges(paths *buildpath.Paths, nodes *nodes) (changes dependencies, joined []pair) {
	changes = dependencies{}
	for i := range paths.All {
		path := &paths.All[i]
		n := nodes.of[path.Document.Tree]
		identities := slices.Clone(path.Steps[0])
		for step, folder := range path.Folders {
			identities = append(identities, path.Steps[step+1]...)
			e := nodes.entries[folder]
			for _, entry := range e.naming(path.GVK, identities) {
				joined = append(joined, pair{n, entry})
			}
			if found := entriesFor(e.selecting, path.GVK, identities); len(found) > 0 {
				changes[n] = append(changes[n], found...)
			}
			for _, entry := range entriesFor(e.copying, path.GVK, identities) {
				changes[entry] = append(changes[entry], n)
			}
		}
	}
	return changes, joined
}

// naming returns the entries that name an object with one of some identities.
func (e *entries) naming(gvk resid.Gvk, identities []buildpath.Identity) (found []*node) {
	for _, id := range identities {
		found = append(found, e.named[buildpath.NamedID{Gvk: gvk, Identity: id}]...)
		found = append(found, e.scaled[id.Name]...)
	}
	return found
}

// entriesFor returns the entries whose selectors may select an object with some identities.
func entriesFor(selections []selection, gvk resid.Gvk, identities []buildpath.Identity) (found []*node) {
	for _, s := range selections {
		if s.selector.MaySelect(gvk, identities) {
			found = append(found, s.entry)
		}
	}
	return found
}
