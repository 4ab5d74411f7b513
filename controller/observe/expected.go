package observe

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// id is what an object is found by: its kind and its name, of one that is immutable as it
// is before the hash.
type id struct {
	schema.GroupKind
	name string
}

// expect returns what an object is rendered to as far as its status depends on it, sorted.
func expect(k kind.Kind, owner kind.Object) ([]registry.Child, registry.Rendering, error) {
	rendered, err := registry.Expand(&k, owner)
	slices.SortFunc(rendered.Observed, byName)
	return rendered.Observed, rendered.Rendering, err
}

func byName(a, b registry.Child) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
}

// present returns what was rendered from an object and is in the cluster to stay, as if it were
// what is expected, sorted.
func present(k kind.Kind, children []kind.Object) (all []registry.Child) {
	for _, o := range renderedOf(children) {
		if o.GetDeletionTimestamp() == nil {
			key := idOf(k, o)
			all = append(all, registry.Child{GroupKind: key.GroupKind, Name: key.name, Digest: o.GetAnnotations()[kind.DigestAnnotation]})
		}
	}
	slices.SortFunc(all, byName)
	return all
}

// renderedOf returns the children of an object that were rendered from it. What others made, like
// the Pods of a Deployment, is theirs.
func renderedOf(children []kind.Object) []kind.Object {
	return slices.DeleteFunc(slices.Clone(children), func(o kind.Object) bool { return metav1.GetControllerOf(o) != nil })
}

// idOf returns what an object in the cluster is found by.
func idOf(k kind.Kind, o kind.Object) id {
	key := id{o.GetObjectKind().GroupVersionKind().GroupKind(), o.GetName()}
	if child := k.Observes(key.GroupKind); child != nil && child.Immutable {
		key.name = beforeHash(key.name)
	}
	return key
}

// match finds what is expected among the children of an object: for each that is expected the
// object in the cluster, nil where it is missing, and those that are not expected, sorted.
func match(k kind.Kind, all []registry.Child, children []kind.Object) (found, leftOver []kind.Object) {
	rendered := renderedOf(children)
	slices.SortFunc(rendered, newestFirst)
	byID := map[id][]kind.Object{}
	for _, o := range rendered {
		key := idOf(k, o)
		byID[key] = append(byID[key], o)
	}
	found = make([]kind.Object, len(all))
	taken := map[kind.Object]bool{}
	for i, e := range all {
		if o := best(e, byID[id{e.GroupKind, e.Name}]); o != nil {
			found[i], taken[o] = o, true
		}
	}
	leftOver = slices.DeleteFunc(rendered, func(o kind.Object) bool { return taken[o] })
	slices.SortFunc(leftOver, func(a, b kind.Object) int { return cmp.Compare(describe(a), describe(b)) })
	return found, leftOver
}

// best is of objects that may be the one that is expected, newest first, the one that was
// rendered from the spec, or else one that was rendered from another and stays.
func best(e registry.Child, objects []kind.Object) (stale kind.Object) {
	for _, o := range objects {
		switch {
		case !isStale(e, o):
			return o
		case stale == nil && o.GetDeletionTimestamp() == nil:
			stale = o
		}
	}
	return stale
}

func isStale(e registry.Child, o kind.Object) bool {
	return o.GetAnnotations()[kind.DigestAnnotation] != e.Digest
}

// newestFirst orders objects by age, those that are being deleted last.
func newestFirst(a, b kind.Object) int {
	if going := a.GetDeletionTimestamp() != nil; going != (b.GetDeletionTimestamp() != nil) {
		if going {
			return 1
		}
		return -1
	}
	return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}

// beforeHash returns the name that an object had before it got one with a hash; empty for a name
// without a hash.
func beforeHash(name string) string {
	before := name[:max(strings.LastIndexByte(name, '-'), 0)]
	if !registry.IsHashName(name, before) {
		return ""
	}
	return before
}

func describe(o kind.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetName()
}
