package source

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds are the kinds that people write and that something is rendered from.
type Kinds struct {
	GVKs []schema.GroupVersionKind
	// Configuration is a file of `configurations:` that tells kustomize about their fields.
	Configuration []byte
}

// Has reports whether something is rendered from objects of a kind.
func (k Kinds) Has(apiVersion, kind string) bool {
	return slices.Contains(k.GVKs, schema.FromAPIVersionAndKind(apiVersion, kind))
}

// Names returns the names of the kinds without their groups.
func (k Kinds) Names() []string {
	names := make([]string, len(k.GVKs))
	for i, gvk := range k.GVKs {
		names[i] = gvk.Kind
	}
	return names
}
