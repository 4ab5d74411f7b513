package setup

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/gatehouse/kind"
)

// Rendered reads the rendered objects of one kind.
type Rendered struct {
	// Cache holds the rendered objects of all kinds, each trimmed by the controller of its kind.
	Cache cache.Cache

	kind   kind.Kind
	label  string // of the kind
	client client.Client
	live   client.Reader
	clock  *Clock
}

// List lists the rendered objects of a type and a source object.
func (r Rendered) List(ctx context.Context, list client.ObjectList, from client.ObjectKey,
	options ...client.ListOption) error {
	return r.Cache.List(ctx, list, append(options, client.InNamespace(from.Namespace),
		client.MatchingFields{byOwner: owner(r.label, from.Name)})...)
}

// Events returns a source that requests the source object of each changed object, after a delay.
func (r Rendered) Events(object client.Object, delay Delay, predicates ...predicate.Predicate) source.Source {
	from := func(object client.Object) client.ObjectKey {
		return client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetLabels()[r.label]}
	}
	return source.Kind(r.Cache, object, handler.TypedEventHandler[client.Object, reconcile.Request](After(from, delay)),
		predicates...)
}

// Delay returns the delay from an event of an object to the request of a key.
type Delay func(ctx context.Context, object client.Object, key client.ObjectKey) time.Duration

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// After returns a handler that requests the key of each changed object, after a delay. It ignores
// an object whose key has no name.
func After(key func(client.Object) client.ObjectKey, delay Delay) handler.Funcs {
	request := func(ctx context.Context, object client.Object, q queue) {
		if key := key(object); key.Name != "" {
			q.AddAfter(reconcile.Request{NamespacedName: key}, delay(ctx, object, key))
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { request(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if key(e.ObjectOld) != key(e.ObjectNew) {
				request(ctx, e.ObjectOld, q)
			}
			request(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { request(ctx, e.Object, q) },
	}
}

// ObservedTypes returns the child types that the status of a kind depends on.
func ObservedTypes(k kind.Kind) (types []schema.GroupVersionKind) {
	for _, child := range k.Children() {
		if !child.Unobserved {
			types = append(types, child.GVK)
		}
	}
	return types
}

// NewObject returns an empty object: of its Go type if client-go has one, which takes less
// memory to watch, otherwise unstructured.
func NewObject(gvk schema.GroupVersionKind) client.Object {
	if known, err := clientgoscheme.Scheme.New(gvk); err == nil {
		return known.(client.Object)
	}
	return untyped(gvk)
}

func untyped(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object
}

// NewList returns an empty list of NewObject's type.
func NewList(gvk schema.GroupVersionKind) client.ObjectList {
	gvk.Kind += "List"
	if known, err := clientgoscheme.Scheme.New(gvk); err == nil {
		return known.(client.ObjectList)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	return list
}
