// Package registry is the list of the kinds of a program. It checks them, expands and converts their
// source objects, and names the rendered objects. Its functions are pure.
package registry

import (
	"iter"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
)

// Kinds are the source kinds of a program.
type Kinds struct {
	// All are the kinds in the order of New.
	All []kind.Kind

	check    sync.Once
	checkErr error
}

// New returns the Kinds of a list, with the errors of all of them.
func New(all ...kind.Kind) (*Kinds, error) {
	k := &Kinds{All: all}
	return k, k.Check()
}

// Check returns the errors of all kinds. It checks them once.
func (k *Kinds) Check() error {
	k.check.Do(func() { k.checkErr = k.problems() })
	return k.checkErr
}

// defined iterates over the kinds that Define made. Check reports the others.
func (k *Kinds) defined() iter.Seq[*kind.Kind] {
	return func(yield func(*kind.Kind) bool) {
		for i := range k.All {
			if k.All[i].IsDefined() && !yield(&k.All[i]) {
				return
			}
		}
	}
}

// Rendered iterates over the kinds without Convert.
func (k *Kinds) Rendered() iter.Seq[*kind.Kind] {
	return func(yield func(*kind.Kind) bool) {
		for one := range k.defined() {
			if !one.IsConverted() && !yield(one) {
				return
			}
		}
	}
}

// String returns the rendered kinds as in a sentence: "an At or a Memcached".
func (k *Kinds) String() string {
	var names []string
	for one := range k.Rendered() {
		article := "a "
		if strings.IndexAny(one.GVK().Kind, "AEIO") == 0 {
			article = "an "
		}
		names = append(names, article+one.GVK().Kind)
	}
	return kind.Or(names)
}

// Find returns the kind of source objects, or nil.
func (k *Kinds) Find(gvk schema.GroupVersionKind) *kind.Kind {
	return k.first(func(one *kind.Kind) bool { return one.GVK() == gvk })
}

// RenderedFrom returns the kind whose label a rendered object carries, or nil.
func (k *Kinds) RenderedFrom(object *unstructured.Unstructured) *kind.Kind {
	labels, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "labels")
	values, _ := labels.(map[string]any)
	return k.first(func(one *kind.Kind) bool {
		text, _ := values[one.Label()].(string)
		return !one.IsConverted() && text != ""
	})
}

// FindRendered returns the rendered version of a group and kind, or nil.
func (k *Kinds) FindRendered(gk schema.GroupKind) *kind.Kind {
	return k.first(func(one *kind.Kind) bool { return !one.IsConverted() && one.GVK().GroupKind() == gk })
}

// first returns the first kind that matches, or nil.
func (k *Kinds) first(matches func(*kind.Kind) bool) *kind.Kind {
	for one := range k.defined() {
		if matches(one) {
			return one
		}
	}
	return nil
}

// IsImmutable reports whether an object is an immutable rendered object, whose name HashName made.
func (k *Kinds) IsImmutable(object *unstructured.Unstructured) bool {
	from := k.RenderedFrom(object)
	if from == nil {
		return false
	}
	child := from.Child(object.GroupVersionKind().GroupKind())
	return child != nil && child.Immutable
}

// Gated returns the kinds with a Gate.
func (k *Kinds) Gated() *Kinds {
	gated := &Kinds{}
	for one := range k.defined() {
		if one.Gate() != "" {
			gated.All = append(gated.All, *one)
		}
	}
	return gated
}

// Gates returns the gates of all kinds.
func (k *Kinds) Gates() (gates []string) {
	for _, one := range k.Gated().All {
		gates = append(gates, one.Gate())
	}
	return gates
}

// KustomizeConfig returns the Fields of all kinds as a file for `configurations:` of a kustomization.
func (k *Kinds) KustomizeConfig() []byte {
	var config kind.KustomizeConfig
	for one := range k.defined() {
		config.Add(one)
	}
	return config.YAML()
}
