package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

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

// contentOf returns a status of whatever type as its JSON has it, without what is null: to the
// API server that is not there.
func contentOf(status any) (map[string]any, error) {
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

// withStatus returns an object of a kind that has the content of a status, and no more.
func withStatus(k kind.Kind, content map[string]any) (kind.Object, error) {
	owner := k.New()
	return owner, runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": content}, owner)
}
