package memcached

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
)

// decide decides the status of a Memcached, with or without its Deployment.
func decide(s kind.Snapshot[cachev1alpha1.Memcached]) kind.Decision[cachev1alpha1.MemcachedStatus] {
	m := s.Object
	deployment := deploymentOf(m.Name, s.Children)
	nodes := readyNodes(s.Children)
	ready := int32(len(nodes)) // #nosec G115 -- a cluster has fewer Pods
	conditions := condition.New(m.Status.Conditions, m.Generation, s.Now)
	addPods(conditions, ready, m.Spec.Size)
	wake := addProgress(conditions, m, deployment, ready, s.Grace)

	next := cachev1alpha1.MemcachedStatus{
		ObservedGeneration: m.Generation,
		Conditions:         conditions.Sorted(),
		Size:               ptr.To(replicas(deployment)),
		ReadySize:          ptr.To(ready),
		Nodes:              nodes,
	}
	return kind.Decision[cachev1alpha1.MemcachedStatus]{Status: next, Wake: wake}
}

// deploymentOf returns the Deployment of a name, or nil if it is missing or being deleted.
func deploymentOf(name string, objects []kind.Object) *appsv1.Deployment {
	for _, o := range objects {
		if deployment, ok := o.(*appsv1.Deployment); ok && deployment.Name == name &&
			deployment.DeletionTimestamp == nil {
			return deployment
		}
	}
	return nil
}

func addPods(conditions *condition.Conditions, ready, wanted int32) {
	if ready > 0 {
		conditions.Add(Available, metav1.ConditionTrue, ReasonPodsReady, "At least one Pod serves")
	} else {
		conditions.Add(Available, metav1.ConditionFalse, ReasonPodsNotReady, "No Pod is ready")
	}
	if ready < wanted {
		conditions.Add(Degraded, metav1.ConditionTrue, ReasonPodsNotReady, tooFewPods)
	} else {
		conditions.Add(Degraded, metav1.ConditionFalse, ReasonPodsReady, "As many Pods are ready as spec.size asks for")
	}
}

const tooFewPods = "Fewer Pods are ready than spec.size asks for"

// addProgress adds Progressing and the conditions of kstatus. It returns the time of the next decision.
func addProgress(conditions *condition.Conditions, m *cachev1alpha1.Memcached, deployment *appsv1.Deployment,
	ready int32, grace time.Duration) (wake time.Time) {
	switch {
	case deployment == nil:
		return conditions.Await(Progressing, ReasonDeploymentMissing, fmt.Sprintf(
			"The cluster has no Deployment %s: render the environment, commit and sync", m.Name), grace)
	case deployment.Annotations[kind.DigestAnnotation] != Digest(m.Spec):
		return conditions.Await(Progressing, ReasonRenderingStale, fmt.Sprintf(
			"Deployment %s was rendered from another spec of this Memcached: render the environment, commit and sync",
			m.Name), grace)
	case replicas(deployment) != m.Spec.Size:
		return conditions.Await(Progressing, ReasonScaled, fmt.Sprintf(
			"Deployment %s asks for another number of Pods than spec.size: sync it, or let nothing else scale it",
			m.Name), grace)
	case rolloutFailed(deployment):
		message := fmt.Sprintf("The rollout of Deployment %s makes no progress: see the events of its Pods", m.Name)
		conditions.Add(Progressing, metav1.ConditionFalse, ReasonRolloutFailed, message)
		conditions.Stalled(ReasonRolloutFailed, message)
	case isRollingOut(deployment, ready) && deployment.Spec.Paused:
		message := fmt.Sprintf("Deployment %s is not rolled out: its spec.paused is true", m.Name)
		conditions.Add(Progressing, metav1.ConditionFalse, ReasonPaused, message)
		conditions.Reconciling(ReasonPaused, message)
	case isRollingOut(deployment, ready):
		message := fmt.Sprintf("Deployment %s is rolling out", m.Name)
		conditions.Add(Progressing, metav1.ConditionTrue, ReasonRollingOut, message)
		conditions.Reconciling(ReasonRollingOut, message)
	default:
		conditions.Add(Progressing, metav1.ConditionFalse, ReasonRolledOut,
			fmt.Sprintf("Deployment %s is rolled out", m.Name))
		if ready < m.Spec.Size {
			conditions.Reconciling(ReasonPodsNotReady, tooFewPods)
			break
		}
		conditions.Ready(ReasonReady,
			fmt.Sprintf("Deployment %s was rendered from this spec, and all its Pods are ready", m.Name))
	}
	return time.Time{}
}

// readyNodes returns the names of the ready Pods among objects, sorted.
func readyNodes(objects []kind.Object) (nodes []string) {
	isReady := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.DeletionTimestamp == nil &&
			slices.ContainsFunc(pod.Status.Conditions, isReady) {
			nodes = append(nodes, pod.Name)
		}
	}
	slices.Sort(nodes)
	return nodes
}

func replicas(deployment *appsv1.Deployment) int32 {
	if deployment == nil {
		return 0
	}
	return ptr.Deref(deployment.Spec.Replicas, 1)
}

// isRollingOut reports whether a Deployment has Pods of another template, or has never had all Pods of
// its template.
func isRollingOut(deployment *appsv1.Deployment, ready int32) bool {
	size := replicas(deployment)
	status := deployment.Status
	if status.ObservedGeneration < deployment.Generation || status.UpdatedReplicas < size ||
		status.Replicas > status.UpdatedReplicas {
		return true
	}
	return ready < size && !deployment.Spec.Paused && progressReason(deployment) != "NewReplicaSetAvailable"
}

func rolloutFailed(deployment *appsv1.Deployment) bool {
	return deployment.Status.ObservedGeneration >= deployment.Generation &&
		progressReason(deployment) == "ProgressDeadlineExceeded"
}

// progressReason returns the reason of the condition Progressing, or an empty string.
func progressReason(deployment *appsv1.Deployment) string {
	for _, c := range deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c.Reason
		}
	}
	return ""
}

// The conditions of a Memcached beside the conditions of kstatus.
const (
	// Available is True if at least one Pod is ready.
	Available = "Available"
	// Progressing is True while the Deployment rolls out, and Unknown before the
	// Deployment of this spec is there.
	Progressing = "Progressing"
	// Degraded is True if fewer Pods are ready than spec.size asks for.
	Degraded = "Degraded"
)

// The reasons of a Memcached's conditions. kubectl shows the reason of Ready as its Status.
const (
	// ReasonReady: the Deployment was rendered from this spec, and all its Pods are ready.
	ReasonReady = "Ready"
	// ReasonRollingOut: the Deployment replaces or starts Pods.
	ReasonRollingOut = "RollingOut"
	// ReasonPaused: spec.paused of the Deployment holds its rollout.
	ReasonPaused = "Paused"
	// ReasonRolledOut: every Pod of the Deployment has its current template.
	ReasonRolledOut = "RolledOut"
	// ReasonRolloutFailed: the Deployment made no progress for its
	// progressDeadlineSeconds. The events of its Pods have the cause.
	ReasonRolloutFailed = "RolloutFailed"
	// ReasonDeploymentMissing: no Deployment of this Memcached is in the cluster.
	// Render, commit, sync.
	ReasonDeploymentMissing = "DeploymentMissing"
	// ReasonRenderingStale: the Deployment in the cluster was rendered from another
	// spec of this Memcached. Render, commit, sync.
	ReasonRenderingStale = "RenderingStale"
	// ReasonScaled: the Deployment asks for another number of Pods than spec.size.
	ReasonScaled = "Scaled"

	// ReasonPodsReady: at least one Pod, or all Pods, are ready.
	ReasonPodsReady = "PodsReady"
	// ReasonPodsNotReady: no Pod is ready, or too few.
	ReasonPodsNotReady = "PodsNotReady"
)
