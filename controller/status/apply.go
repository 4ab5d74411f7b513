// Package status is how controllers write the status of an object, and tell of it.
package status

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldOwner owns the fields that the controllers write.
const FieldOwner = client.FieldOwner("gatehouse-controller")

// Apply writes the status in an apply configuration. It is a conflict unless the
// server holds the very version of the object that the configuration names.
func Apply(ctx context.Context, c client.Client, configuration runtime.ApplyConfiguration) error {
	return c.Status().Apply(ctx, configuration, FieldOwner, client.ForceOwnership)
}

// IsOutdated reports whether a write failed as it does where the server holds something
// newer than the cache that it was decided from: the event of what is newer is on its way.
// Admission may answer so, too.
func IsOutdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}
