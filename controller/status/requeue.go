package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Earliest returns the earlier of two times. It ignores a zero time.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// RequeueAt returns the result that reconciles an object again at wake; never if wake is zero.
func RequeueAt(wake, now time.Time) reconcile.Result {
	if wake.IsZero() {
		return reconcile.Result{}
	}
	// A past time means at once. Zero would mean never.
	return reconcile.Result{RequeueAfter: max(wake.Sub(now), time.Nanosecond)}
}

// The reasons of waiting containers that need help from outside.
const (
	ImageNotPulled      = "ImageNotPulled"
	ContainerNotCreated = "ContainerNotCreated"
)

// WaitingReason returns the reason of a container that needs help from outside, or nothing. It has
// one reason for all that alternate during retries.
func WaitingReason(container corev1.ContainerState) string {
	if container.Waiting == nil {
		return ""
	}
	switch container.Waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
		return ImageNotPulled
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return ContainerNotCreated
	}
	return ""
}
