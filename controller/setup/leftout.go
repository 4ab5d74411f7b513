package setup

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
)

// leftOut replaces an object in the cache that the controller does not serve.
type leftOut struct {
	metav1.PartialObjectMetadata
	kind            schema.GroupVersionKind
	reason, message string
}

// The reasons not to serve an object.
const (
	undecodable = "Undecodable"
	tooLarge    = "TooLarge"
)

// Reconciler returns a reconciler that passes each source object to a function. It marks the status of an
// object that is left out, since its last status may be Ready.
func (c Cached) Reconciler(next func(context.Context, kind.Object) (reconcile.Result, error)) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		object, err := c.objects.get(ctx, c.kind.GVK(), request.NamespacedName)
		if object == nil || err != nil {
			return reconcile.Result{}, err
		}
		left, isLeftOut := object.(*leftOut)
		if !isLeftOut {
			return next(ctx, object.DeepCopyObject().(kind.Object))
		}
		err = c.mark(ctx, left)
		if status.IsOutdated(err) {
			err = nil // the event of the newer object is on its way
		}
		return reconcile.Result{}, err
	})
}

// mark writes the conditions of kstatus of an object that is left out. It keeps the rest of the status: a
// recorded start or end must not be lost.
func (c Cached) mark(ctx context.Context, left *leftOut) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(left.kind)
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(left), object); err != nil {
		return fmt.Errorf("read %s: %w", left.kind.Kind, err)
	}
	last := decodable(object)
	conditions := condition.New(last.Conditions, object.GetGeneration(), c.clock.Now())
	conditions.Stalled(left.reason, "The controller does not serve this object: "+left.message)
	all := slices.DeleteFunc(slices.Clone(last.Conditions), func(c metav1.Condition) bool {
		return condition.IsOfKstatus(c.Type)
	})
	all = condition.SortByType(append(all, conditions.Sorted()...))
	next := kind.Status{ObservedGeneration: object.GetGeneration(), Conditions: all}
	if next.ObservedGeneration == last.ObservedGeneration && status.Equal(next.Conditions, last.Conditions) {
		return nil
	}
	fields, err := status.Content(next)
	if err != nil {
		return err
	}
	_, err = status.Merge(ctx, c.client, left.kind, object, fields)
	return err
}

// decodable returns the part of an object's status that can be decoded.
func decodable(object *unstructured.Unstructured) (decoded kind.Status) {
	decoded.ObservedGeneration, _, _ = unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, content := range conditions {
		var c metav1.Condition
		fields, ok := content.(map[string]any)
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			decoded.Conditions = append(decoded.Conditions, c)
		}
	}
	return decoded
}

// leftOutGauge counts the objects of a controller's kind that are left out.
func (c Controller) leftOutGauge(objects *objects) status.Gauge {
	desc := prometheus.NewDesc("gatehouse_left_out",
		"Objects that cannot be decoded or are too large, and are not served.",
		[]string{"reason"}, prometheus.Labels{"kind": c.Kind.GVK().Kind})
	return status.Gauge{Desc: desc, Count: func(ctx context.Context) (map[string]int, error) {
		_, left, err := objects.all(ctx, c.Kind.GVK())
		counts := map[string]int{undecodable: 0, tooLarge: 0}
		for _, l := range left {
			counts[l.reason]++
		}
		return counts, err
	}}
}
