package registry

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is what the API server calls objects of a group and kind: of one that is among
// the kinds what that says, and otherwise the plural that Kubernetes would give it.
func (k *Kinds) Resource(gk schema.GroupKind) string {
	for i := range k.All {
		if k.All[i].GVK.GroupKind() == gk {
			return k.All[i].Plural()
		}
	}
	if name := strings.ToLower(gk.Kind); strings.HasSuffix(name, "way") || strings.HasSuffix(name, "key") {
		return name + "s" // what Kubernetes does not guess: gateways
	}
	plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	return plural.Resource
}
