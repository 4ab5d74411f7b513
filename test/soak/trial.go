package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/kind/condition"
)

// namespace is the namespace of all Ats of a soak.
const namespace = "gatehouse-soak"

// trial is one At with its story and its observed state.
type trial struct {
	name  string
	story string
	turns []turn // still to come

	version  *version   // the version in git; nil after the At was removed
	versions []*version // all versions that were ever in git

	at      *cnatv1alpha1.At    // as last seen in the cluster
	pods    map[string]*seenPod // all that were ever seen, by UID
	release func()              // lets a controller that the trial stopped or cut off go on
	moved   moment              // of the last turn
	settled moment              // at which the status first agreed with the starts; zero before
	wrong   string              // the difference of the status from the starts
	letIn   bool                // a Pod was created without its gate
	over    bool                // the At is to be removed from git
}

// seenPod is the last state of a Pod that was seen.
type seenPod struct {
	name      string
	command   string    // of the version that it was rendered from
	scheduled time.Time // by the scheduler's clock, in whole seconds; zero before
	gone      bool
}

// version is one spec of an At.
type version struct {
	command  string // the name that its command reports to the counter
	does     behaviour
	due      time.Time
	deadline time.Duration // after due; zero for none
	suspend  bool

	windows  []window
	disturbs []moment // at which its Pod was deleted or evicted, or its At was edited by hand
}

// window is a period during which git had a version.
type window struct {
	offered   span
	resumed   span
	withdrawn span
	held      bool   // the version was suspended when it was offered
	closed    moment // at which the status said Suspended after this window; zero before
}

// span is the time from a change in git to its arrival in the cluster: it had not arrived at the
// first moment, and had at the last one. A zero span did not happen.
type span struct{ from, to moment }

func (s span) happened() bool { return s != span{} }

// behaviour is the part of a command after it reported its start.
type behaviour int

const (
	succeeds behaviour = iota
	fails
	restarts // fails once, and succeeds when it is restarted
	lingers
)

// commandVariable is the variable with the name that a command reports to the counter.
const commandVariable = "COMMAND"

// failure is the exit code of a command that fails.
const failure = 3

var scripts = map[behaviour]string{
	succeeds: "exit 0",
	fails:    "echo out of stock; exit 3",
	restarts: `[ "$n" -ge 2 ]`,
	lingers:  "trap 'exit 143' TERM; sleep 20 & wait",
}

// spec returns the spec of the At.
func (v *version) spec(c *counter) cnatv1alpha1.AtSpec {
	spec := cnatv1alpha1.AtSpec{
		Schedule:      v.due.UTC().Format(time.RFC3339),
		Command:       c.script(scripts[v.does]),
		Image:         "busybox:1.37",
		RestartPolicy: corev1.RestartPolicyNever,
		Suspend:       v.suspend,
		Env: []corev1.EnvVar{
			{Name: commandVariable, Value: v.command},
			{Name: "POD_UID", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"},
			}},
		},
	}
	if v.does == restarts {
		spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	if v.deadline > 0 {
		spec.StartingDeadlineSeconds = ptr.To(int64(v.deadline.Seconds()))
	}
	return spec
}

// object returns the manifest of the version that git has.
func (t *trial) object(c *counter) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		TypeMeta:   metav1.TypeMeta{APIVersion: cnatv1alpha1.SchemeGroupVersion.String(), Kind: cnatv1alpha1.KindAt},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: t.name},
		Spec:       t.version.spec(c),
	}
}

// offer puts a version into git.
func (t *trial) offer(v *version, from moment) {
	t.withdraw(from)
	t.version = v
	if len(v.windows) == 0 {
		t.versions = append(t.versions, v)
	}
	v.windows = append(v.windows, window{offered: span{from: from}, held: v.suspend})
}

// suspend suspends the version that git has.
func (t *trial) suspend(from moment) {
	v := t.version
	v.suspend = true
	t.offer(v, from)
}

// resume resumes the version that git has.
func (t *trial) resume(from moment) {
	t.version.suspend = false
	t.version.window().resumed.from = from
}

// revert brings back the first version.
func (t *trial) revert(from moment) { t.offer(t.versions[0], from) }

// withdraw removes the version that git has.
func (t *trial) withdraw(from moment) {
	if t.version != nil {
		t.version.window().withdrawn.from = from
	}
	t.version = nil
}

// window returns the last window.
func (v *version) window() *window { return &v.windows[len(v.windows)-1] }

// delivered ends every span that began with a round.
func (t *trial) delivered(from, to moment) {
	for _, v := range t.versions {
		for i := range v.windows {
			w := &v.windows[i]
			for _, s := range []*span{&w.offered, &w.resumed, &w.withdrawn} {
				if s.from == from {
					s.to = to
				}
			}
		}
	}
}

// isTurn reports whether the next turn is due.
func (t *trial) isTurn(s *soak) bool {
	return !t.over && len(t.turns) > 0 && t.turns[0].when(s, t)
}

// isDone reports whether the cluster is done with the version that git has.
func (t *trial) isDone() bool {
	return t.at != nil && t.at.Status.Phase == cnatv1alpha1.AtDone &&
		t.at.Status.ObservedGeneration == t.at.Generation && t.isSynced()
}

// isSynced reports whether the cluster has the version that git has.
func (t *trial) isSynced() bool { return t.version != nil && t.version.window().offered.to != 0 }

// isArmed reports whether the controller knows the Pod that waits behind its gate.
func (t *trial) isArmed() bool {
	return t.isSynced() && t.at != nil && t.at.Status.Phase == cnatv1alpha1.AtPending && t.at.Status.Run != nil &&
		t.at.Status.Run.PodUID != ""
}

// noteSuspended notes that the status reports the suspension. The controller then takes back a
// recorded start.
func (t *trial) noteSuspended(now moment) {
	if t.version == nil || !t.version.suspend || len(t.version.windows) < 2 || !t.isSynced() ||
		t.at.Status.ObservedGeneration != t.at.Generation ||
		condition.FindReady(t.at.Status.Conditions).Reason != at.ReasonSuspended {
		return
	}
	if w := &t.version.windows[len(t.version.windows)-2]; w.closed == 0 {
		w.closed = now
	}
}

// notePod notes the state of a Pod.
func (t *trial) notePod(pod *corev1.Pod) {
	seen := &seenPod{name: pod.Name}
	for _, variable := range pod.Spec.Containers[0].Env {
		if variable.Name == commandVariable {
			seen.command = variable.Value
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue {
			seen.scheduled = condition.LastTransitionTime.Time
		}
	}
	t.pods[string(pod.UID)] = seen
}
