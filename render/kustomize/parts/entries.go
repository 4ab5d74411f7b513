package parts

import (
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
		n.group = &group{nodes: []*node{n}}
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

// findChanges links each object with the entries that may change it or copy from it, and joins it with
// the entries that fail without it.
func (d *Division) findChanges() {
	for i := range d.paths.All {
		path := &d.paths.All[i]
		n := d.nodeOf[path.Document.Tree]
		var identities []buildpath.Identity
		for step, found := range path.Steps {
			if identities = append(identities, found...); step > 0 {
				d.entries[path.Folders[step-1]].link(n, path.GVK, identities)
			}
		}
	}
}

// link links the node of an object with the entries. The object had the identities until then.
func (e *entries) link(n *node, gvk resid.Gvk, identities []buildpath.Identity) {
	for _, id := range identities {
		for _, entry := range e.named[buildpath.NamedID{Gvk: gvk, Identity: id}] {
			join(n, entry)
		}
		for _, entry := range e.scaled[id.Name] {
			join(n, entry)
		}
	}
	for _, s := range e.selecting {
		if s.selector.MaySelect(gvk, identities) {
			n.changedBy = append(n.changedBy, s.entry)
		}
	}
	for _, s := range e.copying {
		if s.selector.MaySelect(gvk, identities) {
			s.entry.copiesFrom = append(s.entry.copiesFrom, n)
		}
	}
}
