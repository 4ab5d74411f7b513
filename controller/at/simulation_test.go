package at

import (
	"context"
	"maps"
	"slices"
	"strings"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/test/health"
)

// This is the Server that a simulatedController has: reads from a cache that lags,
// writes that conflict as those of an API server do, and that fail.

var (
	ats  = schema.GroupResource{Resource: "ats"}
	pods = schema.GroupResource{Resource: "pods"}
)

func (c *simulatedController) Pods(context.Context, types.NamespacedName) ([]corev1.Pod, error) {
	if c.world.unseen {
		return nil, nil
	}
	return slices.Collect(maps.Values(c.world.past[c.seesPods].pods)), nil
}

func (c *simulatedController) UnseenPods(context.Context, *cnatv1alpha1.At) ([]corev1.Pod, error) {
	return slices.Collect(maps.Values(c.world.now().pods)), nil
}

func (c *simulatedController) Pod(_ context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	pod, ok := c.world.now().pods[key.Name]
	if !ok {
		return nil, apierrors.NewNotFound(pods, key.Name)
	}
	return &pod, nil
}

// Open asserts what the whole is for.
func (c *simulatedController) Open(_ context.Context, pod *corev1.Pod) error {
	w := c.world
	held, ok := w.now().pods[pod.Name]
	switch {
	case c.fails == before:
		return errTimeout
	case !ok:
		return apierrors.NewNotFound(pods, pod.Name)
	case held.UID != pod.UID || held.ResourceVersion != pod.ResourceVersion:
		return apierrors.NewConflict(pods, pod.Name, nil)
	}

	digest := held.Annotations[kind.DigestAnnotation]
	if !isGated(&held) {
		c.t.Fatalf("Pod %s is opened again", held.UID)
	}
	if poses(&held) {
		c.t.Fatalf("Pod %s is opened, which was not rendered", held.UID)
	}
	if w.clock.Now().Before(w.dues[digest]) {
		c.t.Fatalf("opened at %s, due at %s", w.clock.Now(), w.dues[digest])
	}
	if at := w.now().at; at != nil && (at.Status.Run == nil || at.Status.Run.PodUID != held.UID || at.Status.Run.OpenedTime == nil) {
		c.t.Fatalf("opened Pod %s, whose start is not on record: %+v", held.UID, at.Status)
	}
	if w.starts[digest]++; w.starts[digest] > 1 {
		c.t.Fatalf("%s starts twice", digest)
	}
	if at := w.past[c.seesAt].at; at != nil {
		w.origin[digest] = at.UID
	}
	held.Spec.SchedulingGates = nil
	w.write(func(s *state) { held.ResourceVersion = w.version(); s.pods[held.Name] = held })
	if c.fails == after {
		return errTimeout
	}
	return nil
}

func (c *simulatedController) Hold(_ context.Context, pod *corev1.Pod, version string) error {
	w := c.world
	held, ok := w.now().pods[pod.Name]
	switch {
	case c.fails == before:
		return errTimeout
	case !ok:
		return apierrors.NewNotFound(pods, pod.Name)
	case held.UID != pod.UID || held.ResourceVersion != pod.ResourceVersion:
		return apierrors.NewConflict(pods, pod.Name, nil)
	case held.Annotations[kind.HeldAnnotation] == version:
		return nil
	}
	held.Annotations = maps.Clone(held.Annotations)
	held.Annotations[kind.HeldAnnotation] = version
	w.write(func(s *state) { held.ResourceVersion = w.version(); s.pods[held.Name] = held })
	if c.fails == after {
		return errTimeout
	}
	return nil
}

func (c *simulatedController) Version(_ context.Context, at *cnatv1alpha1.At) (string, error) {
	current := c.world.now().at
	if current == nil || current.UID != at.UID {
		return "", nil
	}
	return current.ResourceVersion, nil
}

func (c *simulatedController) DueTogether(*cnatv1alpha1.At) int {
	return c.world.together
}

func (c *simulatedController) Apply(_ context.Context, at *cnatv1alpha1.At, next cnatv1alpha1.AtStatus) (*cnatv1alpha1.At, error) {
	w, held := c.world, c.world.now().at
	switch {
	case c.fails == before:
		return nil, errTimeout
	case held == nil:
		return nil, apierrors.NewNotFound(ats, at.Name)
	case held.UID != at.UID || held.ResourceVersion != at.ResourceVersion:
		return nil, apierrors.NewConflict(ats, at.Name, nil)
	case status.Equal(held.Status, next):
		c.t.Fatalf("a write that changes nothing: %+v", next)
	}
	written := held.DeepCopy()
	written.Status = *next.DeepCopy()
	c.checkStatus(written)
	if run := next.Run; run != nil && run.PodUID != "" {
		if strings.HasPrefix(string(run.PodUID), "posing-") {
			c.t.Fatalf("Pod %s is the run, which was not rendered", run.PodUID)
		}
	}
	w.write(func(s *state) { written.ResourceVersion = w.version(); s.at = written })
	w.forget()
	if c.fails == after {
		return nil, errTimeout
	}
	return written.DeepCopy(), nil
}

// checkStatus asserts that kstatus reads a status as it is meant.
func (c *simulatedController) checkStatus(at *cnatv1alpha1.At) {
	conditions := at.Status.Conditions
	meanings := map[string]kstatus.Status{condition.Ready: kstatus.CurrentStatus, condition.Reconciling: kstatus.InProgressStatus, condition.Stalled: kstatus.FailedStatus}
	var said []string
	for conditionType := range meanings {
		if meta.IsStatusConditionTrue(conditions, conditionType) {
			said = append(said, conditionType)
		}
	}
	if len(said) != 1 {
		c.t.Fatalf("says %v: %+v", said, at.Status)
	}
	object, err := untyped(at)
	if err != nil {
		c.t.Fatal(err)
	}
	computed, err := kstatus.Compute(object)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := health.Check(object); err != nil {
		c.t.Fatal(err)
	}
	if at.Status.ObservedGeneration == at.Generation && computed.Status != meanings[said[0]] {
		c.t.Fatalf("kstatus computes %s: %+v", computed.Status, at.Status)
	}
	if !slices.Contains([]cnatv1alpha1.AtPhase{cnatv1alpha1.AtPending, cnatv1alpha1.AtRunning, cnatv1alpha1.AtDone}, at.Status.Phase) {
		c.t.Fatalf("phase %q", at.Status.Phase)
	}
}

// untyped is an At as the API server has it.
func untyped(at *cnatv1alpha1.At) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(at)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt))
	return u, err
}

// noEvents is an event recorder that records nothing.
type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}
