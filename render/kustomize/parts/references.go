package parts

import (
	"iter"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
)

// targets has the reference targets: the nodes with objects that others may refer to by name. kustomize
// updates references when it renames objects. An object is taken to refer to every object whose name
// it has in any field.
type targets struct {
	byName     map[string][]*node             // by each name during the build
	names      map[*node][]string             // these names
	byIdentity map[buildpath.Identity][]*node // the same, with the final namespace

	// bySourceNamespace has the nodes of objects whose source is in a namespace into which kustomizations
	// move other objects, one for each list of folders. If there is one, kustomize resolves a reference
	// with that namespace to objects whose source is there, and otherwise to objects that are there by
	// now: filterMapCandidatesByNamespace of api/filters/nameref/nameref.go.
	bySourceNamespace map[string][]*node
}

// scope has the namespaces of objects that an object may refer to.
type scope struct {
	namespaces []string
	isAny      bool
}

// add adds the scope of an object of a kind in a namespace. A cluster-scoped object may refer to objects
// in any namespace.
func (s *scope) add(gvk resid.Gvk, namespace string) {
	s.namespaces = append(s.namespaces, namespace)
	s.isAny = s.isAny || gvk.IsClusterScoped()
}

func findTargets(paths *buildpath.Paths, nodes *nodes, configurations []source.Configuration) *targets {
	t := &targets{map[string][]*node{}, map[*node][]string{}, map[buildpath.Identity][]*node{}, map[string][]*node{}}
	isMovedInto := map[string]bool{}
	hasNamespaces := slices.ContainsFunc(configurations, namesNamespaces)
	for i := range paths.All {
		path := &paths.All[i]
		last := path.Last().Namespace
		if hasNamespaces || !path.GVK.Equals(namespaceGVK) {
			for _, id := range path.Identities(len(path.Folders)) {
				t.add(nodes.of[path.Document.Tree], buildpath.Identity{Name: id.Name, Namespace: last})
			}
		}
		if path.Steps[0][0].Namespace != last {
			isMovedInto[last] = true
		}
	}
	isThere := map[string]bool{}
	for i := range paths.All {
		path := &paths.All[i]
		namespace := path.Steps[0][0].Namespace
		key := strings.Join(slices.Concat(path.Folders, []string{namespace}), "\n")
		if isMovedInto[namespace] && !isThere[key] {
			isThere[key] = true
			t.bySourceNamespace[namespace] = append(t.bySourceNamespace[namespace], nodes.of[path.Document.Tree])
		}
	}
	return t
}

var namespaceGVK = resid.NewGvk("", "v1", "Namespace")

// namesNamespaces reports whether kustomize updates the names of Namespaces in references. Its own configuration has no
// such nameReference.
func namesNamespaces(c source.Configuration) bool {
	for _, reference := range c.NameReference {
		if namespaceGVK.IsSelected(&reference.Gvk) {
			return true
		}
	}
	return false
}

// add adds a node whose object has an identity.
func (t *targets) add(n *node, id buildpath.Identity) {
	if !slices.Contains(t.byIdentity[id], n) {
		t.byIdentity[id] = append(t.byIdentity[id], n)
	}
	if !slices.Contains(t.names[n], id.Name) {
		t.names[n] = append(t.names[n], id.Name)
		t.byName[id.Name] = append(t.byName[id.Name], n)
	}
}

// references returns the reference targets of all source objects of nodes. References that the build adds
// show in its result: see missingTargets.
func (t *targets) references(nodes []*node) dependencies {
	found := make([][]*node, len(nodes))
	parallel.For(len(nodes), func(i int) {
		n := nodes[i]
		if n.text == nil || !slices.ContainsFunc(n.paths, func(path *buildpath.Path) bool {
			return mayRefer(path.GVK)
		}) {
			return
		}
		var s scope
		for _, path := range n.paths {
			s.add(path.GVK, path.Last().Namespace)
		}
		for _, o := range n.text.Objects {
			found[i] = append(found[i], t.find(s, o.Kind, o.Values())...)
		}
	})
	references := dependencies{}
	for i, n := range nodes {
		if len(found[i]) > 0 {
			references[n] = found[i]
		}
	}
	return references
}

// missingTargets returns the reference targets of built objects that a part lacks.
func (d *Division) missingTargets(p *part, objects []manifest.Object) (missing []*node) {
	for _, o := range objects {
		id := buildpath.IDOf(o)
		if !mayRefer(id.Gvk) {
			continue
		}
		var s scope
		s.add(id.Gvk, id.Namespace)
		for _, n := range d.targets.find(s, id.Kind, texts(o.Object)) {
			if _, isThere := p.nodes[n]; !isThere {
				missing = append(missing, n)
			}
		}
	}
	return missing
}

// texts yields the keys and the text values in the content of an object.
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

// mayRefer reports whether objects of a kind may refer to others. ConfigMaps and Secrets do not, unless
// a configuration adds such references.
func mayRefer(gvk resid.Gvk) bool {
	return gvk.ApiVersion() != "v1" || gvk.Kind != "ConfigMap" && gvk.Kind != "Secret"
}

// find returns the reference targets in a scope that have one of an object's values as a name, and all
// targets that share a name with these: kustomize may take the new name in a reference for the old name
// of another object. The values of a RoleBinding include the namespaces of its subjects.
func (t *targets) find(s scope, kind string, values iter.Seq[string]) (found []*node) {
	var names, namespaces []string
	for value := range values {
		if len(t.byName[value]) > 0 {
			names = append(names, value)
		}
		if len(t.bySourceNamespace[value]) > 0 {
			namespaces = append(namespaces, value)
		}
		if kind == "RoleBinding" {
			s.namespaces = append(s.namespaces, value)
		}
	}
	isFound := map[*node]bool{}
	add := func(n *node) {
		if !isFound[n] {
			isFound[n] = true
			found = append(found, n)
			names = append(names, t.names[n]...)
		}
	}
	isVisited := map[string]bool{}
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if !isVisited[name] {
			isVisited[name] = true
			for _, n := range t.inScope(s, name) {
				add(n)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	for _, namespace := range namespaces {
		for _, n := range t.bySourceNamespace[namespace] {
			add(n)
		}
	}
	return found
}

// inScope returns the reference targets in a scope that have a name.
func (t *targets) inScope(s scope, name string) []*node {
	if s.isAny {
		return t.byName[name]
	}
	found := t.byIdentity[buildpath.Identity{Name: name, Namespace: resid.TotallyNotANamespace}]
	for _, namespace := range s.namespaces {
		found = slices.Concat(found, t.byIdentity[buildpath.Identity{Name: name, Namespace: namespace}])
	}
	return found
}
