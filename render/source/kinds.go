package source

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds are the kinds that something is rendered from.
type Kinds struct {
	GVKs []schema.GroupVersionKind
	// Configuration is what kustomize is told of their fields, as a file of
	// `configurations:`, beside what kustomizations tell it.
	Configuration []byte
}

// Has says whether an object of a kind is one that something is rendered from.
func (k Kinds) Has(apiVersion, kind string) bool {
	return slices.Contains(k.GVKs, schema.FromAPIVersionAndKind(apiVersion, kind))
}

// Names are the names of the kinds, whatever their groups.
func (k Kinds) Names() []string {
	names := make([]string, len(k.GVKs))
	for i, gvk := range k.GVKs {
		names[i] = gvk.Kind
	}
	return names
}
