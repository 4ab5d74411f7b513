package controller_test

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
)

// Helpers for Ats and their Pods.

// createAt creates an At that is due after a time, and returns it with the defaults of the server.
func (w *world) createAt(name string, due time.Duration, change ...func(*cnatv1alpha1.At)) *cnatv1alpha1.At {
	w.Helper()
	at := &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       cnatv1alpha1.AtSpec{Schedule: time.Now().Add(due).UTC().Format(time.RFC3339Nano), Command: "echo YAY"},
	}
	for _, change := range change {
		change(at)
	}
	w.must(w.Create(w.ctx, at))
	return at
}

// syncPod creates the Pod of an At, as rendered by a version of the renderer.
func (w *world) syncPod(at *cnatv1alpha1.At, version ...string) *corev1.Pod {
	w.Helper()
	rendered := w.sync(at, version...)
	pod := &corev1.Pod{}
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(rendered[0]), pod))
	return pod
}

// awaitAt waits until an At is in a phase and its Ready condition has a reason.
func (w *world) awaitAt(at *cnatv1alpha1.At, phase cnatv1alpha1.AtPhase, reason string) *cnatv1alpha1.At {
	w.Helper()
	current := &cnatv1alpha1.At{}
	w.eventually(fmt.Sprintf("At %s is %s %s", at.Name, phase, reason), func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(at), current))
		if got := condition.FindReady(current.Status.Conditions).Reason; current.Status.Phase != phase || got != reason || current.Status.ObservedGeneration != current.Generation {
			return fmt.Errorf("is %s %s: %+v", current.Status.Phase, got, current.Status)
		}
		return nil
	})
	return current
}

// checkGate fails the test if the gate of a Pod is not in the expected state. A gate opens a moment
// after the recorded start, so checkGate waits for that.
func (w *world) checkGate(pod *corev1.Pod, closed bool) {
	w.Helper()
	current := &corev1.Pod{}
	w.eventually("gate of Pod "+pod.Name, func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(pod), current))
		switch got := len(current.Spec.SchedulingGates) > 0; {
		case got == closed:
			return nil
		case closed:
			w.Fatalf("the gate of Pod %s is open", pod.Name)
		}
		return errors.New("is closed")
	})
}

func exited(code int32) func(*corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		status.Phase = corev1.PodSucceeded
		if code != 0 {
			status.Phase = corev1.PodFailed
		}
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name:  kindat.CommandContainer,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: "the end of the log", FinishedAt: metav1.Now()}},
		}}
	}
}
