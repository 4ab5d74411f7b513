package setup

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Rendered is what was rendered from the objects of one kind.
type Rendered struct {
	// Cache holds what was rendered from any kind, each object as the controller of its
	// kind has it trimmed.
	Cache cache.Cache

	label string
}

// List lists the objects of a type that were rendered from an object of the kind. They must
// not be changed.
func (r Rendered) List(ctx context.Context, list client.ObjectList, from client.ObjectKey) error {
	return r.Cache.List(ctx, list, client.InNamespace(from.Namespace),
		client.MatchingFields{byOwner: owner(r.label, from.Name)}, client.UnsafeDisableDeepCopy)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Events returns a source that, some time after each event of an object of a type, requests
// what the object was rendered from.
func (r Rendered) Events(object client.Object, delay func(ctx context.Context, object client.Object, from client.ObjectKey) time.Duration) source.Source {
	enqueue := func(ctx context.Context, object client.Object, q queue) {
		if name := object.GetLabels()[r.label]; name != "" {
			from := client.ObjectKey{Namespace: object.GetNamespace(), Name: name}
			q.AddAfter(reconcile.Request{NamespacedName: from}, delay(ctx, object, from))
		}
	}
	return source.Kind(r.Cache, object, handler.TypedEventHandler[client.Object, reconcile.Request](handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetLabels()[r.label] != e.ObjectNew.GetLabels()[r.label] {
				enqueue(ctx, e.ObjectOld, q)
			}
			enqueue(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
	}))
}
