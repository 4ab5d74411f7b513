package controller_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	. "example.com/gatehouse/kind/memcached"
)

func TestMemcachedStatusFollowsDeployment(t *testing.T) {
	w := newWorld(t)
	w.options.Grace = 2 * time.Second
	w.start()
	m := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cache"}, Spec: cachev1alpha1.MemcachedSpec{Size: 2}}
	w.must(w.Create(w.ctx, m))
	w.awaitMemcached(m, ReasonDeploymentMissing, "Reconciling")
	w.awaitMemcached(m, ReasonDeploymentMissing, "Stalled")

	w.sync(m)
	w.awaitMemcached(m, ReasonRollingOut, "Reconciling")
	w.createMemcachedPod(m, "b", true)
	w.rollOut(m, 2, 1)
	w.awaitMemcached(m, ReasonRollingOut, "Reconciling", Available, Degraded)
	w.createMemcachedPod(m, "a", true)
	w.rollOut(m, 2, 2)
	ready := w.awaitMemcached(m, ReasonReady, "Ready", Available)
	if got := ready.Status.Nodes; !slices.Equal(got, []string{"a", "b"}) || *ready.Status.Size != 2 || *ready.Status.ReadySize != 2 {
		t.Errorf("status is %+v", ready.Status)
	}

	w.writeDeploymentStatus(m, func(s *appsv1.DeploymentStatus) {
		s.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}
	})
	w.must(w.Delete(w.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}}))
	w.awaitMemcached(m, ReasonPodsNotReady, "Reconciling", Available, Degraded)
	w.createMemcachedPod(m, "c", true)
	w.awaitMemcached(m, ReasonReady, "Ready", Available)

	edit(w, m, func(m *cachev1alpha1.Memcached) { m.Spec.Threads = 8 })
	w.awaitMemcached(m, ReasonRenderingStale, "Reconciling", Available)
	w.awaitMemcached(m, ReasonRenderingStale, "Stalled", Available)
	w.must(w.Delete(w.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cache"}}))
	w.awaitMemcached(m, ReasonDeploymentMissing, "Stalled", Available)
	w.sync(m)
	w.writeDeploymentStatus(m, func(s *appsv1.DeploymentStatus) {
		s.ObservedGeneration = 1
		s.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
	})
	w.awaitMemcached(m, ReasonRolloutFailed, "Stalled", Available)
}

func TestMemcachedWritesOnceAStep(t *testing.T) {
	w := newWorld(t)
	w.start()
	m := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "few"}, Spec: cachev1alpha1.MemcachedSpec{Size: 2}}
	versions := w.countVersions(&cachev1alpha1.MemcachedList{})
	w.must(w.Create(w.ctx, m))
	w.sync(m)
	w.awaitMemcached(m, ReasonRollingOut, "Reconciling")
	w.createMemcachedPod(m, "a", true)
	w.createMemcachedPod(m, "b", true)
	w.rollOut(m, 2, 2)
	w.awaitMemcached(m, ReasonReady, "Ready", Available)
	time.Sleep(1500 * time.Millisecond)
	// Created, rolling out, ready; on a slow machine, missing its Deployment at first.
	if got := versions(); got > 4 {
		t.Errorf("the Memcached had %d versions", got)
	}
}

// Only Pod events show that one Pod replaced another before the controller of Deployments noticed.
func TestMemcachedFollowsItsPods(t *testing.T) {
	w := newWorld(t)
	w.start()
	m := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "pods"}, Spec: cachev1alpha1.MemcachedSpec{Size: 1}}
	w.must(w.Create(w.ctx, m))
	w.sync(m)
	w.createMemcachedPod(m, "a", true)
	w.rollOut(m, 1, 1)
	w.awaitMemcached(m, ReasonReady, "Ready", Available)

	lost := time.Now()
	w.must(w.Delete(w.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}}))
	w.createMemcachedPod(m, "b", true)
	w.eventually("the status names the other Pod", func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(m), m))
		if !slices.Equal(m.Status.Nodes, []string{"b"}) {
			return fmt.Errorf("status is %+v", m.Status)
		}
		return nil
	})
	if took := time.Since(lost); took > 5*time.Second { // one second, and some for a busy machine
		t.Errorf("the status followed after %s", took)
	}
}

// awaitMemcached waits until the Ready condition of a Memcached has a reason, and exactly the given
// conditions are True, apart from Progressing.
func (w *world) awaitMemcached(m *cachev1alpha1.Memcached, reason string, conditions ...string) *cachev1alpha1.Memcached {
	w.Helper()
	current := &cachev1alpha1.Memcached{}
	w.eventually(fmt.Sprint("Memcached is ", reason, conditions), func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(m), current))
		for _, c := range []string{"Ready", "Reconciling", "Stalled", Available, Degraded} {
			want := slices.Contains(conditions, c) || c == Degraded && !slices.Contains(conditions, Available)
			if condition.FindReady(current.Status.Conditions).Reason != reason || meta.IsStatusConditionTrue(current.Status.Conditions, c) != want {
				return fmt.Errorf("is %+v", current.Status)
			}
		}
		return nil
	})
	return current
}

// rollOut plays the controller of Deployments.
func (w *world) rollOut(m *cachev1alpha1.Memcached, replicas, ready int32) {
	w.Helper()
	w.writeDeploymentStatus(m, func(s *appsv1.DeploymentStatus) {
		s.ObservedGeneration = 1
		s.Replicas = replicas
		s.UpdatedReplicas = replicas
		s.ReadyReplicas = ready
	})
}

func (w *world) writeDeploymentStatus(m *cachev1alpha1.Memcached, change func(*appsv1.DeploymentStatus)) {
	w.Helper()
	deployment := &appsv1.Deployment{}
	w.eventually("write Deployment status", func() error {
		if err := w.Get(w.ctx, client.ObjectKeyFromObject(m), deployment); err != nil {
			return err
		}
		change(&deployment.Status)
		return w.Status().Update(w.ctx, deployment)
	})
}

func (w *world) createMemcachedPod(m *cachev1alpha1.Memcached, name string, ready bool) {
	w.Helper()
	labels := kind.RecommendedLabels(m.Name, "Memcached")
	labels[Label] = m.Name
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	w.must(w.Create(w.ctx, pod))
	if ready {
		w.writePodStatus(pod, func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		})
	}
}
