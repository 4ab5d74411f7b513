// Package registry is the list of the kinds of a program: it says what is wrong with them, and
// expands, converts and names what people write of them. Its functions are pure.
package registry

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
)

// Kinds are the kinds that people may write.
type Kinds struct {
	// All are the kinds, in the order in which they were given.
	All []kind.Kind

	check sync.Once
	wrong error // what it found
}

// New returns the Kinds of a list. Its error has everything that is wrong with any.
func New(all ...kind.Kind) (*Kinds, error) {
	k := &Kinds{All: all}
	return k, k.Check()
}

// Check returns everything that is wrong with any of the kinds. It looks once.
func (k *Kinds) Check() error {
	k.check.Do(func() { k.wrong = check(k.All) })
	return k.wrong
}

// Rendered returns the kinds that are rendered as they are, and not converted to another version.
func (k *Kinds) Rendered() iter.Seq[*kind.Kind] {
	return func(yield func(*kind.Kind) bool) {
		for i := range k.All {
			if !k.All[i].IsConverted() && !yield(&k.All[i]) {
				return
			}
		}
	}
}

// String returns how people say any of the kinds: "an At or a Memcached".
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

// GVKs returns those of the kinds.
func (k *Kinds) GVKs() []schema.GroupVersionKind {
	gvks := make([]schema.GroupVersionKind, len(k.All))
	for i := range k.All {
		gvks[i] = k.All[i].GVK()
	}
	return gvks
}

// Find returns the kind of an object, nil where it is not one that people write.
func (k *Kinds) Find(gvk schema.GroupVersionKind) *kind.Kind {
	return k.first(func(one *kind.Kind) bool { return one.GVK() == gvk })
}

// RenderedFrom returns the kind whose label an object carries, nil where it carries none.
func (k *Kinds) RenderedFrom(object *unstructured.Unstructured) *kind.Kind {
	labels, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "labels")
	values, _ := labels.(map[string]any)
	return k.first(func(one *kind.Kind) bool {
		text, _ := values[one.Label()].(string)
		return !one.IsConverted() && text != ""
	})
}

// FindRendered returns the kind of a group and name that is rendered, whichever its version; nil
// where there is none.
func (k *Kinds) FindRendered(gk schema.GroupKind) *kind.Kind {
	return k.first(func(one *kind.Kind) bool { return !one.IsConverted() && one.GVK().GroupKind() == gk })
}

// first returns the first kind of which something is true; nil where there is none.
func (k *Kinds) first(isTrue func(*kind.Kind) bool) *kind.Kind {
	for i := range k.All {
		if isTrue(&k.All[i]) {
			return &k.All[i]
		}
	}
	return nil
}

// IsImmutable reports whether an object was rendered from a kind to what nobody can change,
// and so has a name that HashName gave it.
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
	without := func(one kind.Kind) bool { return one.Gate() == "" }
	return &Kinds{All: slices.DeleteFunc(slices.Clone(k.All), without)}
}

// Gates returns the scheduling gates that the controllers of kinds open.
func (k *Kinds) Gates() (gates []string) {
	for i := range k.All {
		if k.All[i].Gate() != "" {
			gates = append(gates, k.All[i].Gate())
		}
	}
	return gates
}

// KustomizeConfig returns what kustomize has to know of the fields of all kinds, as a file of
// `configurations:` has it.
func (k *Kinds) KustomizeConfig() []byte {
	var config kind.KustomizeConfig
	for i := range k.All {
		config.Add(&k.All[i])
	}
	return config.YAML()
}
