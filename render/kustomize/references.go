package kustomize

import (
	"iter"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
)

// referents are the nodes whose objects others may refer to, by name. kustomize updates the
// references when it changes the names. Which fields hold names is of no importance here: an
// object is taken to refer to all whose names it has anywhere.
type referents struct {
	named map[string][]*node   // by every name that an object has while it is built
	in    map[identity][]*node // the same, in the namespaces that it ends in

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
	r.named, r.in = map[string][]*node{}, map[identity][]*node{}
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
	if !slices.Contains(n.names, id.name) {
		n.names = append(n.names, id.name)
		r.named[id.name] = append(r.named[id.name], n)
	}
}

// findReferences finds what the documents may refer to, by what is written in them. What an object is given
// while it is built shows in the result of its part, for missing to find.
func (d *division) findReferences() {
	parallel.For(len(d.nodes), func(i int) {
		n := d.nodes[i]
		if n.text == nil || !slices.ContainsFunc(n.ways, func(way *Way) bool { return mayRefer(way.gvk) }) {
			return
		}
		var s scope
		for _, way := range n.ways {
			s.add(way.gvk, way.lastIdentity().namespace)
		}
		for _, o := range n.text.Objects {
			n.refersTo = append(n.refersTo, d.referents.find(s, o.Kind, o.Values())...)
		}
	})
}

// missing returns what built objects may refer to and a part does not have.
func (d *division) missing(p *part, objects []manifest.Object) (missing []*node) {
	for _, o := range objects {
		gvk := gvkOf(o.GroupVersionKind())
		if !mayRefer(gvk) {
			continue
		}
		var s scope
		s.add(gvk, newIdentity(gvk, "", o.GetNamespace()).namespace)
		for _, n := range d.referents.find(s, gvk.Kind, texts(o.Object)) {
			if _, isThere := p.nodes[n]; !isThere {
				missing = append(missing, n)
			}
		}
	}
	return missing
}

// texts yields the keys in the content of an object, and the values that are text.
func texts(content map[string]any) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key, value := range manifest.Values(content) {
			text, _ := value.(string)
			if key != "" && !yield(key) || text != "" && !yield(text) {
				return
			}
		}
	}
}

// mayRefer reports whether an object of a kind may refer to others: ConfigMaps and Secrets do not,
// unless a configuration says so.
func mayRefer(gvk resid.Gvk) bool {
	return gvk.ApiVersion() != "v1" || gvk.Kind != "ConfigMap" && gvk.Kind != "Secret"
}

// find returns the nodes that have one of the values of an object as a name, in a scope, and all that
// have a name in common with one of these: kustomize may take the new name that it gives a reference for
// the old one of another object. A RoleBinding has the namespaces of its subjects among its values.
func (r *referents) find(s scope, kind string, values iter.Seq[string]) (found []*node) {
	var names, writtenIn []string
	for value := range values {
		if len(r.named[value]) > 0 {
			names = append(names, value)
		}
		if len(r.writtenIn[value]) > 0 {
			writtenIn = append(writtenIn, value)
		}
		if kind == "RoleBinding" {
			s.namespaces = append(s.namespaces, value)
		}
	}
	if len(names) == 0 {
		return nil
	}
	isFound, isAsked := map[*node]bool{}, map[string]bool{}
	add := func(n *node) {
		if !isFound[n] {
			isFound[n] = true
			found, names = append(found, n), append(names, n.names...)
		}
	}
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if !isAsked[name] {
			isAsked[name] = true
			for _, n := range r.inScope(s, name) {
				add(n)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	for _, namespace := range writtenIn {
		for _, n := range r.writtenIn[namespace] {
			add(n)
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
