// Package health computes the health of objects as Argo CD and Flux do, by what they are told
// in render/sync/health, for tests.
package health

import (
	"fmt"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// The health of an object, in the words of Argo CD.
const (
	Healthy     = "Healthy"
	Progressing = "Progressing"
	Degraded    = "Degraded"
)

// reasons are those of Ready that leave no doubt; by any other, an object is Progressing
// until it is Stalled, and Degraded then.
var reasons = map[string]string{
	// of an At that waits for nobody
	"Armed": Healthy, "Suspended": Healthy, "AlreadyRan": Healthy,
	// of one whose gate is open
	"Running": Healthy, "Unschedulable": Healthy, "Gated": Healthy, "ImageNotPulled": Healthy, "ContainerNotCreated": Healthy,
	// of one whose command ended, or will not run
	"Complete": Healthy, "CommandFailed": Healthy, "ActiveDeadlineExceeded": Healthy, "PodFailed": Healthy, "PodLost": Healthy, "DeadlineMissed": Healthy,
	"OpenedEarly": Healthy, "MayHaveRun": Healthy,

	// of a Memcached
	"Ready": Healthy, "RollingOut": Progressing, "PodsNotReady": Progressing, "RolloutFailed": Degraded,

	// of an At that has no Pod to open, or cannot be read
	"InvalidSchedule": Degraded, "OpenRefused": Progressing,
}

// haveReasons are the kinds whose reasons these are. Others are Healthy when they are Ready.
var haveReasons = []string{cnatv1alpha1.KindAt, cachev1alpha1.KindMemcached}

// Check is the error of an object that people write whose health is not what its status means.
func Check(object *unstructured.Unstructured) error {
	want := expected(object)
	argo, err := ArgoCD(object)
	if err != nil {
		return err
	}
	if argo != want {
		return fmt.Errorf("by Argo CD: %s, want %s: %v", argo, want, object.Object["status"])
	}
	flux, err := Flux(object)
	if err != nil {
		return err
	}
	if means[flux] != want {
		return fmt.Errorf("by Flux: %s, want %s: %v", flux, want, object.Object["status"])
	}
	return nil
}

// means are the words of Argo CD for those of Flux.
var means = map[status.Status]string{status.CurrentStatus: Healthy, status.InProgressStatus: Progressing, status.FailedStatus: Degraded}

// expected is the health that a status means.
func expected(object *unstructured.Unstructured) string {
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if observed != object.GetGeneration() {
		return Progressing
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	health := Progressing
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		reason, _ := condition["reason"].(string)
		switch known := reasons[reason]; {
		case condition["type"] == "Ready" && known != "":
			return known
		case condition["type"] == "Ready" && condition["status"] == "True" && !slices.Contains(haveReasons, object.GetKind()):
			health = Healthy
		case condition["type"] == "Stalled" && condition["status"] == "True":
			health = Degraded
		}
	}
	return health
}
