package at

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/test/expanded"
)

// cluster is what an API server holds, and what has to be known of the past to judge what
// it is asked to do. A cluster is never changed: a write returns another one, so that caches
// may show old ones.
type cluster struct {
	at      *cnatv1alpha1.At // nil while there is none
	pods    []*corev1.Pod    // by name
	created int              // how many objects were

	// hasPolicy reports whether admission keeps the gates of Pods for the controllers.
	hasPolicy bool

	history
}

// serve answers a request. Its error is an invariant that the request breaks.
func (c cluster) serve(q *request) (cluster, answer, error) {
	switch q.verb {
	case getAt:
		if c.at == nil {
			return c, answer{err: notFound(q)}, nil
		}
		return c, answer{at: c.at}, nil
	case getPod:
		pod := c.pod(q.name)
		if pod == nil {
			return c, answer{err: notFound(q)}, nil
		}
		return c, answer{pod: pod}, nil
	case listPods:
		return c, answer{pods: c.pods}, nil
	case apply:
		return c.serveApply(q)
	default:
		return c.servePatch(q)
	}
}

func (c cluster) serveApply(q *request) (cluster, answer, error) {
	switch {
	case c.at == nil:
		return c, answer{err: notFound(q)}, nil
	case !q.matches(c.at.UID, c.at.ResourceVersion):
		return c, answer{err: conflict(q)}, nil
	case status.Equal(c.at.Status, *q.status):
		return c, answer{}, fmt.Errorf("a write that changes nothing: %s", q)
	}
	next := *c.at
	next.Status, next.ResourceVersion = *q.status, nextVersion(c.at.ResourceVersion)
	h, err := c.applied(c, q, &next)
	c.at, c.history = &next, h
	return c.forget(), answer{version: next.ResourceVersion}, err
}

func (c cluster) servePatch(q *request) (cluster, answer, error) {
	pod := c.pod(q.name)
	switch {
	case pod == nil:
		return c, answer{err: notFound(q)}, nil
	case !q.matches(pod.UID, pod.ResourceVersion):
		return c, answer{err: conflict(q)}, nil
	}
	if q.verb == hold {
		if pod.Annotations[kind.HeldAnnotation] == q.holdsVersion {
			return c, answer{pod: pod}, nil
		}
		c = c.withPod(pod, func(pod *corev1.Pod) {
			pod.Annotations = maps.Clone(pod.Annotations)
			pod.Annotations[kind.HeldAnnotation] = q.holdsVersion
		})
		return c, answer{pod: c.pod(q.name)}, nil
	}
	h, err := c.opened(q, pod)
	c.history = h
	c = c.withPod(pod, open)
	return c, answer{pod: c.pod(q.name)}, err
}

func (q *request) matches(uid types.UID, version string) bool {
	return (q.uid == "" || q.uid == uid) && (q.version == "" || q.version == version)
}

func notFound(q *request) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, q.name)
}

func conflict(q *request) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, q.name, nil)
}

// nextVersion returns the version after one. No two objects ever have the same.
func nextVersion(version string) string {
	object, count, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(count)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s.%d", object, n+1)
}

func (c cluster) pod(name string) *corev1.Pod {
	for _, pod := range c.pods {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// withPod changes a Pod.
func (c cluster) withPod(pod *corev1.Pod, change func(*corev1.Pod)) cluster {
	next := *pod
	change(&next)
	next.ResourceVersion = nextVersion(pod.ResourceVersion)
	c.pods = slices.Clone(c.pods)
	c.pods[slices.Index(c.pods, pod)] = &next
	return c
}

// withNewPod creates a Pod.
func (c cluster) withNewPod(pod *corev1.Pod) cluster {
	c.created++
	pod.UID = types.UID(fmt.Sprintf("pod-%d", c.created))
	pod.ResourceVersion = string(pod.UID) + ".1"
	c.pods = append(slices.Clone(c.pods), pod)
	slices.SortFunc(c.pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// without deletes Pods.
func (c cluster) without(isDeleted func(*corev1.Pod) bool) cluster {
	c.pods = slices.DeleteFunc(slices.Clone(c.pods), isDeleted)
	return c.forget()
}

// withAt makes an At that has another spec, or is new, the one that there is.
func (c cluster) withAt(at cnatv1alpha1.At) cluster {
	at.Generation++
	if at.UID == "" {
		c.created++
		at.UID = types.UID(fmt.Sprintf("at-%d", c.created))
		at.ResourceVersion = string(at.UID) + ".0"
	}
	at.ResourceVersion = nextVersion(at.ResourceVersion)
	c.at = &at
	return c
}

// withSpec changes the spec of the At.
func (c cluster) withSpec(change func(*cnatv1alpha1.AtSpec)) cluster {
	at := *c.at
	change(&at.Spec)
	return c.withAt(at)
}

func (c cluster) withoutAt() cluster {
	c.at = nil
	return c.forget()
}

// simulatedAt returns a new At.
func simulatedAt(spec cnatv1alpha1.AtSpec, now time.Time) cnatv1alpha1.At {
	return cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "at", CreationTimestamp: *wholeSeconds(now)},
		Spec:       spec,
		Status:     cnatv1alpha1.AtStatus{ObservedGeneration: -1},
	}
}

// simulatedSpec returns the spec of an At that is due at a time.
func simulatedSpec(command string, at time.Time) cnatv1alpha1.AtSpec {
	return cnatv1alpha1.AtSpec{Schedule: at.Format(time.RFC3339Nano), Command: command, RestartPolicy: corev1.RestartPolicyNever}
}

// renderedPod returns the Pod that a version of render makes of a spec.
func renderedPod(spec cnatv1alpha1.AtSpec, version int, now time.Time) *corev1.Pod {
	digest := kindat.Digest(spec)
	if renderedPods[digest] == nil {
		at := simulatedAt(spec, now)
		renderedPods[digest] = expanded.First[corev1.Pod](kindat.Kind, &at)
	}
	pod := renderedPods[digest].DeepCopy()
	pod.Name = fmt.Sprintf("at-%s%02x", digest[len("sha256:"):][:8], version)
	pod.CreationTimestamp = metav1.NewTime(now)
	pod.Annotations[dueAnnotation] = spec.Schedule
	return pod
}

var renderedPods = map[string]*corev1.Pod{} // by digest

// statusOfAt returns the status of the At; an empty one while there is none.
func (c cluster) statusOfAt() cnatv1alpha1.AtStatus {
	if c.at == nil {
		return cnatv1alpha1.AtStatus{}
	}
	return c.at.Status
}
