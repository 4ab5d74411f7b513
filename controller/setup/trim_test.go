package setup

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/test/testkind"
)

var created = metav1.NewTime(time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC))

// full returns complete metadata, and trimmed its cached form.
func full(labels map[string]string) metav1.ObjectMeta {
	all := map[string]string{"other": "label", kind.ManagedByLabel: kind.ManagedBy}
	for key, value := range labels {
		all[key] = value
	}
	return metav1.ObjectMeta{
		Namespace: "ns", Name: "a", UID: "u", ResourceVersion: "1", Generation: 2, CreationTimestamp: created,
		Labels:          all,
		Annotations:     map[string]string{"other": "annotation", kind.DigestAnnotation: "d"},
		OwnerReferences: []metav1.OwnerReference{{Name: "o"}, {Name: "c", Controller: ptr.To(true)}},
		Finalizers:      []string{"a.example/b"},
	}
}

func trimmed(labels map[string]string) metav1.ObjectMeta {
	labels[kind.ManagedByLabel] = kind.ManagedBy
	return metav1.ObjectMeta{
		Namespace: "ns", Name: "a", UID: "u", ResourceVersion: "1", Generation: 2, CreationTimestamp: created,
		Labels:          labels,
		Annotations:     map[string]string{kind.DigestAnnotation: "d"},
		OwnerReferences: []metav1.OwnerReference{{Name: "c", Controller: ptr.To(true)}},
	}
}

func fleetLabel() map[string]string { return map[string]string{testkind.Label: "s"} }

func TestTrimKeepsObservedFields(t *testing.T) {
	running := corev1.ContainerStatus{Name: "runs", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	waiting := corev1.ContainerStatus{Name: "waits", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
	again := corev1.ContainerStatus{Name: "again", Ready: true, RestartCount: 1, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: created}}}
	for name, test := range map[string]struct{ object, want client.Object }{
		"Pod": {
			&corev1.Pod{
				ObjectMeta: full(fleetLabel()),
				Spec:       corev1.PodSpec{NodeName: "n", HostNetwork: true, Containers: []corev1.Container{{Name: "c"}}},
				Status: corev1.PodStatus{
					Phase: corev1.PodRunning, Reason: "r", Message: "m", PodIP: "10.0.0.1", ObservedGeneration: 2,
					Conditions: []corev1.PodCondition{
						{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", Message: "m"},
						{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
					},
					ContainerStatuses: []corev1.ContainerStatus{running, waiting, again},
				},
			},
			&corev1.Pod{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: trimmed(fleetLabel()),
				Spec: corev1.PodSpec{NodeName: "n", HostNetwork: true},
				Status: corev1.PodStatus{
					Phase: corev1.PodRunning, Reason: "r", ObservedGeneration: 2,
					Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}},
					ContainerStatuses: []corev1.ContainerStatus{waiting, again},
				},
			},
		},
		"StatefulSet": {
			&appsv1.StatefulSet{
				ObjectMeta: full(fleetLabel()),
				Spec: appsv1.StatefulSetSpec{
					Replicas: ptr.To[int32](3), ServiceName: "s", Selector: &metav1.LabelSelector{},
					UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
				},
				Status: appsv1.StatefulSetStatus{Replicas: 3},
			},
			&appsv1.StatefulSet{
				TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: trimmed(fleetLabel()),
				Spec: appsv1.StatefulSetSpec{
					Replicas: ptr.To[int32](3), ServiceName: "s",
					UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
				},
				Status: appsv1.StatefulSetStatus{Replicas: 3},
			},
		},
		"PodDisruptionBudget": {
			&policyv1.PodDisruptionBudget{
				ObjectMeta: full(fleetLabel()),
				Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{}},
			},
			&policyv1.PodDisruptionBudget{
				TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: trimmed(fleetLabel()),
				Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))},
			},
		},
		"ConfigMap": {
			&corev1.ConfigMap{ObjectMeta: full(fleetLabel()), Data: map[string]string{"a": "b"}},
			&corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: trimmed(fleetLabel())},
		},
		"Widget": {
			&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "a.example/v1", "kind": "Widget", "data": "d",
				"metadata": map[string]any{"name": "a", "namespace": "ns", "labels": map[string]any{testkind.Label: "s", "other": "label"}, "finalizers": []any{"f"}},
				"spec":     map[string]any{"size": int64(3), "list": []any{"a"}, "map": map[string]any{"a": "b"}},
				"status":   map[string]any{"conditions": []any{}},
			}},
			&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "a.example/v1", "kind": "Widget",
				"metadata": map[string]any{"name": "a", "namespace": "ns", "labels": map[string]any{testkind.Label: "s", kind.ManagedByLabel: kind.ManagedBy}},
				"spec":     map[string]any{"size": int64(3)},
				"status":   map[string]any{"conditions": []any{}},
			}},
		},
	} {
		gvk := test.want.GetObjectKind().GroupVersionKind()
		c := Controller{Kind: observing(testkind.Label, kind.Child{GVK: gvk})}
		for range 2 { // client-go may trim a trimmed object again
			got, err := transform(clientgoscheme.Scheme, []Controller{c})(test.object)
			if err != nil || !equality.Semantic.DeepEqual(got, test.want) {
				t.Fatalf("%s: %v: is\n%+v, want\n%+v", name, err, got, test.want)
			}
			test.object = got.(client.Object)
		}
	}
}

// observing returns a kind with a label and a child.
func observing(label string, child kind.Child) kind.Kind {
	group, name, _ := strings.Cut(label, "/")
	d := testkind.Definition()
	d.GVK = schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
	d.Children = []kind.Child{child}
	return kind.Define(d)
}

// The controller of the kind trims an object that carries the kind's label, unless it does not
// observe the type.
func TestControllerOfLabelTrims(t *testing.T) {
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	named := func(name string) func(client.Object) client.Object {
		return func(client.Object) client.Object { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	}
	all := []Controller{
		{Kind: observing("a.example/blind", kind.Child{GVK: pods, Unobserved: true}), Trim: named("blind")},
		{Kind: observing("a.example/one", kind.Child{GVK: pods}), Trim: named("one")},
		{Kind: observing("a.example/other", kind.Child{GVK: pods}), Trim: named("other")},
	}
	for label, want := range map[string]string{"a.example/one": "one", "a.example/other": "other", "a.example/blind": "a", "a.example/none": "a"} {
		got, err := transform(clientgoscheme.Scheme, all)(&corev1.Pod{ObjectMeta: full(map[string]string{label: "o"})})
		if err != nil {
			t.Fatal(err)
		}
		pod := got.(*corev1.Pod)
		if pod.Name != want || len(pod.Labels) > 0 {
			t.Errorf("%s: %+v", label, pod)
		}
	}
}
