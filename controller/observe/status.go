package observe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"example.com/gatehouse/kind"
)

// conditionsOf returns the conditions of an object of a kind, wherever in its status they are
// embedded.
func conditionsOf(owner kind.Object) []metav1.Condition {
	field := reflect.Indirect(reflect.ValueOf(owner)).FieldByName("Status")
	if field.Kind() != reflect.Struct {
		return nil
	}
	if field = field.FieldByName("Conditions"); !field.IsValid() {
		return nil
	}
	conditions, _ := field.Interface().([]metav1.Condition)
	return conditions
}

// content is a status as its JSON has it, without what is null: to the API server that is
// not there.
type content map[string]any

// contentOf returns the content of a status of whatever type.
func contentOf(status any) (content, error) {
	b, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	var c content
	if err := utiljson.Unmarshal(b, (*map[string]any)(&c)); err != nil {
		return nil, fmt.Errorf("%T: %w", status, err)
	}
	if c == nil {
		return nil, errors.New("there is none")
	}
	maps.DeleteFunc(c, func(_ string, value any) bool { return value == nil })
	return c, nil
}

// lastContent returns the content of the status that an object has.
func lastContent(owner kind.Object) (content, error) {
	var object struct {
		Status json.RawMessage `json:"status"`
	}
	b, err := json.Marshal(owner)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &object); err != nil || len(object.Status) == 0 {
		return content{}, err
	}
	return contentOf(object.Status)
}

// says reports whether two statuses say the same. Their conditions may be in whatever order:
// the API server keeps that in which they were first written.
func (c content) says(other content) bool {
	return reflect.DeepEqual(c.sorted(), other.sorted())
}

// sorted returns the status with its conditions sorted by type.
func (c content) sorted() map[string]any {
	conditions, ok := c["conditions"].([]any)
	if !ok {
		return c
	}
	sorted := maps.Clone(c)
	sorted["conditions"] = slices.SortedStableFunc(slices.Values(conditions), func(a, b any) int {
		return cmp.Compare(typeOf(a), typeOf(b))
	})
	return sorted
}

func typeOf(condition any) string {
	fields, _ := condition.(map[string]any)
	name, _ := fields["type"].(string)
	return name
}

// conditions returns those of a status that can be read as such.
func (c content) conditions() (conditions []metav1.Condition) {
	if b, err := json.Marshal(c["conditions"]); err == nil {
		_ = json.Unmarshal(b, &conditions)
	}
	return conditions
}
