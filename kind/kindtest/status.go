package kindtest

import (
	"cmp"
	"fmt"
	"reflect"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/controller/observe"
	"example.com/gatehouse/kind/condition"
)

// Pass lets time go by, and has the controller decide the status whenever it asked to be woken.
func (c *Cluster[T]) Pass(d time.Duration) {
	c.t.Helper()
	end := c.Now.Add(d)
	for !c.wake.IsZero() && !c.wake.After(end) {
		c.Now = c.wake
		c.Status()
	}
	c.Now = end
}

// Status decides the status of the object as the controller does, and returns the object with that
// status. It fails the test where the status is not one that kubectl wait, Flux and Argo CD read
// right, where it is another when it is decided again, and where Status of the kind changes its
// argument or asks to be woken in the past.
func (c *Cluster[T]) Status() *T {
	c.t.Helper()
	decided := c.decide()
	owner := write(c.t, c.kind.GVK(), c.owner)
	owner["status"] = decided.Status
	c.owner, c.wake = c.kind.New(), decided.Wake
	convert(c.t, owner, c.owner)
	for _, problem := range violations(&unstructured.Unstructured{Object: owner}) {
		c.t.Errorf("status: %s: %v", problem, decided.Status)
	}
	if again := c.decide().Status; !reflect.DeepEqual(again, decided.Status) {
		c.t.Errorf("status: decided again, it is another: %v: %v", decided.Status, again)
	}
	if !c.wake.IsZero() && !c.wake.After(c.Now) {
		c.t.Fatalf("Wake is %s, and it is %s: have Status return a time to come", c.wake, c.Now)
	}
	return any(c.owner.DeepCopyObject()).(*T)
}

// decide decides the status. It fails the test where Status of the kind changes its argument.
func (c *Cluster[T]) decide() observe.Decision {
	c.t.Helper()
	owner, children := c.owner.DeepCopyObject(), c.children()
	decided, err := observe.Decide(c.kind, c.owner, children, c.Now, c.Grace)
	if err = cmp.Or(err, decided.Failure); err != nil {
		c.t.Fatal(err)
	}
	if !reflect.DeepEqual(owner, c.owner) || !reflect.DeepEqual(children, c.children()) {
		c.t.Error("Status changes its argument: have it change a DeepCopy")
	}
	return decided
}

// violations returns what is wrong with the status of an object.
func violations(owner *unstructured.Unstructured) (found []string) {
	status := conditionsOf(owner.Object["status"])
	computed, err := kstatus.Compute(owner)
	if err != nil {
		return []string{err.Error()}
	}
	states := 0
	for name, want := range map[string]kstatus.Status{
		condition.Ready: kstatus.CurrentStatus, condition.Reconciling: kstatus.InProgressStatus, condition.Stalled: kstatus.FailedStatus,
	} {
		if meta.IsStatusConditionTrue(status.Conditions, name) {
			if states++; computed.Status != want {
				found = append(found, fmt.Sprintf("%s is True, and kstatus computes %s", name, computed.Status))
			}
		}
	}
	if states != 1 {
		found = append(found, "not exactly one of Ready, Reconciling and Stalled is True")
	}
	if status.ObservedGeneration != owner.GetGeneration() {
		found = append(found, fmt.Sprintf("observedGeneration is not the generation, %d", owner.GetGeneration()))
	}
	return found
}

// conditionsOf returns what kstatus reads of the content of a status.
func conditionsOf(status any) (conditions struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Conditions         []metav1.Condition `json:"conditions"`
}) {
	content, _ := status.(map[string]any)
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &conditions) // the Go type has read it
	return conditions
}
