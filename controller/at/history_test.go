package at

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/test/expanded"
)

// A failure prints the seed to repeat it with; -rapid.checks and -rapid.steps, on
// the command line, go further.
func init() {
	for name, value := range map[string]string{"rapid.checks": "10000", "rapid.steps": "100", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// TestHistories drives two controllers at once through random histories of edits,
// syncs, deletions, restarts, stale caches, failing writes and a clock that steps,
// and asserts that no command ever starts early or twice, that no status is ever
// one that kstatus misreads, and that every At ends where it should once the noise
// is over.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newSimulation(t)
		t.Repeat(map[string]func(*rapid.T){
			"":                  w.check,
			"edit":              w.edit,
			"suspend or resume": w.suspend,
			"set a deadline":    w.setDeadline,
			"delete the At":     w.deleteAt,
			"create the At":     w.createAt,
			"sync":              w.sync,
			"upgrade renderer":  w.upgradeRenderer,
			"pose":              w.pose,
			"delete a Pod":      w.deletePod,
			"a command ends":    w.endCommand,
			"time passes":       w.passTime,
			"the clock is set":  w.setClock,
			"caches catch up":   w.catchUp,
			"restart":           w.restart,
			"reconcile":         w.reconcileAny,
			"reconcile again":   w.reconcileAny,
			"reconcile more":    w.reconcileAny,
		})
		w.settle(t)
	})
}

// simulation is an API server that remembers all it ever held, two controllers
// whose caches show what it held once, and everybody else.
type simulation struct {
	past        []state // the last is the present
	clock       *clocktesting.FakePassiveClock
	controllers []*simulatedController
	renderer    int // version
	created     int
	together    int  // how many Ats are due in one second
	unseen      bool // no cache ever shows a Pod: those say what the At says, that something else manages them

	starts map[string]int       // by digest: how often its command was started
	dues   map[string]time.Time // by digest
	origin map[string]types.UID // by digest: the At that its command was started for
}

type state struct {
	at   *cnatv1alpha1.At // nil while there is none
	pods map[string]corev1.Pod
}

func newSimulation(t *rapid.T) *simulation {
	w := &simulation{
		past:   []state{{pods: map[string]corev1.Pod{}}},
		clock:  clocktesting.NewFakePassiveClock(due),
		starts: map[string]int{}, dues: map[string]time.Time{}, origin: map[string]types.UID{},
	}
	for range 2 {
		c := &simulatedController{world: w}
		c.reconciler = &Reconciler{Server: c, Clock: w.clock, Grace: 20 * time.Second, Events: noEvents{}, IsElected: always, IsFresh: always}
		w.controllers = append(w.controllers, c)
	}
	w.unseen = rapid.Bool().Draw(t, "Pods are unseen")
	w.together = rapid.SampledFrom([]int{1, 1000}).Draw(t, "due together")
	w.createAt(t)
	return w
}

func (w *simulation) now() state { return w.past[len(w.past)-1] }

// write makes a change to the present one more state.
func (w *simulation) write(change func(*state)) {
	next := state{at: w.now().at.DeepCopy(), pods: maps.Clone(w.now().pods)}
	change(&next)
	w.past = append(w.past, next)
}

func (w *simulation) version() string { return fmt.Sprint(len(w.past)) }

// What people do.

var offsets = []time.Duration{10 * time.Second, 20 * time.Second, 20*time.Second + 1500*time.Microsecond}

func drawSpec(t *rapid.T) cnatv1alpha1.AtSpec {
	return cnatv1alpha1.AtSpec{
		Schedule:      due.Add(rapid.SampledFrom(offsets).Draw(t, "due")).Format(time.RFC3339Nano),
		Command:       rapid.SampledFrom([]string{"a", "b"}).Draw(t, "command"),
		RestartPolicy: corev1.RestartPolicyNever,
	}
}

func (w *simulation) createAt(t *rapid.T) {
	if w.now().at != nil {
		t.Skip()
	}
	w.created++
	var labels map[string]string
	if w.unseen {
		labels = map[string]string{kind.ManagedByLabel: "Helm"}
	}
	w.storeAt(&cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "at", UID: types.UID(fmt.Sprint("at-", w.created)), CreationTimestamp: *wholeSeconds(w.clock.Now()),
			Labels: labels,
		},
		Spec:   drawSpec(t),
		Status: cnatv1alpha1.AtStatus{ObservedGeneration: -1},
	})
}

// storeAt stores an At whose spec changed.
func (w *simulation) storeAt(at *cnatv1alpha1.At) {
	at.Generation++
	instant, err := kindat.Schedule(at.Spec)
	if err != nil {
		panic(err)
	}
	w.dues[kindat.Digest(at.Spec)] = instant
	w.write(func(s *state) { at.ResourceVersion = w.version(); s.at = at })
}

func (w *simulation) editAt(t *rapid.T, change func(*cnatv1alpha1.AtSpec)) {
	if w.now().at == nil {
		t.Skip()
	}
	at := w.now().at.DeepCopy()
	change(&at.Spec)
	w.storeAt(at)
}

func (w *simulation) edit(t *rapid.T) {
	w.editAt(t, func(spec *cnatv1alpha1.AtSpec) {
		next := drawSpec(t)
		spec.Schedule, spec.Command = next.Schedule, next.Command
	})
}

func (w *simulation) suspend(t *rapid.T) {
	w.editAt(t, func(spec *cnatv1alpha1.AtSpec) { spec.Suspend = !spec.Suspend })
}

func (w *simulation) setDeadline(t *rapid.T) {
	w.editAt(t, func(spec *cnatv1alpha1.AtSpec) {
		spec.StartingDeadlineSeconds = rapid.SampledFrom([]*int64{nil, ptr.To[int64](2), ptr.To[int64](20)}).Draw(t, "deadline")
	})
}

func (w *simulation) deleteAt(t *rapid.T) {
	if w.now().at == nil || !rapid.Bool().Draw(t, "really") {
		t.Skip()
	}
	w.write(func(s *state) { s.at = nil })
	w.forget()
}

// What a GitOps tool, a kubelet and a clock do.

func (w *simulation) podName(at *cnatv1alpha1.At) string {
	return fmt.Sprintf("at-%s%02x", kindat.Digest(at.Spec)[7:15], w.renderer)
}

// sync creates the Pod of the current spec where it is not, and prunes the others.
func (w *simulation) sync(t *rapid.T) {
	at := w.now().at
	if at == nil {
		t.Skip()
	}
	name := w.podName(at)
	if _, there := w.now().pods[name]; !there {
		pod := expanded.First[corev1.Pod](kindat.Kind, at)
		w.created++
		pod.Name, pod.UID = name, types.UID(fmt.Sprint("pod-", w.created))
		pod.CreationTimestamp = metav1.NewTime(w.clock.Now())
		w.write(func(s *state) { pod.ResourceVersion = w.version(); s.pods[name] = *pod })
	}
	if rapid.Bool().Draw(t, "prune") {
		w.write(func(s *state) { maps.DeleteFunc(s.pods, func(n string, _ corev1.Pod) bool { return n != name }) })
		w.forget()
	}
}

// pose creates a Pod that has the label and the digest of the At and was not rendered
// from it.
func (w *simulation) pose(t *rapid.T) {
	at := w.now().at
	if at == nil {
		t.Skip()
	}
	pod := expanded.First[corev1.Pod](kindat.Kind, at)
	w.created++
	pod.Name, pod.UID = fmt.Sprintf("at-%010x", w.created), types.UID(fmt.Sprint("posing-", w.created))
	rapid.SampledFrom([]func(*corev1.Pod){owned, generated, named(fmt.Sprint("at-x", w.created))}).Draw(t, "pose")(pod)
	if rapid.Bool().Draw(t, "open") {
		open(pod)
	}
	w.write(func(s *state) { pod.ResourceVersion = w.version(); s.pods[pod.Name] = *pod })
}

// poses says whether a Pod was not rendered.
func poses(pod *corev1.Pod) bool { return strings.HasPrefix(string(pod.UID), "posing-") }

func (w *simulation) upgradeRenderer(t *rapid.T) { w.renderer++; w.sync(t) }

func (w *simulation) drawPod(t *rapid.T, matches func(corev1.Pod) bool) corev1.Pod {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(w.now().pods)) {
		if matches(w.now().pods[name]) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Skip()
	}
	return w.now().pods[rapid.SampledFrom(names).Draw(t, "Pod")]
}

func (w *simulation) deletePod(t *rapid.T) {
	pod := w.drawPod(t, func(corev1.Pod) bool { return true })
	w.write(func(s *state) { delete(s.pods, pod.Name) })
	w.forget()
}

// forget forgets a start that nobody could know of: its Pod is gone, and so is the
// At that it was for, and no status names its digest.
func (w *simulation) forget() {
	for digest := range w.starts {
		gone := !slices.ContainsFunc(slices.Collect(maps.Values(w.now().pods)), func(pod corev1.Pod) bool {
			return pod.Annotations[kind.DigestAnnotation] == digest && !isGated(&pod) && !poses(&pod)
		})
		if at := w.now().at; gone && (at == nil || at.UID != w.origin[digest]) && !recorded(at, digest) {
			delete(w.starts, digest)
		}
	}
}

// recorded says whether the status of an At has it that a digest may have started.
func recorded(at *cnatv1alpha1.At, digest string) bool {
	if at == nil {
		return false
	}
	run := at.Status.Run
	return run != nil && run.Digest == digest && at.Status.Phase != cnatv1alpha1.AtPending ||
		slices.ContainsFunc(at.Status.Ran, func(entry string) bool { return digestOf(entry) == digest })
}

func (w *simulation) endCommand(t *rapid.T) {
	pod := w.drawPod(t, func(pod corev1.Pod) bool { return !isGated(&pod) && pod.Status.Phase == "" })
	pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "end")
	w.write(func(s *state) { pod.ResourceVersion = w.version(); s.pods[pod.Name] = pod })
}

// passTime moves the clock on. A cache may lag, but not by as much: it has every
// edit from before.
func (w *simulation) passTime(t *rapid.T) {
	w.clock.SetTime(w.clock.Now().Add(time.Duration(rapid.Int64Range(1, int64(8*time.Second)).Draw(t, "time"))))
	edited := 0
	for i := 1; i < len(w.past); i++ {
		a, b := w.past[i-1].at, w.past[i].at
		if (a == nil) != (b == nil) || a != nil && (a.UID != b.UID || a.Generation != b.Generation) {
			edited = i
		}
	}
	for _, c := range w.controllers {
		c.seesAt = max(c.seesAt, edited)
	}
}

// setClock sets the clock. It may go back, but not to before a start that nobody
// has recorded: of such a start nothing would be left to know it by.
func (w *simulation) setClock(t *rapid.T) {
	to := w.clock.Now().Add(time.Duration(rapid.Int64Range(int64(-15*time.Second), int64(15*time.Second)).Draw(t, "step")))
	for digest := range w.starts {
		if !recorded(w.now().at, digest) && to.Before(w.dues[digest]) {
			to = w.dues[digest]
		}
	}
	w.clock.SetTime(to)
}

// What happens to the controllers.

// simulatedController is a controller, and the Server of it.
type simulatedController struct {
	world      *simulation
	reconciler *Reconciler
	// seesAt and seesPods are the states that its caches show.
	seesAt, seesPods int
	// fails is how the next write fails.
	fails failure
	t     *rapid.T
}

func always() bool { return true }

type failure string

const (
	never  failure = "never"
	before failure = "before the server took it"
	after  failure = "after the server took it"
)

var errTimeout = errors.New("timeout")

func (w *simulation) drawController(t *rapid.T) *simulatedController {
	return w.controllers[rapid.IntRange(0, len(w.controllers)-1).Draw(t, "controller")]
}

func (w *simulation) catchUp(t *rapid.T) {
	c := w.drawController(t)
	c.seesAt = rapid.IntRange(c.seesAt, len(w.past)-1).Draw(t, "At")
	c.seesPods = rapid.IntRange(c.seesPods, len(w.past)-1).Draw(t, "Pods")
}

// restart starts a controller anew; what it lists first may be old.
func (w *simulation) restart(t *rapid.T) {
	c := w.drawController(t)
	c.seesPods = rapid.IntRange(max(0, len(w.past)-10), len(w.past)-1).Draw(t, "Pods")
}

func (w *simulation) reconcileAny(t *rapid.T) {
	c := w.drawController(t)
	if rapid.IntRange(0, 3).Draw(t, "lag") > 0 {
		c.seesAt, c.seesPods = len(w.past)-1, len(w.past)-1
	}
	c.fails = rapid.SampledFrom([]failure{never, never, never, before, after}).Draw(t, "fails")
	c.reconcile(t)
}

func (c *simulatedController) reconcile(t *rapid.T) {
	at := c.world.past[c.seesAt].at
	if at == nil {
		return
	}
	c.t = t
	at = at.DeepCopy()
	trimAt(at)
	_, err := c.reconciler.Reconcile(t.Context(), at)
	if err != nil && !errors.Is(err, errTimeout) {
		t.Fatalf("reconcile: %v", err)
	}
}

func (w *simulation) check(*rapid.T) {}

// settle ends the noise, and asserts that every At goes where it should.
func (w *simulation) settle(t *rapid.T) {
	if w.now().at == nil {
		w.createAt(t)
	}
	if w.now().at.Spec.Suspend {
		w.suspend(t)
	}
	w.reconcileUntilStable(t)
	w.sync(t)
	w.reconcileUntilStable(t)
	w.clock.SetTime(due.Add(time.Hour))
	w.reconcileUntilStable(t)
	at := w.now().at
	if at.Status.Phase != cnatv1alpha1.AtRunning && at.Status.Phase != cnatv1alpha1.AtDone {
		t.Fatalf("in the end: %+v", at.Status)
	}
	w.write(func(s *state) {
		for name, pod := range s.pods {
			if !isGated(&pod) && pod.Status.Phase == "" {
				pod.Status.Phase, pod.ResourceVersion = corev1.PodSucceeded, w.version()
				s.pods[name] = pod
			}
		}
	})
	w.reconcileUntilStable(t)
	if at := w.now().at; at.Status.Phase != cnatv1alpha1.AtDone || at.Status.ObservedGeneration != at.Generation {
		t.Fatalf("the Pod ended, but: %+v", at.Status)
	}
}

// reconcileUntilStable reconciles with caches that have all until nothing changes.
func (w *simulation) reconcileUntilStable(t *rapid.T) {
	for range 20 {
		written := len(w.past)
		for _, c := range w.controllers {
			c.seesAt, c.seesPods, c.fails = len(w.past)-1, len(w.past)-1, never
			c.reconcile(t)
		}
		if len(w.past) == written {
			return
		}
	}
	t.Fatalf("it never settles: %+v", w.now().at.Status)
}
