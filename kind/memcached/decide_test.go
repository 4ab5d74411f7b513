package memcached_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	. "example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/test/expanded"
	"example.com/gatehouse/test/health"
)

func newMemcached() *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cache", Generation: 7},
		Spec:       cachev1alpha1.MemcachedSpec{Size: 2, Image: "memcached", MemoryLimit: ptr.To(resource.MustParse("64Mi")), MaxConnections: 1024, Threads: 4, Port: 11211},
	}
}

// rolledOut returns the Deployment of newMemcached with all its Pods.
func rolledOut(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := expanded.First[appsv1.Deployment](Kind, newMemcached())
	d.Generation = 1
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2}
	for _, change := range changes {
		change(d)
	}
	return d
}

func progress(reason string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: reason}}
	}
}

func paused(d *appsv1.Deployment) { d.Spec.Paused = true }

func readyPods(names ...string) (pods []corev1.Pod) {
	for _, name := range names {
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	return pods
}

func TestStatusFollowsDeployment(t *testing.T) {
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	unready := readyPods("x")
	unready[0].Status.Conditions[0].Status = corev1.ConditionFalse
	going := readyPods("x")
	going[0].DeletionTimestamp = ptr.To(metav1.NewTime(now))

	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		pods       []corev1.Pod
		reason     string
		are        []string // the conditions that are True
	}{
		"a Deployment going":               {rolledOut(func(d *appsv1.Deployment) { d.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }), readyPods("a", "b"), ReasonDeploymentMissing, []string{Available, condition.Reconciling}},
		"no Deployment":                    {nil, nil, ReasonDeploymentMissing, []string{Degraded, condition.Reconciling}},
		"no Deployment, but Pods":          {nil, readyPods("a", "b"), ReasonDeploymentMissing, []string{Available, condition.Reconciling}},
		"another spec's":                   {rolledOut(func(d *appsv1.Deployment) { d.Annotations[kind.DigestAnnotation] = "x" }), readyPods("a", "b"), ReasonRenderingStale, []string{Available, condition.Reconciling}},
		"scaled":                           {rolledOut(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](1) }), readyPods("a"), ReasonScaled, []string{Available, Degraded, condition.Reconciling}},
		"created":                          {rolledOut(func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }), nil, ReasonRollingOut, []string{Progressing, Degraded, condition.Reconciling}},
		"first Pods start":                 {rolledOut(), unready, ReasonRollingOut, []string{Progressing, Degraded, condition.Reconciling}},
		"first Pods, one ready":            {rolledOut(), readyPods("a"), ReasonRollingOut, []string{Progressing, Available, Degraded, condition.Reconciling}},
		"ready":                            {rolledOut(), readyPods("b", "a"), ReasonReady, []string{Available, condition.Ready}},
		"a rollout not observed":           {rolledOut(func(d *appsv1.Deployment) { d.Generation = 2 }), readyPods("a", "b"), ReasonRollingOut, []string{Progressing, Available, condition.Reconciling}},
		"a rollout with old Pods left":     {rolledOut(func(d *appsv1.Deployment) { d.Status.Replicas = 3 }), readyPods("a", "b", "c"), ReasonRollingOut, []string{Progressing, Available, condition.Reconciling}},
		"a rollout with few new Pods":      {rolledOut(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }), readyPods("a", "b"), ReasonRollingOut, []string{Progressing, Available, condition.Reconciling}},
		"a paused rollout":                 {rolledOut(paused, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }), readyPods("a", "b"), ReasonPaused, []string{Available, condition.Reconciling}},
		"created and paused":               {rolledOut(paused, func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }), nil, ReasonPaused, []string{Degraded, condition.Reconciling}},
		"a Pod lost while paused":          {rolledOut(paused, progress("DeploymentPaused")), readyPods("a"), ReasonPodsNotReady, []string{Available, Degraded, condition.Reconciling}},
		"paused when rolled out":           {rolledOut(paused), readyPods("a", "b"), ReasonReady, []string{Available, condition.Ready}},
		"a failed rollout":                 {rolledOut(progress("ProgressDeadlineExceeded")), readyPods("a"), ReasonRolloutFailed, []string{Available, Degraded, condition.Stalled}},
		"a Pod lost after the rollout":     {rolledOut(progress("NewReplicaSetAvailable")), readyPods("a"), ReasonPodsNotReady, []string{Available, Degraded, condition.Reconciling}},
		"a Pod going after the rollout":    {rolledOut(progress("NewReplicaSetAvailable")), append(going, readyPods("a")...), ReasonPodsNotReady, []string{Available, Degraded, condition.Reconciling}},
		"every Pod lost after the rollout": {rolledOut(progress("NewReplicaSetAvailable")), nil, ReasonPodsNotReady, []string{Degraded, condition.Reconciling}},
	} {
		t.Run(name, func(t *testing.T) {
			var children []kind.Object
			if test.deployment != nil {
				children = append(children, test.deployment)
			}
			for i := range test.pods {
				children = append(children, &test.pods[i])
			}
			seen := kind.Observation{Children: children, Now: now, Grace: time.Minute}
			next := Kind.Status(newMemcached(), seen).Status.(cachev1alpha1.MemcachedStatus)
			if got := meta.FindStatusCondition(next.Conditions, condition.Ready).Reason; got != test.reason {
				t.Errorf("reason %s, want %s", got, test.reason)
			}
			for _, c := range []string{Available, Progressing, Degraded, condition.Ready, condition.Reconciling, condition.Stalled} {
				if got := meta.IsStatusConditionTrue(next.Conditions, c); got != slices.Contains(test.are, c) {
					t.Errorf("%s is %t", c, got)
				}
			}
			after := newMemcached()
			after.Status = next
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
			if err != nil {
				t.Fatal(err)
			}
			object := &unstructured.Unstructured{Object: content}
			object.SetGroupVersionKind(cachev1alpha1.SchemeGroupVersion.WithKind(cachev1alpha1.KindMemcached))
			if err := health.Check(object); err != nil {
				t.Error(err)
			}
			if !slices.IsSorted(next.Nodes) || int(*next.ReadySize) != len(next.Nodes) || next.ObservedGeneration != 7 {
				t.Errorf("status is %+v", next)
			}
		})
	}
}
