package observe

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/kind"
)

// statusOf returns a pointer to the status of an object of a kind; nil where its Go type has none.
func statusOf(owner kind.Object) any {
	field := reflect.Indirect(reflect.ValueOf(owner)).FieldByName("Status")
	if field.Kind() != reflect.Struct {
		return nil
	}
	return field.Addr().Interface()
}

// conditionsOf returns the conditions of an object of a kind, wherever in its status they are
// embedded.
func conditionsOf(owner kind.Object) []metav1.Condition {
	status := reflect.ValueOf(statusOf(owner))
	if !status.IsValid() {
		return nil
	}
	field := status.Elem().FieldByName("Conditions")
	if !field.IsValid() {
		return nil
	}
	conditions, _ := field.Interface().([]metav1.Condition)
	return conditions
}

// withStatus returns an object of a kind that has the content of a status, and no more.
func withStatus(k kind.Kind, content map[string]any) (kind.Object, error) {
	owner := k.New()
	return owner, runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": content}, owner)
}
