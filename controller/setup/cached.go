package setup

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/gatehouse/kind"
)

// Cached reads the source objects and the rendered objects of one kind from the cache. Each has the form that
// the controller of the kind keeps. Callers must not change them.
type Cached struct {
	objects *objects
	kind    kind.Kind
	label   string // of the kind
	client  client.Client
	live    client.Reader
	clock   *Clock
}

// Source returns a source object. It is nil if it does not exist or is left out.
func (c Cached) Source(ctx context.Context, key client.ObjectKey) (kind.Object, error) {
	object, err := c.objects.get(ctx, c.kind.GVK(), key)
	if _, isLeftOut := object.(*leftOut); isLeftOut {
		return nil, err
	}
	return object, err
}

// Sources returns all source objects.
func (c Cached) Sources(ctx context.Context) ([]kind.Object, error) {
	all, _, err := c.objects.all(ctx, c.kind.GVK())
	return all, err
}

// Children returns the rendered objects of a type and a source object.
func (c Cached) Children(ctx context.Context, gvk schema.GroupVersionKind, from client.ObjectKey) ([]kind.Object,
	error) {
	return c.objects.ownedBy(ctx, gvk, ownerKey(from.Namespace, c.label, from.Name))
}

// Events returns a source that requests the source object of each changed object, after a delay.
func (c Cached) Events(object client.Object, delay Delay, predicates ...predicate.Predicate) source.Source {
	from := func(object client.Object) client.ObjectKey {
		return client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetLabels()[c.label]}
	}
	return source.Kind[client.Object](c.objects, object, After(from, delay), predicates...)
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
