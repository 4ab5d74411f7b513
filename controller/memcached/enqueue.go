package memcached

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A sync or a rollout changes a Memcached, its Deployment and its Pods many times
// within moments, and one status written after them says it all. What becomes of Pods
// during a rollout is in the status of the Deployment at once, which is then what to
// follow.
const (
	settleDelay  = time.Second
	rolloutDelay = 10 * time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueueAfter handles every event of an object by a request, some time later, for the
// Memcached that has this name.
func enqueueAfter[T client.Object](delay func(context.Context, T) time.Duration, name func(T) string) handler.TypedEventHandler[T, reconcile.Request] {
	enqueue := func(ctx context.Context, object T, q queue) {
		key := client.ObjectKey{Namespace: object.GetNamespace(), Name: name(object)}
		q.AddAfter(reconcile.Request{NamespacedName: key}, delay(ctx, object))
	}
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q queue) { enqueue(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], q queue) { enqueue(ctx, e.Object, q) },
	}
}

func settle[T client.Object](context.Context, T) time.Duration { return settleDelay }

// delayOfPods returns how long to wait after an event of a Pod.
func delayOfPods(rendered client.Reader) func(context.Context, *corev1.Pod) time.Duration {
	return func(ctx context.Context, pod *corev1.Pod) time.Duration {
		var deployment appsv1.Deployment
		key := client.ObjectKey{Namespace: pod.Namespace, Name: memcachedName(pod)}
		if err := rendered.Get(ctx, key, &deployment); err != nil {
			return settleDelay // as a rule it does not exist
		}
		if isRollingOut(&deployment, deployment.Status.ReadyReplicas) {
			return rolloutDelay
		}
		return settleDelay
	}
}
