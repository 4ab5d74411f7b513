package kustomize

import (
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/source"
)

// entries are the nodes of a kustomization, by the objects that they are about.
type entries struct {
	all []*node
	// named are generators and patches that are about the objects of an ID.
	named map[namedID][]*node
	// scaled are replicas, by the name of what they scale.
	scaled map[string][]*node
	// targeted change objects that they select, each by itself.
	targeted []selection
	// sources are replacements, by what they copy from.
	sources []selection
}

// namedID is the ID of an object at some time of the build.
type namedID struct {
	resid.Gvk
	identity
}

// selection is an entry that may be about the objects that it selects.
type selection struct {
	*node
	selector *selector // nil selects all
}

// newEntries returns the entries of a kustomization, its generators first.
func (d *division) newEntries(k *source.Kustomization) *entries {
	e := &entries{named: map[namedID][]*node{}, scaled: map[string][]*node{}}
	add := func(field string, index int, loads ...string) *node {
		n := &node{position: position{k.File, field, index}, outward: d.outward[k.Folder]}
		for _, entry := range loads {
			if file := k.Paths[entry]; file != "" {
				n.loads = append(n.loads, file)
			}
		}
		n.group = &group{nodes: []*node{n}}
		e.all = append(e.all, n)
		return n
	}
	name := func(n *node, gvk resid.Gvk, name, namespace string) {
		id := namedID{gvk, newIdentity(gvk, name, namespace)}
		e.named[id] = append(e.named[id], n)
	}
	for _, g := range d.generators[k.Folder] {
		n := add(generatorField(g.kind), g.index, g.files()...)
		name(n, g.gvk(), g.Name, g.Namespace)
	}
	for _, p := range d.patches[k.Folder] {
		n := add(p.field, p.index, p.Path)
		for _, document := range p.documents {
			if p.target == nil {
				name(n, documentGVK(document), document.Name, document.Namespace)
			}
		}
		if p.target != nil {
			e.targeted = append(e.targeted, selection{n, p.target})
		}
	}
	for i, r := range k.Replicas {
		e.scaled[r.Name] = append(e.scaled[r.Name], add("replicas", i))
	}
	for i, r := range k.Replacements {
		e.addReplacement(add("replacements", i), r)
	}
	return e
}

// addReplacement adds what a replacement copies from and to.
func (e *entries) addReplacement(n *node, r types.ReplacementField) {
	if r.Source != nil {
		e.sources = append(e.sources, selection{n, selectorOf(r.Source.ResId)})
	}
	for _, target := range r.Targets {
		if target != nil && target.Select != nil {
			e.targeted = append(e.targeted, selection{n, selectorOf(target.Select.ResId)})
		}
	}
}

// selectorOf returns a selector of at least the objects that a replacement selects: kustomize
// does not read namespaces there as it does elsewhere. Nil selects all.
func selectorOf(id resid.ResId) *selector {
	id.Namespace = ""
	s, err := newSelector(&types.Selector{ResId: id})
	if err != nil {
		return nil
	}
	return s
}

// generatorField returns the field of the generators of a kind.
func generatorField(kind string) string {
	if kind == "Secret" {
		return "secretGenerator"
	}
	return "configMapGenerator"
}

// findChanges finds what may change each object, and joins it with what needs the object: a
// kustomization fails without the objects of its replicas, of its patches without a target and
// of its generators that merge.
func (d *division) findChanges() {
	for i := range d.All {
		way := &d.All[i]
		n := d.nodeOf[way.Document.Node]
		var identities []identity
		for stage, found := range way.stages {
			if identities = append(identities, found...); stage > 0 {
				d.entries[way.Folders[stage-1]].changes(n, way.gvk, identities)
			}
		}
	}
}

// changes notes which of the entries may change the object of a node, that has had some identities.
func (e *entries) changes(n *node, gvk resid.Gvk, identities []identity) {
	for _, id := range identities {
		for _, other := range e.named[namedID{gvk, id}] {
			join(n, other)
		}
		for _, other := range e.scaled[id.name] {
			join(n, other)
		}
	}
	for _, t := range e.targeted {
		if t.selector == nil || t.selector.mayChange(gvk, identities) {
			n.needs = append(n.needs, t.node)
		}
	}
	for _, s := range e.sources {
		if s.selector == nil || s.selector.mayChange(gvk, identities) {
			s.needs = append(s.needs, n)
		}
	}
}
