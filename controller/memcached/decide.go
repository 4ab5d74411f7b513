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
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/render/kinds"
)

// Decision is what one snapshot of a Memcached, its Deployment and its Pods calls
// for.
type Decision struct {
	// Status is what the status of the Memcached is to say.
	Status cachev1alpha1.MemcachedStatus
	// Wake is when to decide again although nothing changes; zero for never.
	Wake time.Time
}

// decide says how a Memcached is. There may be no Deployment.
func decide(m *cachev1alpha1.Memcached, deployment *appsv1.Deployment, pods []corev1.Pod, now time.Time, grace time.Duration) Decision {
	nodes := readyNodes(pods)
	ready := int32(len(nodes)) // #nosec G115 -- a cluster has fewer Pods
	conditions := status.NewConditions(m.Status.Conditions, m.Generation, now)
	addAvailable(conditions, ready)
	addDegraded(conditions, ready, m.Spec.Size)
	wake := addProgress(conditions, m, deployment, ready, grace)

	next := cachev1alpha1.MemcachedStatus{
		ObservedGeneration: m.Generation,
		Conditions:         conditions.Sorted(),
		Size:               ptr.To(replicas(deployment)),
		ReadySize:          ptr.To(ready),
		Nodes:              nodes,
	}
	return Decision{Status: next, Wake: wake}
}

func addAvailable(conditions *status.Conditions, ready int32) {
	if ready > 0 {
		conditions.Add(Available, metav1.ConditionTrue, ReasonPodsReady, "At least one Pod serves")
		return
	}
	conditions.Add(Available, metav1.ConditionFalse, ReasonPodsNotReady, "No Pod is ready")
}

func addDegraded(conditions *status.Conditions, ready, wanted int32) {
	if ready < wanted {
		conditions.Add(Degraded, metav1.ConditionTrue, ReasonPodsNotReady, "Fewer Pods are ready than spec.size asks for")
		return
	}
	conditions.Add(Degraded, metav1.ConditionFalse, ReasonPodsReady, "As many Pods are ready as spec.size asks for")
}

// addProgress adds Progressing and the conditions of kstatus, and returns when to
// look again.
func addProgress(conditions *status.Conditions, m *cachev1alpha1.Memcached, deployment *appsv1.Deployment, ready int32, grace time.Duration) (wake time.Time) {
	switch {
	case deployment == nil:
		return conditions.Await(Progressing, ReasonDeploymentMissing, fmt.Sprintf(
			"The cluster has no Deployment %s: render the environment, commit and sync", m.Name), grace)
	case deployment.Annotations[kinds.DigestAnnotation] != kinds.MemcachedDigest(m.Spec):
		return conditions.Await(Progressing, ReasonRenderingStale, fmt.Sprintf(
			"Deployment %s was rendered from another spec of this Memcached: render the environment, commit and sync", m.Name), grace)
	case replicas(deployment) != m.Spec.Size:
		return conditions.Await(Progressing, ReasonScaled, fmt.Sprintf(
			"Deployment %s asks for another number of Pods than spec.size: sync it, or let nothing else scale it", m.Name), grace)
	case rolloutFailed(deployment):
		message := fmt.Sprintf("The rollout of Deployment %s makes no progress: see the events of its Pods", m.Name)
		conditions.Add(Progressing, metav1.ConditionFalse, ReasonRolloutFailed, message)
		conditions.Stalled(ReasonRolloutFailed, message)
	case isRollingOut(deployment, ready):
		message := fmt.Sprintf("Deployment %s is rolling out", m.Name)
		conditions.Add(Progressing, metav1.ConditionTrue, ReasonRollingOut, message)
		conditions.Reconciling(ReasonRollingOut, message)
	default:
		conditions.Add(Progressing, metav1.ConditionFalse, ReasonRolledOut, fmt.Sprintf("Deployment %s is rolled out", m.Name))
		if ready < m.Spec.Size {
			conditions.Reconciling(ReasonPodsNotReady, "Fewer Pods are ready than spec.size asks for")
			break
		}
		conditions.Ready(ReasonReady, "All that the spec asks for is there")
	}
	return time.Time{}
}

// readyNodes are the names of the Pods that are ready, sorted.
func readyNodes(pods []corev1.Pod) []string {
	var nodes []string
	for i := range pods {
		if pods[i].DeletionTimestamp == nil && isReady(&pods[i]) {
			nodes = append(nodes, pods[i].Name)
		}
	}
	slices.Sort(nodes)
	return nodes
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func replicas(deployment *appsv1.Deployment) int32 {
	if deployment == nil {
		return 0
	}
	return ptr.Deref(deployment.Spec.Replicas, 1)
}

// isRollingOut says whether a Deployment is on its way to its current template: it
// has Pods of another one, or has never had all of this one.
func isRollingOut(deployment *appsv1.Deployment, ready int32) bool {
	size, status := replicas(deployment), deployment.Status
	if status.ObservedGeneration < deployment.Generation || status.UpdatedReplicas < size || status.Replicas > status.UpdatedReplicas {
		return true
	}
	return ready < size && progressingCondition(deployment).Reason != "NewReplicaSetAvailable"
}

func rolloutFailed(deployment *appsv1.Deployment) bool {
	return deployment.Status.ObservedGeneration >= deployment.Generation &&
		progressingCondition(deployment).Reason == "ProgressDeadlineExceeded"
}

func progressingCondition(deployment *appsv1.Deployment) appsv1.DeploymentCondition {
	for _, c := range deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}
