package condition

import (
	"fmt"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Violations returns the parts of a status that `kubectl wait`, Flux or Argo CD would misread. It is for
// tests.
func Violations(object *unstructured.Unstructured) (found []string) {
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	var read struct {
		Status struct {
			ObservedGeneration int64              `json:"observedGeneration"`
			Conditions         []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
		return []string{err.Error()}
	}
	computed, err := kstatus.Compute(object)
	if err != nil {
		return []string{err.Error()}
	}
	conditions := read.Status.Conditions
	observed := read.Status.ObservedGeneration
	if observed == -1 { // the controller has not looked yet
		if computed.Status != kstatus.InProgressStatus || len(conditions) > 0 {
			add("kstatus computes %s before the controller looked", computed.Status)
		}
		return found
	}
	isTrue := 0
	for name, want := range map[string]kstatus.Status{Ready: kstatus.CurrentStatus,
		Reconciling: kstatus.InProgressStatus, Stalled: kstatus.FailedStatus} {
		if !meta.IsStatusConditionTrue(conditions, name) {
			continue
		}
		if isTrue++; observed == object.GetGeneration() && computed.Status != want {
			add("%s is True, and kstatus computes %s", name, computed.Status)
		}
	}
	if isTrue != 1 {
		add("not exactly one of %s, %s and %s is True", Ready, Reconciling, Stalled)
	}
	for _, c := range conditions {
		if c.ObservedGeneration != 0 && c.ObservedGeneration != observed { // 0 is unset
			add("%s has the observedGeneration %d, and the status %d", c.Type, c.ObservedGeneration, observed)
		}
	}
	return found
}
