package memcached

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A sync or a rollout changes a Memcached, its Deployment and its Pods many times
// within moments, and one status written after them says it all. What becomes of Pods
// is in the status of the Deployment soon after: only when one Pod takes the place of
// another may it not be.
const (
	settleDelay = time.Second
	podDelay    = 10 * time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueueAfter handles every event of an object by a request, some time later, for
// the Memcached that has this name.
func enqueueAfter[T client.Object](delay time.Duration, name func(T) string) handler.TypedEventHandler[T, reconcile.Request] {
	enqueue := func(object T, q queue) {
		key := client.ObjectKey{Namespace: object.GetNamespace(), Name: name(object)}
		q.AddAfter(reconcile.Request{NamespacedName: key}, delay)
	}
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q queue) { enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q queue) { enqueue(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], q queue) { enqueue(e.Object, q) },
	}
}
