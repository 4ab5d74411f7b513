// Package observe is the controller of rendered kinds. It reports the state of the rendered objects
// in the status of their source object, and changes nothing else.
package observe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// Controller returns the controller of a kind that needs only its status written.
func Controller(k kind.Kind) setup.Controller {
	return setup.Controller{
		Kind:           k,
		ConditionTypes: conditionTypes,
		Setup: func(_ context.Context, mgr ctrl.Manager, cached setup.Cached, options setup.Options) error {
			return add(k, mgr, cached, options)
		},
	}
}

func add(k kind.Kind, mgr ctrl.Manager, cached setup.Cached, options setup.Options) error {
	if err := mgr.Add(stateGauge(k, cached)); err != nil {
		return err
	}
	// For names the kind in the logs. Its own handler is off: it would not delay events.
	never := predicate.NewPredicateFuncs(func(client.Object) bool { return false })
	controller := ctrl.NewControllerManagedBy(mgr).
		For(k.New(), builder.WithPredicates(never)).
		Watches(k.New(), setup.After(client.ObjectKeyFromObject, settle)).
		WithOptions(options.Controller())
	for _, gvk := range setup.ObservedTypes(k) {
		controller.WatchesRawSource(cached.Events(setup.NewObject(gvk), settleOrFollow(cached)))
	}
	r := &reconciler{
		kind:   k,
		client: mgr.GetClient(),
		cached: cached,
		clock:  options.Clock,
		grace:  options.Grace,
		events: mgr.GetEventRecorder(string(status.FieldOwner)),
	}
	return controller.Complete(cached.Reconciler(r.reconcile))
}

// A sync or a rollout changes an object, its rendered objects and their Pods many times within
// moments. One status written after them covers all. During a rollout the status of a Deployment
// already reflects its Pods, so that events of Pods may wait for longer.
const (
	settleDelay  = time.Second
	rolloutDelay = 10 * time.Second
)

// settle returns the delay after events of a source object.
func settle(context.Context, client.Object, client.ObjectKey) time.Duration { return settleDelay }

// settleOrFollow returns the delay after events of the children of a kind.
func settleOrFollow(cached setup.Cached) setup.Delay {
	return func(ctx context.Context, rendered client.Object, from client.ObjectKey) time.Duration {
		if metav1.GetControllerOf(rendered) == nil {
			return settleDelay
		}
		owner, err := cached.Source(ctx, from)
		if err != nil || owner == nil {
			return settleDelay // it rarely exists
		}
		conditions := conditionsOf(owner)
		if len(conditions) == 0 || meta.IsStatusConditionTrue(conditions, condition.Reconciling) {
			return rolloutDelay
		}
		return settleDelay
	}
}

// stateGauge counts the objects of a kind by state, from the cache.
func stateGauge(k kind.Kind, cached setup.Cached) status.Gauge {
	plural := k.Plural()
	desc := prometheus.NewDesc("gatehouse_"+strings.ReplaceAll(plural, "-", "_"),
		fmt.Sprintf("Objects of %s.%s by which of the conditions Ready, Reconciling and Stalled is True.", plural,
			k.GVK().Group), []string{"state"}, nil)
	trueConditions := func(o kind.Object) (types []string) {
		for _, c := range conditionsOf(o) {
			if c.Status == metav1.ConditionTrue {
				types = append(types, c.Type)
			}
		}
		return types
	}
	return status.StateGauge(desc, cached.Sources, trueConditions, condition.Ready, condition.Reconciling,
		condition.Stalled)
}
