// Package status is how controllers write the status of an object, and tell of it.
package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldOwner owns the fields that the controllers write.
const FieldOwner = client.FieldOwner("gatehouse-controller")

// Content returns a status of whatever type as its JSON has it, without what is null: to the API
// server that is not there.
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
		return nil, errors.New("there is none")
	}
	maps.DeleteFunc(content, func(_ string, value any) bool { return value == nil })
	return content, nil
}

// Apply makes content the status of an object, and returns the resourceVersion that the object has
// then. It is a conflict unless the server holds the very version of the object that is given.
func Apply(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, object metav1.Object, content map[string]any) (version string, err error) {
	configuration := &unstructured.Unstructured{Object: map[string]any{"status": content}}
	configuration.SetGroupVersionKind(gvk)
	configuration.SetNamespace(object.GetNamespace())
	configuration.SetName(object.GetName())
	configuration.SetUID(object.GetUID())
	configuration.SetResourceVersion(object.GetResourceVersion())
	err = c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(configuration), FieldOwner, client.ForceOwnership)
	return configuration.GetResourceVersion(), err // as it was answered
}

// IsOutdated reports whether a write failed as it does where the server holds something
// newer than the cache that it was decided from: the event of what is newer is on its way.
// Admission may answer so, too.
func IsOutdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}
