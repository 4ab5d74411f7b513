package setup

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// byOwner is the index of rendered objects by source object.
const byOwner = "owner"

// transform trims rendered objects before they are cached, as the controller of their kind does.
// The label of the object names the kind. Only the name remains of an object without such a label.
func transform(scheme *runtime.Scheme, controllers []Controller) toolscache.TransformFunc {
	return func(o any) (any, error) {
		object, ok := o.(client.Object)
		if !ok { // a tombstone of a missed deletion
			return o, nil
		}
		gvk, err := apiutil.GVKForObject(object, scheme)
		switch {
		case runtime.IsNotRegisteredError(err): // already transformed
			return o, nil
		case err != nil:
			return nil, err
		}
		for _, c := range controllers {
			if trimmed := c.Trimmed(object, gvk); trimmed != nil {
				return trimmed, nil
			}
		}
		return nameOnly(object, gvk), nil
	}
}

// Trimmed returns the part of a rendered object that the controller uses. It may change the object.
// It returns nil if the object lacks the label of the kind, or the status does not depend on its
// type.
func (c Controller) Trimmed(object client.Object, gvk schema.GroupVersionKind) client.Object {
	child := c.Kind.Observes(gvk.GroupKind())
	switch {
	case object.GetLabels()[c.Kind.Label()] == "" || child == nil || child.GVK != gvk:
		return nil
	case c.Trim != nil:
		return c.Trim(object)
	}
	return trim(object, gvk, c.Kind.Label())
}

// ownersOf returns the owners of an object with its namespace: each label of a kind that it carries.
// The cache's own IndexField would take twice the memory, for an index of all namespaces.
func (o *objects) ownersOf(object any) (owners []string, _ error) {
	labels, namespace := object.(client.Object).GetLabels(), object.(client.Object).GetNamespace()
	for _, c := range o.controllers {
		if name := labels[c.Kind.Label()]; name != "" {
			owners = append(owners, namespace+"/"+owner(c.Kind.Label(), name))
		}
	}
	return owners, nil
}

func owner(label, name string) string { return label + "=" + name }
