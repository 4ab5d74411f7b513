package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/registry"
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
	return statusField[[]metav1.Condition](owner, "Conditions")
}

// renderingOf returns the Rendering of the status of an object; empty where its type has none.
func renderingOf(owner kind.Object) string {
	return statusField[string](owner, "Rendering")
}

// statusField returns a field of the status of an object, also one that is embedded; zero where its
// type has none of that type.
func statusField[T any](owner kind.Object, name string) (value T) {
	status := reflect.ValueOf(statusOf(owner))
	if !status.IsValid() {
		return value
	}
	if field := status.Elem().FieldByName(name); field.IsValid() {
		value, _ = field.Interface().(T)
	}
	return value
}

// hasReady reports whether the content of a status has the condition Ready.
func hasReady(k kind.Kind, content map[string]any) bool {
	after, err := withStatus(k, content)
	return err == nil && condition.FindReady(conditionsOf(after)).Type != ""
}

// failedStatus returns the last status of an object with conditions that say why the kind cannot
// decide another.
func failedStatus(owner kind.Object, failed error, now time.Time) (map[string]any, error) {
	content, err := status.Content(statusOf(owner))
	if err != nil {
		return nil, err
	}
	conditions := condition.New(conditionsOf(owner), owner.GetGeneration(), now)
	conditions.Stalled(ReasonStatusFailed, oneLine(failed))
	head, err := status.Content(kind.Status{ObservedGeneration: owner.GetGeneration(), Conditions: conditions.Sorted()})
	maps.Copy(content, head)
	return content, err
}

// withStatus returns an object of a kind that has the content of a status, and no more.
func withStatus(k kind.Kind, content map[string]any) (kind.Object, error) {
	owner := k.New()
	return owner, runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": content}, owner)
}

// Decision is what the status of an object is to be.
type Decision struct {
	// Status is plain data.
	Status map[string]any

	// Wake is when to decide again though nothing changes; zero for never.
	Wake time.Time

	// Failure is the error of Expand or Status of the kind; the status says it, too.
	Failure error
}

// largestStatus bounds a status that a kind decides: the cache leaves out objects that are too large.
const largestStatus = 64 << 10

// Decide decides the status of an object as its kind does, if it does. Children are what the
// controller sees of what was rendered from the object, and grace is for how long something may be
// missing before the object is stalled.
func Decide(k kind.Kind, owner kind.Object, children []kind.Object, now time.Time, grace time.Duration) (Decision, error) {
	free, wake, failure := decide(snapshot{
		kind: k, owner: owner, last: conditionsOf(owner), agreed: renderingOf(owner), children: children, now: now, grace: grace,
	})
	if !k.HasStatus() {
		content, err := status.Content(free)
		return Decision{content, wake, failure}, err
	}
	decided, err := registry.Decide(&k, owner, kind.Observation{Children: children, Status: free, Wake: wake, Now: now, Grace: grace})
	var content map[string]any
	if err == nil {
		content, err = status.Content(decided.Status)
	}
	if text, _ := json.Marshal(content); err == nil && len(text) > largestStatus {
		err = fmt.Errorf("its Status returns more than %d KiB: have it return less", largestStatus>>10)
	}
	if err == nil && !hasReady(k, content) {
		err = errors.New("its Status returns no condition Ready: have it return the status of the snapshot, or conditions of its own")
	}
	if err == nil {
		return Decision{content, decided.Wake, failure}, nil
	}
	content, failed := failedStatus(owner, err, now)
	return Decision{content, time.Time{}, errors.Join(failure, err)}, failed
}
