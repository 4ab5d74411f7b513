// Package diff compares what an environment was rendered to with what it renders to now, object
// by object: order and formatting do not count.
package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// Environment is what changes in an environment.
type Environment struct {
	Name string
	// Kinds has the kinds that people may write in the environment.
	Kinds *registry.Kinds
	// Changes is in the order of namespaces, kinds and names.
	Changes []Change
	// Unchanged has the objects that are the same before and after.
	Unchanged []*unstructured.Unstructured
	// For is the version of Kubernetes that the environment says it is for; empty where it says none.
	For string
	// Kubernetes is a change of that version, if any.
	Kubernetes *KubernetesChange
	// Problems has warnings, or the errors without which there would be changes.
	Problems []manifest.Problem
}

// KubernetesChange is a change of the Kubernetes that an environment says it is for. Each version is
// empty where it said none, which means the newest that render knows. It changes nothing in a
// cluster, but by what version objects are judged.
type KubernetesChange struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

func (c KubernetesChange) String() string {
	name := func(version string) string {
		if version == "" {
			return "the newest that render knows"
		}
		return "Kubernetes " + version
	}
	return fmt.Sprintf("for %s, before for %s", name(c.After), name(c.Before))
}

// Change is an object that is added, removed, changed, or replaced by one of another name.
type Change struct {
	// Before is nil where the object is added, After where it is removed.
	Before, After *unstructured.Unstructured
	// BeforeFile and AfterFile are relative to the root, with slashes.
	BeforeFile, AfterFile string
	// Notes explains a difference from a cluster: who made it, what a sync does about it.
	Notes []string
}

// Action is what happens to an object.
type Action string

// The actions.
const (
	Added   Action = "added"
	Changed Action = "changed"
	// Replaced is an object that nobody can change, such as a Pod: one of another name takes
	// its place.
	Replaced Action = "replaced"
	Removed  Action = "removed"
)

// Action returns what happens to the object.
func (c Change) Action() Action {
	switch {
	case c.Before == nil:
		return Added
	case c.After == nil:
		return Removed
	case c.Before.GetName() != c.After.GetName():
		return Replaced
	}
	return Changed
}

// Object returns the object after the change, or before it where it is removed.
func (c Change) Object() manifest.Object {
	if c.After == nil {
		return manifest.Object{Unstructured: c.Before}
	}
	return manifest.Object{Unstructured: c.After}
}

// Objects compares the objects of an environment before and after.
func Objects(kinds *registry.Kinds, name string, before, after []manifest.Object) Environment {
	e := Environment{Name: name, Kinds: kinds}
	old := map[manifest.ID]manifest.Object{}
	for _, o := range before {
		old[o.IDInNamespace()] = o
	}
	for _, o := range after {
		id := o.IDInNamespace()
		was := old[id]
		delete(old, id)
		if was.Unstructured != nil && equal(was.Unstructured, o.Unstructured) {
			e.Unchanged = append(e.Unchanged, o.Unstructured)
			continue
		}
		e.Changes = append(e.Changes, Change{Before: was.Unstructured, After: o.Unstructured, BeforeFile: was.File, AfterFile: o.File})
	}
	for _, o := range old {
		e.Changes = append(e.Changes, Change{Before: o.Unstructured, BeforeFile: o.File})
	}
	e.Changes = replacements(kinds, e.Changes)
	slices.SortFunc(e.Changes, Compare)
	return e
}

// replacements joins an object that is added and one that is removed to one replacement, where
// both are the only ones that one object was rendered to of one kind and one name before the
// hash, and nobody can change them.
func replacements(kinds *registry.Kinds, changes []Change) []Change {
	added, removed := map[place][]int{}, map[place][]int{}
	for i, c := range changes {
		switch p, ok := placeOf(kinds, c.Object().Unstructured); {
		case !ok:
		case c.Before == nil:
			added[p] = append(added[p], i)
		case c.After == nil:
			removed[p] = append(removed[p], i)
		}
	}
	for p, in := range added {
		if out := removed[p]; len(in) == 1 && len(out) == 1 {
			is, was := &changes[in[0]], &changes[out[0]]
			is.Before, is.BeforeFile = was.Before, was.BeforeFile
			*was = Change{}
		}
	}
	return slices.DeleteFunc(changes, func(c Change) bool { return c.Before == nil && c.After == nil })
}

// place identifies what an object that nobody can change is for: another for the same replaces it.
type place struct {
	owner manifest.ID // what it was rendered from
	kind  schema.GroupKind
	name  string // before the hash
}

func placeOf(kinds *registry.Kinds, o *unstructured.Unstructured) (place, bool) {
	if !kinds.IsImmutable(o) {
		return place{}, false
	}
	owner, _ := OwnerOf(kinds, o)
	name := o.GetName()
	return place{owner, o.GroupVersionKind().GroupKind(), name[:max(strings.LastIndex(name, "-"), 0)]}, true
}

// OwnerOf returns what people wrote that an object was rendered from: the object itself where it
// is of a kind that people write.
func OwnerOf(kinds *registry.Kinds, o *unstructured.Unstructured) (owner manifest.ID, ok bool) {
	if kinds.Find(o.GroupVersionKind()) != nil {
		return manifest.Object{Unstructured: o}.ID(), true
	}
	k := kinds.RenderedFrom(o)
	if k == nil {
		return manifest.ID{}, false
	}
	return manifest.ID{Group: k.GVK().Group, Kind: k.GVK().Kind, Namespace: o.GetNamespace(), Name: o.GetLabels()[k.Label()]}, true
}

// Compare sorts changes in the order of namespaces, kinds and names.
func Compare(a, b Change) int {
	x, y := a.Object().ID(), b.Object().ID()
	return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Kind, y.Kind), strings.Compare(x.Name, y.Name), strings.Compare(x.Group, y.Group))
}

// equal reports whether two objects are the same to a cluster.
func equal(a, b *unstructured.Unstructured) bool {
	return bytes.Equal(text(a), text(b)) || equality.Semantic.DeepEqual(typed(a), typed(b))
}

// typed returns an object of a built-in kind as its Go type, in which 1000m and 1 are one
// quantity. It returns any other object, and one with unknown fields, as it is.
func typed(o *unstructured.Unstructured) any {
	versioned, err := scheme.Scheme.New(o.GroupVersionKind())
	if err != nil || hasHugeQuantity(o.Object) {
		return o
	}
	const returnUnknownFields = true
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, versioned, returnUnknownFields); err != nil {
		return o
	}
	return versioned
}

func hasHugeQuantity(content any) bool {
	return manifest.Contains(content, func(_ string, value any) bool {
		text, _ := value.(string)
		return decoding.IsHugeQuantity(text)
	})
}
