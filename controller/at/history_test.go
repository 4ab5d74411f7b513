package at

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
)

// A failure prints the seed that reproduces it. The flags -rapid.checks and -rapid.steps override these
// defaults.
func init() {
	ctrllog.SetLogger(logr.Discard())
	for name, value := range map[string]string{"rapid.checks": "10000", "rapid.steps": "100", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// TestNoRandomHistoryRunsTwice drives three controllers through random histories. Users edit and delete Ats; tools sync.
// Controllers restart and are elected; caches lag. Requests are lost, late or refused; the clock steps.
//
// It judges every write by history and checkStatus, and asserts that only an entitled replica starts an
// At. After the noise it asserts that the At starts and is done.
func TestNoRandomHistoryRunsTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer w.stop()
		t.Repeat(w.drawActions(t))
		w.settle(t)
	})
}

// drawActions returns the actions of one history: all actions of controllers, and about half of the
// others, so that each of them is frequent.
func (w *world) drawActions(t *rapid.T) map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"":                       func(*rapid.T) {},
		"time passes":            w.passTime,
		"sync":                   w.sync,
		"reconcile":              w.reconcileAny,
		"reconcile the present":  w.reconcilePresent,
		"reconcile at once":      w.reconcileAtOnce,
		"a request proceeds":     w.proceedAny,
		"another one proceeds":   w.proceedAny, // doubles the probability
		"a late request arrives": w.deliverAny,
	}
	for _, other := range []struct {
		name   string
		action func(*rapid.T)
	}{
		{"edit", w.edit},
		{"revert", w.revert},
		{"suspend or resume", w.suspend},
		{"set a deadline", w.setDeadline},
		{"delete the At", w.deleteAt},
		{"create the At", w.createAt},
		{"create a Pod", w.createPod},
		{"upgrade renderer", w.upgradeRenderer},
		{"create a foreign Pod", w.createForeignPod},
		{"delete a Pod", w.deletePod},
		{"delete a Pod later", w.deletePodLater},
		{"open a Pod", w.openPod},
		{"a command ends", w.endCommand},
		{"the clock is set", w.setClock},
		{"caches catch up", w.catchUp},
		{"restart", w.restart},
		{"a lease is renewed", w.renewLease},
	} {
		if rapid.Bool().Draw(t, other.name) {
			actions[other.name] = other.action
		}
	}
	return actions
}

// world is a cluster with its past, its controllers, and the choices of one history.
type world struct {
	past        []cluster     // the last one is the present
	elapsed     time.Duration // since the start
	step        time.Duration // of the wall clock, beside elapsed
	wasSetBack  bool
	together    int // number of Ats that are due in the same second
	controllers []*simulatedController
	late        []*request // writes in flight whose sender no longer waits
	specs       []cnatv1alpha1.AtSpec
	renderer    int  // version
	refusals    int  // number of writes of Pods that admission refuses after the noise
	podsUnseen  bool // no cache ever shows a Pod: like the At, the Pods have another manager
}

// simulatedController is a Reconciler or an Opener with its caches and queue.
type simulatedController struct {
	replica
	opens     bool
	clock     *setup.Clock
	elapsed   func() time.Duration
	at, pods  int // indexes in past of the clusters that its caches show
	run       *run
	hasFailed bool          // its run got an error
	queued    bool          // an event arrived since its last Reconcile began
	wake      time.Duration // when to reconcile again; zero for never
}

func newWorld(t *rapid.T) *world {
	w := &world{past: []cluster{{hasPolicy: rapid.Bool().Draw(t, "policy")}}}
	for range replicas {
		w.controllers = append(w.controllers, w.newController(t))
	}
	for _, c := range w.controllers {
		opener := *c
		opener.opens = true
		w.controllers = append(w.controllers, &opener)
	}
	w.controllers[0].elected = true
	w.controllers[replicas].elected = true
	w.podsUnseen = rapid.IntRange(0, 3).Draw(t, "Pods are unseen") == 3
	w.together = rapid.SampledFrom([]int{1, 1000}).Draw(t, "due together")
	w.createAt(t)
	if rapid.IntRange(0, 3).Draw(t, "long life") == 3 {
		w.liveLong(t)
	}
	return w
}

// replicas is the number of processes. Each has a Reconciler and an Opener.
const replicas = 3

// newController returns a controller of a new process. Its timers run a little fast or slow.
func (w *world) newController(t *rapid.T) *simulatedController {
	c := &simulatedController{replica: replica{fresh: true}}
	started := w.elapsed
	drift := rapid.Int64Range(-5000, 5000).Draw(t, "drift")
	c.elapsed = func() time.Duration { return time.Duration(float64(w.elapsed-started) * (1 + float64(drift)/1e8)) }
	c.clock = &setup.Clock{Elapsed: c.elapsed}
	return c
}

// tellTime gives a controller the time in an answer of the API server, in whole seconds.
func (w *world) tellTime(c *simulatedController) {
	c.clock.Observe(w.wall().Truncate(time.Second), c.elapsed(), c.elapsed())
}

func (w *world) stop() {
	for _, c := range w.controllers {
		if c.run != nil {
			c.run.stop()
		}
	}
}

func (w *world) present() cluster { return w.past[len(w.past)-1] }

func (w *world) wall() time.Time { return due.Add(w.elapsed + w.step) }

func (w *world) write(c cluster) { w.past = append(w.past, c) }

// Actions of users.

var offsets = []time.Duration{10 * time.Second, 20 * time.Second, 20*time.Second + 1500*time.Microsecond}

func drawSpec(t *rapid.T) cnatv1alpha1.AtSpec {
	return simulatedSpec(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "command"), due.Add(rapid.SampledFrom(offsets).Draw(t, "due")))
}

func (w *world) createAt(t *rapid.T) {
	if w.present().at != nil {
		t.Skip()
	}
	at := simulatedAt(drawSpec(t), w.wall())
	if w.podsUnseen {
		at.Labels = map[string]string{kind.ManagedByLabel: "Helm"}
	}
	w.specs = append(w.specs, at.Spec)
	w.write(w.present().withAt(at))
}

// liveLong gives an At a status that names about as many earlier specs as fit.
func (w *world) liveLong(t *rapid.T) {
	c := w.present()
	at := *w.present().at
	for i := range rapid.IntRange(longestRan-3, longestRan).Draw(t, "ran") {
		spec := simulatedSpec(fmt.Sprint("old ", i), due.Add(time.Duration(i%12)*time.Second))
		digest := kindat.Digest(spec)
		at.Status.Ran = slices.Insert(at.Status.Ran, 0, digest+"@"+due.Add(time.Duration(i%12)*time.Second).Format(time.RFC3339))
		c.starts = with(c.starts, digest, at.UID)
		w.specs = append(w.specs, spec)
	}
	c.at = &at
	w.past[len(w.past)-1] = c
}

func (w *world) change(t *rapid.T, change func(*cnatv1alpha1.AtSpec)) {
	if w.present().at == nil {
		t.Skip()
	}
	w.write(w.present().withSpec(change))
	w.specs = append(w.specs, w.present().at.Spec)
}

func (w *world) edit(t *rapid.T) {
	w.change(t, func(spec *cnatv1alpha1.AtSpec) {
		next := drawSpec(t)
		spec.Schedule = next.Schedule
		spec.Command = next.Command
	})
}

// revert restores an earlier spec.
func (w *world) revert(t *rapid.T) {
	w.change(t, func(spec *cnatv1alpha1.AtSpec) {
		earlier := rapid.SampledFrom(w.specs).Draw(t, "spec")
		spec.Schedule = earlier.Schedule
		spec.Command = earlier.Command
	})
}

func (w *world) suspend(t *rapid.T) {
	w.change(t, func(spec *cnatv1alpha1.AtSpec) { spec.Suspend = !spec.Suspend })
}

func (w *world) setDeadline(t *rapid.T) {
	w.change(t, func(spec *cnatv1alpha1.AtSpec) {
		spec.StartingDeadlineSeconds = rapid.SampledFrom([]*int64{nil, ptr.To[int64](2), ptr.To[int64](20)}).Draw(t, "deadline")
	})
}

func (w *world) deleteAt(t *rapid.T) {
	if w.present().at == nil || !rapid.Bool().Draw(t, "really") {
		t.Skip()
	}
	w.write(w.present().withoutAt())
}

// Actions of GitOps tools, renderers, other clients, kubelets and clocks.

// sync creates the missing Pod of the current spec, and may prune the others.
func (w *world) sync(t *rapid.T) {
	at := w.present().at
	if at == nil {
		t.Skip()
	}
	pod := renderedPod(at.Spec, w.renderer, w.wall())
	if w.present().pod(pod.Name) == nil {
		w.write(w.present().withNewPod(pod))
	}
	if rapid.Bool().Draw(t, "prune") {
		w.prune(pod.Name)
	}
}

func (w *world) prune(kept string) {
	w.write(w.present().withoutPods(func(pod *corev1.Pod) bool { return pod.Name != kept }))
}

func (w *world) upgradeRenderer(t *rapid.T) { w.renderer++; w.sync(t) }

// createPod creates the Pod of any past spec, as any version of render makes it.
func (w *world) createPod(t *rapid.T) {
	spec := rapid.SampledFrom(w.specs).Draw(t, "spec")
	pod := renderedPod(spec, rapid.IntRange(0, w.renderer).Draw(t, "renderer"), w.wall())
	if w.present().pod(pod.Name) != nil {
		t.Skip()
	}
	w.admit(t, pod)
}

// createForeignPod creates a Pod with the label and the digest of the At that was not rendered.
func (w *world) createForeignPod(t *rapid.T) {
	at := w.present().at
	if at == nil {
		t.Skip()
	}
	pod := renderedPod(at.Spec, 0, w.wall())
	pod.Name = fmt.Sprintf("at-%010x", len(w.past))
	rapid.SampledFrom([]func(*corev1.Pod){ownedByJob, withGenerateName, named(fmt.Sprint(foreignName, len(w.past)))}).Draw(t, "foreign Pod")(pod)
	w.admit(t, pod)
}

// admit creates a Pod. Without the policy it may lack its gate.
func (w *world) admit(t *rapid.T, pod *corev1.Pod) {
	if !w.present().hasPolicy && rapid.Bool().Draw(t, "open") {
		open(pod)
	}
	w.write(w.present().withNewPod(pod))
}

func (w *world) drawPod(t *rapid.T, matches func(*corev1.Pod) bool) *corev1.Pod {
	var matching []*corev1.Pod
	for _, pod := range w.present().pods {
		if matches(pod) {
			matching = append(matching, pod)
		}
	}
	if len(matching) == 0 {
		t.Skip()
	}
	return rapid.SampledFrom(matching).Draw(t, "Pod")
}

func anyPod(*corev1.Pod) bool { return true }

func (w *world) deletePod(t *rapid.T) {
	deleted := w.drawPod(t, anyPod)
	w.write(w.present().withoutPods(func(pod *corev1.Pod) bool { return pod == deleted }))
}

// deletePodLater begins to delete a Pod that has a finalizer.
func (w *world) deletePodLater(t *rapid.T) {
	pod := w.drawPod(t, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil })
	w.write(w.present().withPod(pod, func(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.wall())) }))
}

// openPod opens a Pod, as only a controller should.
func (w *world) openPod(t *rapid.T) {
	if w.present().hasPolicy {
		t.Skip()
	}
	w.write(w.present().withPod(w.drawPod(t, isGated), open))
}

func hasNotEnded(pod *corev1.Pod) bool { return !isGated(pod) && pod.Status.Phase == "" }

func (w *world) endCommand(t *rapid.T) {
	phase := rapid.SampledFrom([]corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "end")
	w.write(w.present().withPod(w.drawPod(t, hasNotEnded), func(pod *corev1.Pod) { pod.Status.Phase = phase }))
}

// passTime lets some time pass, or time until the At is due or past its deadline.
func (w *world) passTime(t *rapid.T) {
	steps := []time.Duration{time.Duration(rapid.Int64Range(1, int64(8*time.Second)).Draw(t, "time"))}
	if at := w.present().at; at != nil {
		until := scheduleOf(at).Sub(w.wall())
		steps = append(steps, until-10*time.Millisecond, until, until+standbyDelay)
		if seconds := at.Spec.StartingDeadlineSeconds; seconds != nil {
			steps = append(steps, until+time.Duration(*seconds)*time.Second+1)
		}
	}
	steps = slices.DeleteFunc(steps, func(step time.Duration) bool { return step <= 0 })
	w.elapsed += rapid.SampledFrom(steps).Draw(t, "step")
}

// setClock sets the wall clock. A step forward makes every controller reconcile every At.
func (w *world) setClock(t *rapid.T) {
	by := time.Duration(rapid.Int64Range(int64(-15*time.Second), int64(15*time.Second)).Draw(t, "step"))
	w.step += by
	w.wasSetBack = w.wasSetBack || by < 0
	for _, c := range w.controllers {
		c.queued = c.queued || by > clockTolerance
	}
}

// Actions of controllers.

func (w *world) drawController(t *rapid.T) *simulatedController {
	return rapid.SampledFrom(w.controllers).Draw(t, "controller")
}

func (w *world) catchUp(t *rapid.T) {
	c := w.drawController(t)
	w.show(c, w.drawLater(t, "At", c.at), w.drawLater(t, "Pods", c.pods))
}

// drawLater draws the next cluster that a cache shows: the same, the present, or any between them.
func (w *world) drawLater(t *rapid.T, cache string, shown int) int {
	present := len(w.past) - 1
	return rapid.OneOf(rapid.Just(shown), rapid.Just(present), rapid.IntRange(shown, present)).Draw(t, cache)
}

// show makes the caches of a controller show other clusters.
func (w *world) show(c *simulatedController, at, pods int) {
	c.queued = c.queued || w.past[at].at != w.past[c.at].at || !w.podsUnseen && !slices.Equal(w.past[pods].pods, w.past[c.pods].pods)
	c.at = at
	c.pods = pods
}

// restart replaces a controller. The caches of the new one may begin with old content.
func (w *world) restart(t *rapid.T) {
	c := w.drawController(t)
	if c.run != nil {
		w.abandon(t, c)
	}
	next := w.newController(t)
	next.opens = c.opens
	next.queued = true
	next.replica = replica{elected: rapid.Bool().Draw(t, "elected"), fresh: rapid.Bool().Draw(t, "fresh")}
	next.at = rapid.IntRange(0, len(w.past)-1).Draw(t, "At")
	next.pods = rapid.IntRange(0, len(w.past)-1).Draw(t, "Pods")
	*c = *next
}

// renewLease renews an expired lease, or lets a fresh one expire.
func (w *world) renewLease(t *rapid.T) {
	c := w.drawController(t)
	c.fresh = !c.fresh
	c.queued = true // the product looks again after a second
}

func (w *world) reconcileAny(t *rapid.T) {
	if c := w.drawController(t); c.run == nil {
		w.start(t, c)
	}
}

func (w *world) reconcilePresent(t *rapid.T) {
	if c := w.drawController(t); c.run == nil {
		w.show(c, len(w.past)-1, len(w.past)-1)
		w.start(t, c)
	}
}

// reconcileAtOnce reconciles the present without an interruption.
func (w *world) reconcileAtOnce(t *rapid.T) {
	c := w.drawController(t)
	w.finish(t, c)
	w.show(c, len(w.past)-1, len(w.past)-1)
	w.start(t, c)
	w.finish(t, c)
}

// start starts a Reconcile, up to its first request.
func (w *world) start(t *rapid.T, c *simulatedController) {
	c.queued = false
	c.wake = 0
	at := w.past[c.at].at
	pods := w.past[c.pods].pods
	if at == nil {
		return
	}
	if w.podsUnseen {
		pods = nil
	}
	w.tellTime(c)
	c.run = startRun(at, pods, &c.replica, c.opens)
	c.hasFailed = false
	w.lookAround(t, c)
}

// lookAround lets a run look around, and judges whether its replica may send the next request.
func (w *world) lookAround(t *rapid.T, c *simulatedController) {
	for c.run.request != nil && c.run.request.verb == look {
		c.run.proceed(answer{surroundings: surroundings{now: c.clock.Now(), together: w.together}})
	}
	q := c.run.request
	if q == nil {
		w.end(t, c)
		return
	}
	if q.verb != openGate && (q.verb != apply || !c.starts(q)) {
		return
	}
	isLate := !q.from.Now().Before(scheduleOf(q.from.at).Add(standbyDelay))
	switch {
	case c.elected && !c.fresh:
		t.Fatalf("a leader with an expired lease sends: %s", q)
	case !c.elected && !isLate:
		t.Fatalf("a standby sends too early: %s at %s", q, q.from.Now())
	}
}

// starts reports whether a status records the start of a Pod that its run read gated.
func (c *simulatedController) starts(q *request) bool {
	return recordsStart(q.from.at.Status, *q.status) && q.status.Phase == cnatv1alpha1.AtRunning &&
		slices.ContainsFunc(q.from.read, func(pod corev1.Pod) bool { return pod.UID == q.status.Run.PodUID && isGated(&pod) })
}

// end queues a controller as the result of its Reconcile demands.
func (w *world) end(t *rapid.T, c *simulatedController) {
	run := c.run
	c.run = nil
	switch {
	case run.err != nil && !c.hasFailed:
		t.Fatalf("Reconcile returned an error without cause: %v", run.err)
	case run.err != nil:
		c.queued = true
	case run.result.RequeueAfter > 0:
		c.wake = w.elapsed + run.result.RequeueAfter
	}
}

// proceedAny answers the request of a run. Its fate is random.
func (w *world) proceedAny(t *rapid.T) {
	var running []*simulatedController
	for _, c := range w.controllers {
		if c.run != nil {
			running = append(running, c)
		}
	}
	if len(running) == 0 {
		t.Skip()
	}
	c := rapid.SampledFrom(running).Draw(t, "controller")
	q := c.run.request
	timeout := rapid.SampledFrom([]error{errTimeout, overload}).Draw(t, "timeout")
	fates := []string{"served", "served", "served", "served", "lost", "late", "answer lost", "refused"}
	switch {
	case q.verb == openGate:
		fates = []string{"served", "late", "late", "late", "answer lost", "refused", "ignored"}
	case q.verb == hold:
		fates = append(fates, "ignored")
	case q.verb == apply && c.starts(q):
		fates = append(fates, "stripped")
	}
	switch rapid.SampledFrom(fates).Draw(t, "fate") {
	case "served":
		w.proceed(t, c, w.serve(t, q))
	case "lost":
		w.fail(t, c, errTimeout)
	case "late":
		w.abandonRequest(q)
		w.fail(t, c, timeout)
	case "answer lost":
		w.serve(t, q)
		w.fail(t, c, timeout)
	case "ignored":
		w.ignore(t, c)
	case "stripped":
		c.hasFailed = true
		stripped := *q
		stripped.status = ptr.To(withoutStart(*q.status))
		var a answer
		if at := w.present().at; at != nil && q.version == at.ResourceVersion && q.uid == at.UID && status.Equal(at.Status, *stripped.status) {
			a.version = at.ResourceVersion // nothing is left to write
		} else {
			a = w.serve(t, &stripped)
		}
		a.isStripped = true
		w.proceed(t, c, a)
	case "refused":
		if !q.isWrite() {
			w.fail(t, c, errTimeout)
			return
		}
		w.refuse(t, c)
	}
}

// refuse makes admission refuse the request of a run.
func (w *world) refuse(t *rapid.T, c *simulatedController) {
	w.write(w.present().withRefusal(c.run.request))
	w.fail(t, c, rapid.SampledFrom(refusals).Draw(t, "refusal"))
}

// ignore makes admission undo the write of a Pod.
func (w *world) ignore(t *rapid.T, c *simulatedController) {
	q := c.run.request
	pod := w.present().pod(q.name)
	if pod == nil || !q.matches(pod.UID, pod.ResourceVersion) {
		w.proceed(t, c, w.serve(t, q))
		return
	}
	w.write(w.present().withRefusal(q))
	c.hasFailed = true
	w.proceed(t, c, answer{pod: pod})
}

// abandonRequest leaves a write in flight. It may arrive later or never.
func (w *world) abandonRequest(q *request) {
	if q.isWrite() {
		w.late = append(w.late, q)
	}
}

// abandon ends a run whose request may still arrive.
func (w *world) abandon(_ *rapid.T, c *simulatedController) {
	w.abandonRequest(c.run.request)
	c.run.stop()
	c.run = nil
	c.queued = true
}

// serve makes the API server serve a request.
func (w *world) serve(t *rapid.T, q *request) answer {
	before := w.present()
	c, a, err := before.serve(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %v", q, a.err)
	if pod := before.pod(q.name); q.verb == openGate && a.err == nil && w.wall().Before(dueOf(pod)) && !w.wasSetBack {
		t.Fatalf("Pod %s opens at %s, before it is due at %s", pod.UID, w.wall(), dueOf(pod))
	}
	if q.isWrite() {
		w.write(c)
	}
	return a
}

func (w *world) proceed(t *rapid.T, c *simulatedController, a answer) {
	c.hasFailed = c.hasFailed || a.err != nil
	c.run.proceed(a)
	w.lookAround(t, c)
}

func (w *world) fail(t *rapid.T, c *simulatedController, err error) {
	w.proceed(t, c, answer{err: err})
}

// deliverAny serves a late write.
func (w *world) deliverAny(t *rapid.T) {
	if len(w.late) == 0 {
		t.Skip()
	}
	w.deliver(t, rapid.IntRange(0, len(w.late)-1).Draw(t, "request"))
}

func (w *world) deliver(t *rapid.T, i int) {
	q := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	w.serve(t, q)
}

// finish serves the requests of a run until it ends.
func (w *world) finish(t *rapid.T, c *simulatedController) {
	for c.run != nil {
		if q := c.run.request; w.refusals > 0 && (q.verb == openGate || q.verb == hold) {
			w.refusals--
			rapid.SampledFrom([]func(*rapid.T, *simulatedController){w.refuse, w.ignore}).Draw(t, "refusal")(t, c)
			continue
		}
		w.proceed(t, c, w.serve(t, c.run.request))
	}
}

// settle ends the noise, and asserts that the At starts and is done.
func (w *world) settle(t *rapid.T) {
	// Only a leader finds another Pod that no cache shows.
	hasLeader := w.podsUnseen || rapid.IntRange(0, 3).Draw(t, "leader") > 0
	for i, c := range w.controllers {
		w.finish(t, c)
		isFirst := i%replicas == 0
		c.queued = c.queued || isFirst && !c.elected || !c.fresh // the product looks again after a second
		c.elected = isFirst && hasLeader
		c.fresh = true
	}
	for len(w.late) > 0 && rapid.Bool().Draw(t, "arrives") {
		w.deliver(t, 0)
	}
	w.write(w.present().withoutPods(func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }))
	if w.present().at == nil {
		w.createAt(t)
	}
	if w.present().at.Spec.Suspend {
		w.suspend(t)
	}
	w.refusals = rapid.IntRange(0, 2).Draw(t, "refused holds")
	w.runFor(t, 0)
	w.sync(t)
	w.prune(renderedPod(w.present().at.Spec, w.renderer, w.wall()).Name)
	w.runFor(t, 0)
	mustStart := w.mayStart()
	w.refusals = rapid.IntRange(0, 2).Draw(t, "refusals")
	w.runFor(t, max(due.Add(time.Minute).Sub(w.wall()), 2*lookAgain))
	at := w.present().at
	if digest := kindat.Digest(at.Spec); mustStart && w.present().starts[digest] == "" {
		t.Fatalf("no controller starts the At: %s", describeStatus(at.Status))
	}
	if mustStart { // without a leader, too
		w.endCommands(t)
	}
	if !hasLeader {
		for _, c := range []*simulatedController{w.controllers[0], w.controllers[replicas]} {
			c.elected = true
			c.queued = true
		}
		w.runFor(t, 2*lookAgain)
		at = w.present().at
	}
	if at.Status.Phase != cnatv1alpha1.AtRunning && at.Status.Phase != cnatv1alpha1.AtDone {
		t.Fatalf("the At neither started nor is done: %s", describeStatus(at.Status))
	}
	w.endCommands(t)
	for len(w.late) > 0 {
		w.deliver(t, 0)
	}
	w.runFor(t, 2*lookAgain)
	w.checkDone(t)
}

// endCommands ends all commands, and asserts that the At is done.
func (w *world) endCommands(t *rapid.T) {
	for _, pod := range w.present().pods {
		if hasNotEnded(pod) {
			w.write(w.present().withPod(pod, func(pod *corev1.Pod) {
				terminated := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(w.wall())}}
				pod.Status.Phase = corev1.PodSucceeded
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: kindat.CommandContainer, State: terminated}}
			}))
		}
	}
	w.runFor(t, 2*lookAgain)
	w.checkDone(t)
}

func (w *world) checkDone(t *rapid.T) {
	if at := w.present().at; at.Status.Phase != cnatv1alpha1.AtDone || at.Status.ObservedGeneration != at.Generation {
		t.Fatalf("the Pod ended, but the At is not done: %s", describeStatus(at.Status))
	}
}

// mayStart reports whether nothing in the past keeps the current spec from starting.
func (w *world) mayStart() bool {
	digest := kindat.Digest(w.present().at.Spec)
	for _, c := range w.past {
		if isRecorded(c.at, digest) || c.at != nil && (c.at.Status.Phase == cnatv1alpha1.AtDone || c.at.Status.ForgottenTime != nil) {
			return false
		}
		for _, pod := range c.pods {
			if digestOfPod(pod) == digest && !isGated(pod) {
				return false
			}
		}
	}
	// After the clock was set back, a status may look as if it were from a backup.
	return w.present().at.Spec.StartingDeadlineSeconds == nil && !w.wasSetBack
}

// runFor lets time pass with current caches, and reconciles as events, errors and results demand.
func (w *world) runFor(t *rapid.T, d time.Duration) {
	for end := w.elapsed + d; ; {
		w.quiesce(t)
		var next time.Duration
		for _, c := range w.controllers {
			if c.wake != 0 && (next == 0 || c.wake < next) {
				next = c.wake
			}
		}
		if next == 0 || next > end {
			w.elapsed = max(w.elapsed, end)
			return
		}
		w.elapsed = max(w.elapsed, next)
	}
}

// quiesce reconciles until all queues are empty.
func (w *world) quiesce(t *rapid.T) {
	for range 30 {
		isQuiet := true
		for _, c := range w.controllers {
			w.show(c, len(w.past)-1, len(w.past)-1)
			if !c.queued && (c.wake == 0 || c.wake > w.elapsed) {
				continue
			}
			isQuiet = false
			w.start(t, c)
			w.finish(t, c)
		}
		if isQuiet {
			w.checkReady(t)
			w.checkHeld(t)
			return
		}
	}
	t.Fatalf("the queues never empty: %s", describeStatus(w.present().at.Status))
}

// checkHeld asserts that a recorded start that must not happen is taken back, or at least its Pod held:
// without a leader, too. No cache shows the Pods of another manager.
func (w *world) checkHeld(t *rapid.T) {
	c := w.present()
	pod := c.recordedPod()
	if pod == nil || w.podsUnseen || c.unheld[pod.UID] != "" || c.recordedStart(pod.UID) != c.record[c.at.UID] {
		return
	}
	if c.at.Spec.Suspend || digestOfPod(pod) != kindat.Digest(c.at.Spec) {
		t.Fatalf("Pod %s is not held: %s", pod.UID, describeStatus(c.at.Status))
	}
}

// checkReady asserts that a late At is not ready. After a conflict it may be, until its leader looks
// again.
func (w *world) checkReady(t *rapid.T) {
	at := w.present().at
	leader := w.controllers[0]
	if !leader.elected || leader.wake > 0 && leader.wake <= w.elapsed+lookAgain {
		return
	}
	isLate := !w.wall().Before(scheduleOf(at).Add(time.Second)) && at.Status.Phase != cnatv1alpha1.AtDone && !at.Spec.Suspend
	isStarted := slices.ContainsFunc(w.present().pods, func(pod *corev1.Pod) bool { return !isGated(pod) })
	if ready := condition.FindReady(at.Status.Conditions); isLate && !isStarted && ready.Status == metav1.ConditionTrue {
		t.Fatalf("at %s the late At is ready: %s", w.wall(), describeStatus(at.Status))
	}
}
