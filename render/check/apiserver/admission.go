package apiserver

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// Resource is the name that the kind has in the rules of admission policies.
func (k Kind) Resource() schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
	return resource
}

// Admit returns the object that JSON is as kube-apiserver shows it to admission policies,
// but for what only a cluster knows. It is of no version.
func (k Kind) Admit(encoded []byte) (runtime.Object, error) {
	decoded, err := k.Decode(encoded)
	if err != nil {
		return nil, err
	}
	object, err := meta.Accessor(decoded)
	if err != nil {
		return nil, err
	}
	k.strategy.PrepareForCreate(k.begin(object), decoded)
	return decoded, nil
}

// Conversion converts objects of the kind to any of the versions.
func (k Kind) Conversion(versions runtime.EquivalentResourceMapper) admission.ObjectInterfaces {
	return &admission.RuntimeObjectInterfaces{
		ObjectCreater:            k.scheme,
		ObjectTyper:              k.scheme,
		ObjectDefaulter:          k.scheme,
		ObjectConvertor:          k.scheme,
		EquivalentResourceMapper: versions,
	}
}

// All are the kinds that are served, in the order of their names and versions.
func All() []Kind {
	return slices.SortedFunc(maps.Values(kinds()), func(a, b Kind) int { return cmp.Compare(a.String(), b.String()) })
}
