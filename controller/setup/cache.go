package setup

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// byOwner is the index of rendered objects by what they were rendered from.
const byOwner = "owner"

// transform returns what trims a rendered object before it is cached, as the controller of the
// kind says whose label it carries. Of one that carries none its name remains.
func transform(scheme *runtime.Scheme, controllers []Controller) toolscache.TransformFunc {
	return func(o any) (any, error) {
		object, ok := o.(client.Object)
		if !ok { // it tells of a deletion that was missed
			return o, nil
		}
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
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

// Trimmed returns what the controller sees of a rendered object of a type, which it may change; nil
// where the object does not carry the label of its kind, or its status does not depend on such
// objects.
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

// ownersOf returns what indexes an object by each label of a kind that it carries.
func ownersOf(controllers []Controller) client.IndexerFunc {
	return func(object client.Object) (owners []string) {
		for _, c := range controllers {
			if name := object.GetLabels()[c.Kind.Label()]; name != "" {
				owners = append(owners, owner(c.Kind.Label(), name))
			}
		}
		return owners
	}
}

func owner(label, name string) string { return label + "=" + name }
