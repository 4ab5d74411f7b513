package owner

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func live(labels, annotations map[string]string, managers ...metav1.ManagedFieldsEntry) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	u.SetManagedFields(managers)
	return u
}

// A controller owns its object before any mark of a tool, and a mark names more than a field manager.
func TestOwnerIsTheControllerOrTheToolThatMarksAnObject(t *testing.T) {
	mark := map[string]string{FluxDomain + "/name": "shop"}
	helm := metav1.ManagedFieldsEntry{Manager: "helm", Operation: metav1.ManagedFieldsOperationUpdate}
	status := metav1.ManagedFieldsEntry{Manager: Flux, Subresource: "status"}
	isController := true
	owned := live(mark, nil)
	owned.SetOwnerReferences([]metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: &isController}})
	for name, test := range map[string]struct {
		of   *unstructured.Unstructured
		want string
	}{
		"controller":     {owned, "ReplicaSet web"},
		"label":          {live(mark, nil, helm), "Flux's Kustomization shop"},
		"annotation":     {live(nil, map[string]string{ArgoDomain + "/tracking-id": "shop:apps"}), "Argo CD shop:apps"},
		"field manager":  {live(nil, nil, helm), "the Helm release"},
		"status only":    {live(nil, nil, status), ""},
		"nobody's label": {live(map[string]string{"app.kubernetes.io/name": "shop"}, nil), ""},
	} {
		if got := Of(test.of); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// kubectl apply without --server-side updates the object, and an autoscaler updates a field of it.
func TestAppliersApplyTheWholeObject(t *testing.T) {
	apply := metav1.ManagedFieldsOperationApply
	update := metav1.ManagedFieldsOperationUpdate
	got := Appliers(live(nil, nil,
		metav1.ManagedFieldsEntry{Manager: Manager("prod"), Operation: apply},
		metav1.ManagedFieldsEntry{Manager: Manager("prod"), Operation: apply},
		metav1.ManagedFieldsEntry{Manager: "autoscaler", Operation: update},
		metav1.ManagedFieldsEntry{Manager: "autoscaler", Operation: apply, Subresource: "scale"},
		metav1.ManagedFieldsEntry{Manager: clientSide, Operation: update}))
	if want := []string{"gatehouse-prod", clientSide}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if environment, isOurs := Environment(got[0]); environment != "prod" || !isOurs {
		t.Errorf("environment %q, %t", environment, isOurs)
	}
}
