// Package registry is the list of the kinds of a program: it says what is wrong with them, and
// expands, converts and names what people write of them. Its functions are pure.
package registry

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
)

// Kinds are the kinds that people may write.
type Kinds struct {
	// All are the kinds, in the order in which they were given.
	All []kind.Kind
}

// entry is a kind of a list.
type entry struct{ *kind.Kind }

// New returns the Kinds of a list. Its error has everything that is wrong with any.
func New(all ...kind.Kind) (*Kinds, error) {
	return &Kinds{all}, check(all)
}

// String returns how people say any of the kinds: "an At or a Memcached".
func (k *Kinds) String() string {
	var names []string
	for i := range k.All {
		if !k.All[i].IsConverted() {
			names = append(names, k.All[i].GVK.Kind)
		}
	}
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		if strings.IndexAny(name, "AEIO") == 0 {
			b.WriteString("an " + name)
		} else {
			b.WriteString("a " + name)
		}
	}
	return b.String()
}

// GVKs returns those of the kinds.
func (k *Kinds) GVKs() []schema.GroupVersionKind {
	gvks := make([]schema.GroupVersionKind, len(k.All))
	for i := range k.All {
		gvks[i] = k.All[i].GVK
	}
	return gvks
}

// Find returns the kind of an object, nil where it is not one that people write.
func (k *Kinds) Find(gvk schema.GroupVersionKind) *kind.Kind {
	for i := range k.All {
		if k.All[i].GVK == gvk {
			return &k.All[i]
		}
	}
	return nil
}

// RenderedFrom returns the kind whose label an object carries, nil where it carries none.
func (k *Kinds) RenderedFrom(object *unstructured.Unstructured) *kind.Kind {
	labels := object.GetLabels()
	for i := range k.All {
		if labels[k.All[i].Label] != "" && !k.All[i].IsConverted() {
			return &k.All[i]
		}
	}
	return nil
}

// IsImmutable reports whether an object was rendered from a kind to what nobody can change,
// and so has a name that HashName gave it.
func (k *Kinds) IsImmutable(object *unstructured.Unstructured) bool {
	kind := k.RenderedFrom(object)
	if kind == nil {
		return false
	}
	child := kind.Child(object.GroupVersionKind().GroupKind())
	return child != nil && child.Immutable
}

// Gates returns the scheduling gates that the controllers of kinds open.
func (k *Kinds) Gates() (gates []string) {
	for i := range k.All {
		if k.All[i].Gate != "" {
			gates = append(gates, k.All[i].Gate)
		}
	}
	return gates
}

// KustomizeConfig returns what kustomize has to know of the fields of all kinds, as a file of
// `configurations:` has it.
func (k *Kinds) KustomizeConfig() []byte {
	all := map[string][]any{}
	for i := range k.All {
		var fields map[string][]any
		_ = yaml.Unmarshal(k.All[i].Fields, &fields) // New says what is wrong with it
		for name, list := range fields {
			all[name] = append(all[name], list...)
		}
	}
	config, err := yaml.Marshal(all)
	if err != nil { // it was read from YAML
		panic(err)
	}
	return config
}
