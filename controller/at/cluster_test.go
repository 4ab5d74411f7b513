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

// cluster is the content of an API server, with the history that judges its requests. A cluster
// is immutable: a write returns a new one, so that caches may show old ones.
type cluster struct {
	at      *cnatv1alpha1.At // nil if it does not exist
	pods    []*corev1.Pod    // by name
	created int              // number of objects ever created

	// hasPolicy reports whether admission lets only the controllers open gates.
	hasPolicy bool

	history
}

// serve answers a request. The error names an invariant that the request breaks.
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
		return c, answer{}, fmt.Errorf("the write changes nothing: %s", q)
	}
	next := *c.at
	next.Status = *q.status
	next.ResourceVersion = nextVersion(c.at.ResourceVersion)
	h, err := c.judgeStatus(c, q, &next)
	c.at = &next
	c.history = h
	return c.forgetStarts(), answer{version: next.ResourceVersion}, err
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
	h, err := c.judgeOpen(q, pod)
	c.history = h
	c = c.withPod(pod, open)
	return c, answer{pod: c.pod(q.name)}, err
}

func isGated(pod *corev1.Pod) bool { return trimPod(pod).isGated() }

func digestOfPod(pod *corev1.Pod) string { return pod.Annotations[kind.DigestAnnotation] }

func (q *request) matches(uid types.UID, version string) bool {
	return (q.uid == "" || q.uid == uid) && (q.version == "" || q.version == version)
}

func notFound(q *request) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, q.name)
}

func conflict(q *request) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, q.name, nil)
}

// nextVersion returns the successor of a version. Two objects never share a version.
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

func (c cluster) withPod(pod *corev1.Pod, change func(*corev1.Pod)) cluster {
	next := *pod
	change(&next)
	next.ResourceVersion = nextVersion(pod.ResourceVersion)
	c.pods = slices.Clone(c.pods)
	c.pods[slices.Index(c.pods, pod)] = &next
	return c
}

// withNewPod adds a Pod, with a UID and a version.
func (c cluster) withNewPod(pod *corev1.Pod) cluster {
	c.created++
	pod.UID = types.UID(fmt.Sprintf("pod-%d", c.created))
	pod.ResourceVersion = string(pod.UID) + ".1"
	c.pods = append(slices.Clone(c.pods), pod)
	slices.SortFunc(c.pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return c
}

func (c cluster) withoutPods(isDeleted func(*corev1.Pod) bool) cluster {
	c.pods = slices.DeleteFunc(slices.Clone(c.pods), isDeleted)
	return c.forgetStarts()
}

// withAt stores an At with a new spec. An At without a UID is new.
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

func (c cluster) withSpec(change func(*cnatv1alpha1.AtSpec)) cluster {
	at := *c.at
	change(&at.Spec)
	return c.withAt(at)
}

func (c cluster) withoutAt() cluster {
	c.at = nil
	return c.forgetStarts()
}

// simulatedAt returns an At that no controller has seen.
func simulatedAt(spec cnatv1alpha1.AtSpec, now time.Time) cnatv1alpha1.At {
	return cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "at", CreationTimestamp: *wholeSeconds(now)},
		Spec:       spec,
		Status:     cnatv1alpha1.AtStatus{ObservedGeneration: -1},
	}
}

func simulatedSpec(command string, due time.Time) cnatv1alpha1.AtSpec {
	return cnatv1alpha1.AtSpec{Schedule: due.Format(time.RFC3339Nano), Command: command, RestartPolicy: corev1.RestartPolicyNever}
}

// renderedPod returns the rendered Pod of a spec. Each version of render gives it another name.
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

// statusOfAt returns the status of the At; empty if it does not exist.
func (c cluster) statusOfAt() cnatv1alpha1.AtStatus {
	if c.at == nil {
		return cnatv1alpha1.AtStatus{}
	}
	return c.at.Status
}
