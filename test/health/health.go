// Package health computes the health of objects in tests, as Argo CD and Flux do with the checks of
// render/verbs/sync/health.
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

// healthByReason has the health that a reason of Ready means. With any other reason, an object is
// Progressing until it is Stalled, and Degraded then.
var healthByReason = map[string]string{
	// an At that is ready for its time
	"Armed": Healthy, "Suspended": Healthy, "AlreadyRan": Healthy,
	// an At whose gate is open
	"Running": Healthy, "Unschedulable": Healthy, "Gated": Healthy, "ImageNotPulled": Healthy,
	"ContainerNotCreated": Healthy,
	// an At whose command ended, or will not run
	"Complete": Healthy, "CommandFailed": Healthy, "ActiveDeadlineExceeded": Healthy, "PodFailed": Healthy,
	"PodLost": Healthy, "DeadlineMissed": Healthy,
	"OpenedEarly": Healthy, "MayHaveRun": Healthy,

	// a Memcached
	"Ready": Healthy, "RollingOut": Progressing, "PodsNotReady": Progressing, "RolloutFailed": Degraded,

	// an At whose gate cannot be opened
	"InvalidSchedule": Degraded, "OpenRefused": Progressing,
}

// kindsWithReasons lists the kinds that these reasons belong to. Other kinds are Healthy if they are
// Ready.
var kindsWithReasons = []string{cnatv1alpha1.KindAt, cachev1alpha1.KindMemcached}

// Check returns an error unless Argo CD and Flux report the health that the status of a source object
// means.
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
	if argoHealth[flux] != want {
		return fmt.Errorf("by Flux: %s, want %s: %v", flux, want, object.Object["status"])
	}
	return nil
}

// argoHealth translates the words of Flux to the words of Argo CD.
var argoHealth = map[status.Status]string{status.CurrentStatus: Healthy, status.InProgressStatus: Progressing,
	status.FailedStatus: Degraded}

// expected returns the health that the status of an object means.
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
		switch known := healthByReason[reason]; {
		case condition["type"] == "Ready" && known != "":
			return known
		case condition["type"] == "Ready" && condition["status"] == "True" &&
			!slices.Contains(kindsWithReasons, object.GetKind()):
			health = Healthy
		case condition["type"] == "Stalled" && condition["status"] == "True":
			health = Degraded
		}
	}
	return health
}
