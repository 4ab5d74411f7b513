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

// statusOf returns a pointer to the status of an object; nil if its Go type has none.
func statusOf(owner kind.Object) any {
	field := reflect.Indirect(reflect.ValueOf(owner)).FieldByName("Status")
	if field.Kind() != reflect.Struct {
		return nil
	}
	return field.Addr().Interface()
}

// conditionsOf returns the conditions of an object, embedded or not.
func conditionsOf(owner kind.Object) []metav1.Condition {
	return statusField[[]metav1.Condition](owner, "Conditions")
}

// renderingOf returns the Rendering in the status of an object; empty if its type has none.
func renderingOf(owner kind.Object) string {
	return statusField[string](owner, "Rendering")
}

// statusField returns a field of the status of an object, embedded or not. It is zero if there is
// no field of that type.
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

// withStatus returns an object of a kind that has only a status.
func withStatus(k kind.Kind, content map[string]any) (kind.Object, error) {
	owner := k.New()
	return owner, runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": content}, owner)
}

// Decision is a decided status.
type Decision struct {
	// Status is the status as plain JSON values.
	Status map[string]any

	// Wake is the time of the next decision if nothing changes; zero for never.
	Wake time.Time

	// Failure is the error of the kind's Expand or Status. The status reports it, too.
	Failure error

	after kind.Object // has only the status
}

func newDecision(k kind.Kind, decided any, wake time.Time) (d Decision, err error) {
	if d.Status, err = status.Content(decided); err != nil {
		return d, err
	}
	d.Wake = wake
	d.after, err = withStatus(k, d.Status)
	return d, err
}

// largestStatus limits the size of a status from a kind, in bytes: the cache leaves out objects
// that are too large.
const largestStatus = 64 << 10

// Decide decides the status of an object. If its kind has a Status function, that has the last
// word. Children are the object's children as the controller caches them. Grace is how long a
// rendered object may be missing before its source object is stalled.
func Decide(k kind.Kind, owner kind.Object, children []kind.Object, now time.Time,
	grace time.Duration) (decision Decision, err error) {
	derived, wake, failure := decide(snapshot{
		kind: k, owner: owner, last: conditionsOf(owner), lastMatch: renderingOf(owner), children: children, now: now,
		grace: grace,
	})
	if k.Status == nil {
		decision, err = newDecision(k, derived, wake)
		decision.Failure = failure
		return decision, err
	}
	seen := kind.Observation{Children: children, Status: derived, Wake: wake, Now: now, Grace: grace}
	decision, failed := decideByKind(k, owner, seen)
	if failed != nil {
		decision, err = failedDecision(k, owner, failed, now)
	}
	decision.Failure = errors.Join(failure, failed)
	return decision, err
}

// failedDecision keeps the last status of an object, with conditions that report the error of its kind.
func failedDecision(k kind.Kind, owner kind.Object, failed error, now time.Time) (Decision, error) {
	content, err := status.Content(statusOf(owner))
	if err != nil {
		return Decision{}, err
	}
	conditions := condition.New(conditionsOf(owner), owner.GetGeneration(), now)
	conditions.Stalled(ReasonStatusFailed, oneLine(failed))
	head, err := status.Content(kind.Status{ObservedGeneration: owner.GetGeneration(), Conditions: conditions.Sorted()})
	if err != nil {
		return Decision{}, err
	}
	maps.Copy(content, head)
	return newDecision(k, content, time.Time{})
}

// decideByKind calls the Status function of the kind and checks the result.
func decideByKind(k kind.Kind, owner kind.Object, seen kind.Observation) (Decision, error) {
	decided, err := registry.Decide(&k, owner, seen)
	if err != nil {
		return Decision{}, err
	}
	decision, err := newDecision(k, decided.Status, decided.Wake)
	if err != nil {
		return Decision{}, err
	}
	if text, _ := json.Marshal(decision.Status); len(text) > largestStatus {
		return Decision{}, fmt.Errorf("its Status returns more than %d KiB: have it return less", largestStatus>>10)
	}
	if condition.FindReady(conditionsOf(decision.after)).Type == "" {
		return Decision{},
			errors.New("its Status returns no condition Ready: have it return the status of the snapshot, or " +
				"conditions of its own")
	}
	return decision, nil
}
