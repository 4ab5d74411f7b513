package memcached

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/controller/gauge"
	"example.com/gatehouse/render/manifests"
)

// Setup adds the controller of Memcacheds to a manager, whose cache holds
// Deployments as DeploymentCache says; pods is a cache that holds Pods as PodCache
// says.
func Setup(ctx context.Context, mgr ctrl.Manager, pods cache.Cache, grace time.Duration) error {
	if err := pods.IndexField(ctx, &corev1.Pod{}, podsByMemcached, memcachedOf); err != nil {
		return err
	}
	if err := mgr.Add(gauge.WhileLeading(stateCounter{mgr.GetCache()})); err != nil {
		return err
	}
	reconciler := &Reconciler{
		Client: mgr.GetClient(),
		Pods:   pods,
		Clock:  clock.RealClock{},
		Grace:  grace,
		Events: mgr.GetEventRecorder(string(fieldOwner)),
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&cachev1alpha1.Memcached{}).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(requestOf[client.Object])).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(requestOf[*corev1.Pod]))).
		Complete(reconcile.AsReconciler(mgr.GetClient(), reconciler))
}

// requestOf is for the Memcached that an object was rendered from.
func requestOf[T client.Object](_ context.Context, object T) []reconcile.Request {
	key := client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetLabels()[manifests.MemcachedLabel]}
	return []reconcile.Request{{NamespacedName: key}}
}
