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

// namespace is where all Ats of a soak are.
const namespace = "gatehouse-soak"

// trial is one At, all that is done to it, and what is seen of it.
type trial struct {
	name  string
	kind  string
	born  moment
	turns []turn // that are still to come

	version  *version   // what git has, nil when the At was removed
	versions []*version // all that git ever had

	at      *cnatv1alpha1.At    // as last seen in the cluster
	pods    map[string]*seenPod // all that were ever seen, by UID
	release func()              // has go on what the trial holds
	moved   moment              // when it was last its turn
	settled moment              // since when the status says what happened; zero before
	wrong   string              // what the status says wrong at the end
	over    bool                // git is to have it no more
}

// seenPod is what was seen of a Pod.
type seenPod struct {
	name      string
	command   string    // of the version that it was rendered from
	scheduled time.Time // by the scheduler's clock, in whole seconds; zero before
	gone      bool
}

// version is one spec of an At.
type version struct {
	command  string // the name that its command counts itself by
	does     behaviour
	due      time.Time
	deadline time.Duration // after due; zero for none
	suspend  bool

	windows  []window
	disturbs []moment // when its Pod was deleted, evicted, or its At tampered with
}

// window is a time during which git had a version.
type window struct {
	offered   span
	resumed   span
	withdrawn span
	held      bool   // suspended at first
	closed    moment // when the status said that it is suspended after this window; zero before
}

// span is the time that a change took to get from git to the cluster: it was not there
// before the first moment, and from the last one on it was. A zero span did not happen.
type span struct{ from, to moment }

func (s span) happened() bool { return s != span{} }

// behaviour is what a command does once it counted itself.
type behaviour int

const (
	succeeds behaviour = iota
	fails
	restarts // fails once, and is to be restarted
	lingers
)

// commandVariable has the name that a command counts itself by.
const commandVariable = "COMMAND"

// failure is the exit code of a command that fails.
const failure = 3

var scripts = map[behaviour]string{
	succeeds: "exit 0",
	fails:    "echo out of stock; exit 3",
	restarts: `[ "$n" -ge 2 ]`,
	lingers:  "trap 'exit 143' TERM; sleep 20 & wait",
}

// spec is the spec of the At.
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

func (t *trial) object(c *counter) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		TypeMeta:   metav1.TypeMeta{APIVersion: cnatv1alpha1.SchemeGroupVersion.String(), Kind: cnatv1alpha1.KindAt},
		ObjectMeta: metav1.ObjectMeta{Name: t.name},
		Spec:       t.version.spec(c),
	}
}

// offer has git have a version from a round on.
func (t *trial) offer(v *version, from moment) {
	t.withdraw(from)
	t.version = v
	if len(v.windows) == 0 {
		t.versions = append(t.versions, v)
	}
	v.windows = append(v.windows, window{offered: span{from: from}, held: v.suspend})
}

// suspend has git have the same version, suspended.
func (t *trial) suspend(from moment) {
	v := t.version
	v.suspend = true
	t.offer(v, from)
}

// resume ends the suspension of the version that git has.
func (t *trial) resume(from moment) {
	t.version.suspend = false
	t.version.window().resumed.from = from
}

// withdraw has git have the version no more.
func (t *trial) withdraw(from moment) {
	if t.version != nil {
		t.version.window().withdrawn.from = from
	}
	t.version = nil
}

func (v *version) window() *window { return &v.windows[len(v.windows)-1] }

// delivered ends every span that a round began.
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

// isDone says whether the cluster is done with what git has.
func (t *trial) isDone() bool {
	return t.at != nil && t.at.Status.Phase == cnatv1alpha1.AtDone && t.at.Status.ObservedGeneration == t.at.Generation && t.isSynced()
}

// isSynced says whether the cluster has what git has.
func (t *trial) isSynced() bool { return t.version != nil && t.version.window().offered.to != 0 }

// isArmed says whether a Pod waits for its time.
func (t *trial) isArmed() bool {
	return t.isSynced() && t.at != nil && t.at.Status.Phase == cnatv1alpha1.AtPending && t.at.Status.Run != nil && t.at.Status.Run.PodUID != ""
}

// seeSuspended takes down that the status says that the version is suspended: its start, if
// it was on record, is taken back.
func (t *trial) seeSuspended(now moment) {
	if t.version == nil || !t.version.suspend || len(t.version.windows) < 2 || !t.isSynced() || t.at == nil ||
		t.at.Status.ObservedGeneration != t.at.Generation || condition.FindReady(t.at.Status.Conditions).Reason != at.ReasonSuspended {
		return
	}
	if w := &t.version.windows[len(t.version.windows)-2]; w.closed == 0 {
		w.closed = now
	}
}

// see takes down what a Pod looks like.
func (t *trial) see(pod *corev1.Pod) {
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
