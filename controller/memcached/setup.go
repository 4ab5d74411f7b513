package memcached

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/render/kinds"
)

// Controller is the controller of Memcacheds.
var Controller = setup.Controller{
	Name:  "Memcacheds",
	Types: runtime.SchemeBuilder{cachev1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme},
	Label: kinds.MemcachedLabel,
	Rendered: map[client.Object]toolscache.TransformFunc{
		&appsv1.Deployment{}: setup.Trim(trimDeployment),
		&corev1.Pod{}:        setup.Trim(trimPod),
	},
	Setup: addController,
}

// podsByMemcached is the index of Pods by the name of the Memcached that they serve.
const podsByMemcached = "memcached"

func addController(ctx context.Context, mgr ctrl.Manager, rendered cache.Cache, options setup.Options) error {
	err := rendered.IndexField(ctx, &corev1.Pod{}, podsByMemcached, func(pod client.Object) []string { return []string{memcachedName(pod)} })
	if err != nil {
		return err
	}
	if err := mgr.Add(stateGauge(mgr.GetCache())); err != nil {
		return err
	}
	reconciler := &Reconciler{
		Client:   mgr.GetClient(),
		Rendered: rendered,
		Clock:    clock.RealClock{},
		Grace:    options.Grace,
		Events:   mgr.GetEventRecorder(string(status.FieldOwner)),
	}
	// For names the kind in the logs; it would handle events at once.
	never := predicate.NewPredicateFuncs(func(client.Object) bool { return false })
	return ctrl.NewControllerManagedBy(mgr).
		For(&cachev1alpha1.Memcached{}, builder.WithPredicates(never)).
		Watches(&cachev1alpha1.Memcached{}, enqueueAfter(settle, client.Object.GetName)).
		WatchesRawSource(source.Kind(rendered, &appsv1.Deployment{}, enqueueAfter(settle, memcachedName[*appsv1.Deployment]))).
		WatchesRawSource(source.Kind(rendered, &corev1.Pod{}, enqueueAfter(delayOfPods(rendered), memcachedName[*corev1.Pod]))).
		Complete(reconcile.AsReconciler(mgr.GetClient(), reconciler))
}

// memcachedName is the name of the Memcached that an object was rendered from.
func memcachedName[T client.Object](object T) string {
	return object.GetLabels()[kinds.MemcachedLabel]
}
