package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifests"
)

// expand returns what valid, defaulted objects are rendered to. Each has the
// origin of the object that it was rendered from.
func expand(objects []object) ([]object, error) {
	var expanded []object
	for _, o := range objects {
		manifests, err := manifests.Expand(o.Unstructured)
		if err != nil {
			return nil, err
		}
		for _, u := range manifests {
			expanded = append(expanded, object{u, o.origin})
		}
	}
	return expanded, nil
}

// isGated says whether an object is a Pod that waits for its schedule.
func isGated(u *unstructured.Unstructured) bool {
	if u.GetKind() != "Pod" || u.GetAPIVersion() != corev1.SchemeGroupVersion.String() {
		return false
	}
	gates, _, _ := unstructured.NestedSlice(u.Object, "spec", "schedulingGates")
	return slices.ContainsFunc(gates, func(gate any) bool {
		g, _ := gate.(map[string]any)
		return g["name"] == manifests.ScheduleGate
	})
}

// seal gives the Pods of Ats their final names.
func seal(objects []object) error {
	for _, o := range objects {
		if o.GetLabels()[manifests.AtLabel] != "" && isGated(o.Unstructured) {
			if err := manifests.SealPod(o.Unstructured); err != nil {
				return err
			}
		}
	}
	return nil
}
