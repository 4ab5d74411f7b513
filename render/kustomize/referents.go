package kustomize

import (
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/source"
)

// referent is an object that specs may refer to by name: a ConfigMap, a Secret or another that
// the configurations of kustomize list. kustomize updates the references when it changes the
// names.
type referent struct {
	ways       []*Way
	names      []string     // that it has while it is built
	namespaces []string     // that it may end in; none where its kind has none
	isClosed   bool         // see isClosed
	text       *source.Text // nil where it is generated
}

// findReferents finds what specs may refer to, by name.
func (d *division) findReferents() {
	texts := map[*yaml.Node]*source.Text{}
	for _, m := range d.sources.Manifests {
		for _, text := range m.Texts {
			for _, o := range text.Objects {
				texts[o.Node] = text
			}
		}
	}
	for node, ways := range d.waysOf {
		if !slices.Contains(d.references.kinds, ways[0].Document.Kind) {
			continue
		}
		r := &referent{ways: ways, text: texts[node], isClosed: slices.ContainsFunc(ways, d.isClosed)}
		// What is in one text with a spec cannot be built without it.
		r.isClosed = r.isClosed || r.text != nil && slices.ContainsFunc(r.text.Objects, func(o source.Document) bool { return slices.Contains(d.specKinds, o.Kind) })
		r.names, r.namespaces = d.namesOf(ways)
		if documentGVK(ways[0].Document).IsClusterScoped() {
			r.namespaces = nil
		}
		for _, name := range r.names {
			d.named[name] = append(d.named[name], r)
		}
	}
}

// namesOf returns the names that the object of some ways has while it is built, and the
// namespaces that it ends in.
func (w *Ways) namesOf(ways []*Way) (names, namespaces []string) {
	for _, way := range ways {
		all := w.identities(*way, len(way.Folders))
		for _, id := range all {
			names = append(names, id.name)
		}
		namespaces = append(namespaces, all[len(all)-1].namespace)
	}
	slices.Sort(names)
	slices.Sort(namespaces)
	return slices.Compact(names), slices.Compact(namespaces)
}

// isClosed reports whether an object may depend on others: a kustomization on its way has
// replacements.
func (w *Ways) isClosed(way *Way) bool {
	return slices.ContainsFunc(way.Folders, func(folder string) bool { return len(w.loaded[folder].Replacements) > 0 })
}

// isIn reports whether a referent may end in one of some namespaces.
func (r *referent) isIn(namespaces []string) bool {
	return len(r.namespaces) == 0 || len(namespaces) == 0 ||
		slices.ContainsFunc(namespaces, func(namespace string) bool { return slices.Contains(r.namespaces, namespace) })
}

// referentsOf returns what a spec may refer to, and all that may have a name in common with that
// while it is built.
func (d *division) referentsOf(spec source.Document, namespaces []string) map[*referent]bool {
	found := map[*referent]bool{}
	var add func(name string, namespaces []string)
	add = func(name string, namespaces []string) {
		for _, one := range d.named[name] {
			if found[one] || !one.isIn(namespaces) {
				continue
			}
			found[one] = true
			for _, other := range one.names {
				add(other, one.namespaces)
			}
		}
	}
	for _, value := range d.given {
		add(value, namespaces)
	}
	spec.Values(func(value string) { add(value, namespaces) })
	return found
}

// findGiven finds the names of referents that kustomizations may give specs, by patches or
// otherwise.
func (d *division) findGiven() {
	give := func(value string) {
		if len(d.named[value]) > 0 {
			d.given = append(d.given, value)
		}
	}
	for _, k := range d.loaded {
		give(k.Namespace)
		for _, image := range k.Images {
			give(image.NewName)
		}
		d.addedValues(k, d.specKinds, give)
	}
	slices.Sort(d.given)
	d.given = slices.Compact(d.given)
}

// addedValues calls use with the values that the metadata and the patches of a
// kustomization may give objects of some kinds.
func (w *Ways) addedValues(k *source.Kustomization, kinds []string, use func(value string)) {
	for _, values := range w.addedMetadata(k) {
		for _, value := range values {
			use(value)
		}
	}
	for _, p := range w.patches[k.Folder] {
		if !p.selectsKind(kinds) {
			continue
		}
		for _, document := range p.documents {
			document.Values(use)
		}
	}
}

// findAwaited finds the names of specs that others need: a kustomization fails without the
// objects of its replicas and of its patches without a target, and an object may hold the
// name of a spec, as an Ingress holds that of the Service of a Memcached.
func (d *division) findAwaited() {
	await := func(name string) { d.awaited[name] = true }
	var referrers []string
	for _, m := range d.sources.Manifests {
		for _, text := range m.Texts {
			for _, o := range text.Objects {
				if d.references.isReferrer(o) {
					referrers = append(referrers, o.Kind)
					o.Values(await)
				}
			}
		}
	}
	slices.Sort(referrers)
	referrers = slices.Compact(referrers)
	for _, k := range d.loaded {
		if len(referrers) > 0 {
			d.addedValues(k, referrers, await)
		}
		for _, r := range k.Replicas {
			await(r.Name)
		}
		for _, p := range d.patches[k.Folder] {
			for _, document := range p.documents {
				if p.target == nil && slices.Contains(d.specKinds, document.Kind) {
					await(document.Name)
				}
			}
		}
	}
}

// isReferrer reports whether a document is of an object that may refer to specs.
func (r *references) isReferrer(o source.Document) bool {
	gvk := documentGVK(o)
	return slices.ContainsFunc(r.referrers, func(referrer types.FieldSpec) bool { return gvk.IsSelected(&referrer.Gvk) })
}
