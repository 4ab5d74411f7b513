// Package observe is the controller of kinds that are all rendered: it says in the status of
// each object how what was rendered from it is, and changes nothing else.
package observe

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
)

// Controller returns the controller of a kind whose status is all that there is to do.
func Controller(k kind.Kind) setup.Controller {
	return setup.Controller{
		Kind:           k,
		ConditionTypes: conditionTypes,
		Setup: func(_ context.Context, mgr ctrl.Manager, rendered setup.Rendered, options setup.Options) error {
			return add(k, mgr, rendered, options)
		},
	}
}

func add(k kind.Kind, mgr ctrl.Manager, rendered setup.Rendered, options setup.Options) error {
	gauge, err := stateGauge(k, mgr.GetScheme(), mgr.GetCache())
	if err != nil {
		return err
	}
	if err := mgr.Add(gauge); err != nil {
		return err
	}
	// For names the kind in the logs; it would handle events at once.
	never := predicate.NewPredicateFuncs(func(client.Object) bool { return false })
	controller := ctrl.NewControllerManagedBy(mgr).
		For(k.New(), builder.WithPredicates(never)).
		Watches(k.New(), setup.After(client.ObjectKeyFromObject, settle)).
		WithOptions(options.Controller())
	for _, gvk := range setup.ObservedTypes(k) {
		controller.WatchesRawSource(rendered.Events(setup.NewObject(gvk), settleOrFollow(k, mgr.GetCache())))
	}
	return controller.Complete(rendered.Served(&reconciler{
		kind:     k,
		client:   mgr.GetClient(),
		rendered: rendered,
		clock:    options.Clock,
		grace:    options.Grace,
		events:   mgr.GetEventRecorder(string(status.FieldOwner)),
	}))
}

// A sync or a rollout changes an object, what was rendered from it and its Pods many times
// within moments, and one status written after them says it all. While it is under way
// what others make, like the Pods of a Deployment, is in the status of what they make it
// from as well, which is then what to follow.
const (
	settleDelay  = time.Second
	rolloutDelay = 10 * time.Second
)

// settle returns how long to wait after events of an object of a kind.
func settle(context.Context, client.Object, client.ObjectKey) time.Duration { return settleDelay }

// settleOrFollow returns how long to wait after events of what was rendered from objects of a
// kind.
func settleOrFollow(k kind.Kind, objects client.Reader) setup.Delay {
	return func(ctx context.Context, rendered client.Object, from client.ObjectKey) time.Duration {
		if metav1.GetControllerOf(rendered) == nil {
			return settleDelay
		}
		owner := k.New()
		if err := objects.Get(ctx, from, owner, client.UnsafeDisableDeepCopy); err != nil {
			return settleDelay // as a rule it does not exist
		}
		conditions := conditionsOf(owner)
		if len(conditions) == 0 || meta.IsStatusConditionTrue(conditions, condition.Reconciling) {
			return rolloutDelay
		}
		return settleDelay
	}
}
