package kustomize

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
)

// referents are the nodes whose objects others may refer to, by name. kustomize updates the
// references when it changes the names. Which fields hold names is of no importance here: an
// object is taken to refer to all whose names it has anywhere.
type referents struct {
	named map[string][]*node   // by every name that an object has while it is built
	in    map[identity][]*node // the same, in the namespaces that it ends in
	names map[*node][]string

	// writtenIn has nodes that are written in a namespace into which others are moved, one for each
	// list of folders. Where there is one, a reference with that namespace means objects that are
	// written there, and otherwise those that are there now: filterMapCandidatesByNamespace of
	// api/filters/nameref/nameref.go.
	writtenIn map[string][]*node
}

// scope is where an object may refer to others.
type scope struct {
	namespaces []string
	isAny      bool
}

// add adds what is in the scope of an object of a kind in a namespace. One that is in none may
// refer to objects in each.
func (s *scope) add(gvk resid.Gvk, namespace string) {
	s.namespaces = append(s.namespaces, namespace)
	s.isAny = s.isAny || gvk.IsClusterScoped()
}

// findReferents finds what objects may refer to.
func (d *division) findReferents() {
	r := &d.referents
	r.named, r.in, r.names = map[string][]*node{}, map[identity][]*node{}, map[*node][]string{}
	for i := range d.All {
		way := &d.All[i]
		n := d.nodeOf[way.Document.Node]
		for _, id := range way.identities(len(way.Folders)) {
			r.add(n, identity{id.name, way.lastIdentity().namespace})
		}
	}
	d.findWrittenIn()
}

// findWrittenIn finds referents.writtenIn.
func (d *division) findWrittenIn() {
	writtenIn := map[string][]*node{}
	isMovedInto, isThere := map[string]bool{}, map[string]bool{}
	for i := range d.All {
		if first, last := d.All[i].stages[0][0].namespace, d.All[i].lastIdentity().namespace; first != last {
			isMovedInto[last] = true
		}
	}
	for i := range d.All {
		way := &d.All[i]
		namespace := way.stages[0][0].namespace
		key := strings.Join(slices.Concat(way.Folders, []string{namespace}), "\n")
		if isMovedInto[namespace] && !isThere[key] {
			isThere[key] = true
			writtenIn[namespace] = append(writtenIn[namespace], d.nodeOf[way.Document.Node])
		}
	}
	d.referents.writtenIn = writtenIn
}

func (r *referents) add(n *node, id identity) {
	if !slices.Contains(r.in[id], n) {
		r.in[id] = append(r.in[id], n)
	}
	if !slices.Contains(r.names[n], id.name) {
		r.names[n] = append(r.names[n], id.name)
		r.named[id.name] = append(r.named[id.name], n)
	}
}

// findReferences finds what each document may refer to, by its values and those that patches may
// give it.
func (d *division) findReferences() {
	ofGroup := map[*group][]string{}
	for _, n := range d.nodes {
		if names := d.referents.known(n.given); len(names) > 0 {
			ofGroup[n.group] = append(ofGroup[n.group], names...)
		}
	}
	ofFolder := map[string][]string{}
	for folder, k := range d.loaded {
		ofFolder[folder] = d.referents.known(d.givenValues(k))
	}
	parallel.For(len(d.nodes), func(i int) {
		n := d.nodes[i]
		if n.text == nil || !slices.ContainsFunc(n.ways, func(way *Way) bool { return mayRefer(way.gvk) }) {
			return
		}
		var s scope
		values := slices.Clone(ofGroup[n.group])
		for _, way := range n.ways {
			s.add(way.gvk, way.lastIdentity().namespace)
			for _, folder := range way.Folders {
				values = append(values, ofFolder[folder]...)
			}
		}
		for _, needed := range n.needs {
			values = append(values, needed.given...)
		}
		for _, o := range n.text.Objects {
			o.Values(func(value string) {
				if d.referents.matters(value, o.Kind) {
					values = append(values, value)
				}
			})
			s.addSubjects(o.Kind, values)
		}
		n.refersTo = d.referents.find(s, values)
	})
}

// mayRefer reports whether an object of a kind may refer to others: ConfigMaps and Secrets do not,
// unless a configuration says so.
func mayRefer(gvk resid.Gvk) bool {
	return gvk.ApiVersion() != "v1" || gvk.Kind != "ConfigMap" && gvk.Kind != "Secret"
}

// givenValues returns the values that a kustomization may give to all objects, but for those of
// patches.
func (w *Ways) givenValues(k *source.Kustomization) (values []string) {
	values = append(values, k.Namespace)
	for _, image := range k.Images {
		values = append(values, image.NewName)
	}
	for _, added := range w.addedMetadata(k) {
		values = slices.AppendSeq(values, maps.Values(added))
	}
	return values
}

// addSubjects adds the namespaces that a RoleBinding may name, whose ServiceAccounts it may refer to.
func (s *scope) addSubjects(kind string, values []string) {
	if kind == "RoleBinding" {
		s.namespaces = append(s.namespaces, values...)
	}
}

// matters reports whether a value of an object of a kind is known, or may be a namespace of subjects.
func (r *referents) matters(value, kind string) bool {
	return r.isKnown(value) || kind == "RoleBinding"
}

// isKnown reports whether a value is a name, or a namespace of writtenIn.
func (r *referents) isKnown(value string) bool {
	return len(r.named[value]) > 0 || len(r.writtenIn[value]) > 0
}

// known returns the values that are known.
func (r *referents) known(values []string) []string { return filter(values, r.isKnown) }

// find returns the nodes that have one of some names in a scope, and all that have a name in common
// with one of these: kustomize may take the new name that it gives a reference for the old one of
// another object.
func (r *referents) find(s scope, names []string) (found []*node) {
	if names = r.known(names); len(names) == 0 {
		return nil
	}
	given := names
	isFound, isAsked := map[*node]bool{}, map[string]bool{}
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if isAsked[name] {
			continue
		}
		isAsked[name] = true
		for _, n := range r.inScope(s, name) {
			if !isFound[n] {
				isFound[n] = true
				found, names = append(found, n), append(names, r.names[n]...)
			}
		}
	}
	for _, value := range given {
		for _, n := range r.writtenIn[value] {
			if len(found) > 0 && !isFound[n] {
				isFound[n] = true
				found = append(found, n)
			}
		}
	}
	return found
}

// inScope returns the nodes that have a name in a scope.
func (r *referents) inScope(s scope, name string) []*node {
	if s.isAny {
		return r.named[name]
	}
	found := r.in[identity{name, resid.TotallyNotANamespace}]
	for _, namespace := range s.namespaces {
		found = slices.Concat(found, r.in[identity{name, namespace}])
	}
	return found
}

// missing returns what built objects may refer to and a part does not have: a replacement, or
// something else than a patch, has given them its name.
func (d *division) missing(p *part, objects []manifest.Object) (missing []*node) {
	for _, o := range objects {
		gvk := gvkOf(o.GroupVersionKind())
		if !mayRefer(gvk) {
			continue
		}
		var s scope
		s.add(gvk, newIdentity(gvk, "", o.GetNamespace()).namespace)
		var values []string
		for key, value := range manifest.Values(o.Object) {
			text, _ := value.(string)
			for _, name := range [...]string{key, text} {
				if name != "" && d.referents.matters(name, gvk.Kind) {
					values = append(values, name)
				}
			}
		}
		s.addSubjects(gvk.Kind, values)
		for _, n := range d.referents.find(s, values) {
			if _, isThere := p.nodes[n]; !isThere {
				missing = append(missing, n)
			}
		}
	}
	return missing
}
