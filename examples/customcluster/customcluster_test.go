package customcluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/customcluster/apis/v1alpha1"
	"example.com/gatehouse/kindtest"
)

// manifest is a Customcluster with a spec.
func manifest(spec string) string {
	return "{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Customcluster, metadata: {name: hello, namespace: hello}, spec: " + spec + "}"
}

func object(t *testing.T, spec string) *v1alpha1.Customcluster {
	t.Helper()
	return kindtest.Object[v1alpha1.Customcluster](t, Kind, manifest(spec))
}

// The generated files are up to date.
func TestFilesAreUpToDate(t *testing.T) {
	kindtest.Golden(t, "crd/customcluster.kustomizeconfig.yaml", Kind.KustomizeConfig())
}

// Expand is a pure function: a test needs no cluster.
func TestExpandReturnsPods(t *testing.T) {
	for spec, want := range map[string]string{
		"{count: 0, message: hello}":         "",
		"{count: 2, message: hello}":         "hello hello ",
		"{message: hello}":                   "hello ",
		"{message: 'costs $(PRICE), or 5$'}": "costs $$(PRICE), or 5$$ ", // Kubernetes would expand it
	} {
		got := ""
		for _, pod := range kindtest.Expand(t, Kind, object(t, spec)) {
			containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
			env := containers[0].(map[string]any)["env"].([]any)
			got += fmt.Sprint(env[0].(map[string]any)["value"], " ")
		}
		if got != want {
			t.Errorf("%s: the Pods echo %q, want %q", spec, got, want)
		}
	}
}

// podNames returns the names of the rendered Pods of a spec.
func podNames(t *testing.T, spec string) (names []string) {
	t.Helper()
	for _, pod := range kindtest.Expand(t, Kind, object(t, spec)) {
		names = append(names, pod.GetName())
	}
	return names
}

// A changed message replaces all Pods. A changed count adds or removes some.
func TestChangesReplacePods(t *testing.T) {
	two := podNames(t, "{count: 2, message: hello}")
	three := podNames(t, "{count: 3, message: hello}")
	other := podNames(t, "{count: 3, message: hi}")
	if len(two) != 2 || len(three) != 3 || !slices.Equal(two, three[:2]) {
		t.Errorf("two Pods are %q, three are %q", two, three)
	}
	if slices.ContainsFunc(other, func(name string) bool { return slices.Contains(three, name) }) || len(other) != 3 {
		t.Errorf("with another message %q are %q", three, other)
	}
}

// Rendering refuses the specs that the API server refuses.
func TestInvalidSpecsAreRefused(t *testing.T) {
	for spec, want := range map[string]string{
		"{count: 101, message: hello}": "spec.count: Invalid value: 101: should be less than or equal to 100",
		"{count: -1, message: hello}":  "spec.count: Invalid value: -1: should be greater than or equal to 0",
		"{count: 1}":                   "spec.message: Required value",
	} {
		if got := kindtest.Refusal(t, Kind, manifest(spec)); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}

// The status follows the Pods, and has their message once all of them run.
func TestStatusFollowsPods(t *testing.T) {
	c := kindtest.NewCluster(t, Kind, object(t, "{count: 2, message: hello}"))
	check := func(when string, count int32, message, reason string) {
		t.Helper()
		status := c.Status().Status
		ready := slices.IndexFunc(status.Conditions, func(c metav1.Condition) bool { return c.Type == "Ready" })
		if *status.Count != count || status.Message != message || status.Conditions[ready].Reason != reason {
			t.Errorf("%s: %+v", when, status)
		}
	}
	run := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}

	check("at first", 0, "", "ObjectsMissing")
	c.Pass(time.Hour)
	check("after an hour", 0, "", "ObjectsMissing")
	c.Sync()
	check("synced", 0, "", "ObjectsNotReady")
	kindtest.Change(c, run, "hello-0")
	check("one runs", 1, "", "ObjectsNotReady")
	kindtest.Change(c, run)
	check("both run", 2, "hello", "Ready")

	kindtest.Change(c, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, "hello-1")
	check("one failed", 1, "hello", "ObjectsFailed")
	kindtest.Delete[corev1.Pod](c, "hello-1")
	check("it is deleted", 1, "hello", "ObjectsMissing")

	kindtest.Change(c, func(o *v1alpha1.Customcluster) { o.Spec.Message = "hi" })
	check("another message", 1, "hello", "ObjectsMissing")
	c.Sync()
	kindtest.Change(c, run)
	check("synced again", 2, "hi", "Ready")
}
