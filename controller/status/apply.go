// Package status writes the status of objects, and reports it in logs, metrics and events.
package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/condition"
)

// FieldOwner owns the fields that the controllers write.
const FieldOwner = client.FieldOwner("gatehouse-controller")

// Content returns a status as plain JSON without null fields, which the API server does not store.
func Content(status any) (map[string]any, error) {
	b, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if err := utiljson.Unmarshal(b, &content); err != nil {
		return nil, fmt.Errorf("%T: %w", status, err)
	}
	if content == nil {
		return nil, errors.New("the status is null")
	}
	maps.DeleteFunc(content, func(_ string, value any) bool { return value == nil })
	return content, nil
}

// Apply writes content as the status of an object, and returns the stored object. It is a conflict
// unless the server holds the given version. Server-side apply cannot remove foreign conditions,
// since another field manager owns them. If content lacks such a condition, a first write makes it
// False, and a second removes it.
func Apply(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, object metav1.Object,
	content map[string]any) (*unstructured.Unstructured, error) {
	foreign := foreignTypes(object, content)
	stored := reference(gvk, object)
	stored.Object["status"] = withFalse(content, foreign)
	err := c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(stored), FieldOwner, client.ForceOwnership)
	if err != nil || len(foreign) == 0 {
		return stored, err
	}
	conditions, _, err := unstructured.NestedSlice(stored.Object, "status", "conditions")
	if err != nil {
		return nil, fmt.Errorf("read the stored conditions: %w", err)
	}
	conditions = slices.DeleteFunc(conditions, func(condition any) bool {
		return slices.Contains(foreign, typeOf(condition))
	})
	return Merge(ctx, c, gvk, stored, map[string]any{"conditions": conditions})
}

// Merge merges fields into the status of an object, and returns the stored object. It is a conflict
// unless the server holds the given version.
func Merge(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, object metav1.Object,
	fields map[string]any) (*unstructured.Unstructured, error) {
	stored := reference(gvk, object)
	stored.Object["status"] = fields
	patch, err := json.Marshal(stored.Object)
	if err != nil {
		return nil, err
	}
	return stored, c.Status().Patch(ctx, stored, client.RawPatch(types.MergePatchType, patch), FieldOwner)
}

// reference returns the identity of one version of an object.
func reference(gvk schema.GroupVersionKind, object metav1.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(object.GetNamespace())
	u.SetName(object.GetName())
	u.SetUID(object.GetUID())
	u.SetResourceVersion(object.GetResourceVersion())
	return u
}

// IsOutdated reports whether a write failed because the server holds a newer object than the cache.
// The event of the newer object is on its way. Admission may answer with the same codes.
func IsOutdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}

// Equal reports whether two statuses of one kind are equal. The order of conditions does not
// matter: the API server keeps the order of the first write.
func Equal[S any](a, b S) bool {
	return statusEquality.DeepEqual(a, b)
}

var statusEquality = newStatusEquality()

func newStatusEquality() conversion.Equalities {
	equalities := equality.Semantic.Copy()
	err := equalities.AddFunc(func(a, b []metav1.Condition) bool {
		return equality.Semantic.DeepEqual(condition.SortByType(a), condition.SortByType(b))
	})
	if err != nil { // impossible: the function compares two values of one type
		panic(err)
	}
	return equalities
}
