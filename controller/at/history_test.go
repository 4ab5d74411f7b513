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

// A failure prints the seed to repeat it with; -rapid.checks and -rapid.steps, on
// the command line, go further.
func init() {
	ctrllog.SetLogger(logr.Discard())
	for name, value := range map[string]string{"rapid.checks": "10000", "rapid.steps": "100", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// TestHistories drives three controllers through random histories of edits, syncs,
// deletions, restarts, caches of any age, requests that get lost, arrive at any later time
// or are refused, elections, and a clock that steps. It asserts what history and checkStatus
// judge of every write, who starts an At, and that every At ends where it should once the
// noise is over.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer w.stop()
		t.Repeat(w.drawActions(t))
		w.settle(t)
	})
}

// drawActions returns what happens in one history: all that controllers do, and half of
// what others do, so that few things happen often.
func (w *world) drawActions(t *rapid.T) map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"":                       func(*rapid.T) {},
		"time passes":            w.passTime,
		"sync":                   w.sync,
		"reconcile":              w.reconcileAny,
		"reconcile the present":  w.reconcilePresent,
		"reconcile at one go":    w.reconcileAtOnce,
		"a request goes on":      w.proceedAny,
		"one more goes on":       w.proceedAny,
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
		{"pose", w.pose},
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

// world is a cluster with its past, three controllers, and everybody else.
type world struct {
	past        []cluster     // the last is the present
	elapsed     time.Duration // since the start
	step        time.Duration // by which the wall clock was set
	wasSetBack  bool
	together    int // how many Ats are due in one second
	controllers []*simulatedController
	late        []*request // sent by who waits for them no more
	specs       []cnatv1alpha1.AtSpec
	renderer    int  // version
	refusals    int  // how many writes of Pods admission refuses after the noise
	unseen      bool // no cache ever shows a Pod: those say what the At says, that something else manages them
}

// simulatedController is a controller and what its queue knows.
type simulatedController struct {
	replica
	opens    bool
	clock    *setup.Clock
	elapsed  func() time.Duration
	at, pods int // the clusters that its caches show
	run      *run
	looked   replica       // what it was when its run looked around
	troubled bool          // its run got an error as an answer
	queued   bool          // something happened since its last Reconcile began
	wake     time.Duration // when to reconcile again; zero for never
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
	w.controllers[0].elected, w.controllers[replicas].elected = true, true
	w.unseen = rapid.IntRange(0, 3).Draw(t, "Pods are unseen") == 3
	w.together = rapid.SampledFrom([]int{1, 1000}).Draw(t, "due together")
	w.createAt(t)
	if rapid.IntRange(0, 3).Draw(t, "long life") == 3 {
		w.liveLong(t)
	}
	return w
}

// replicas is how many processes there are, each of a Reconciler and an Opener.
const replicas = 3

// newController returns a controller of a process whose timers run fast or slow.
func (w *world) newController(t *rapid.T) *simulatedController {
	c := &simulatedController{replica: replica{fresh: true}}
	started, drift := w.elapsed, time.Duration(rapid.Int64Range(-5000, 5000).Draw(t, "drift"))
	c.elapsed = func() time.Duration { return (w.elapsed - started) * (1e9 + 1000*drift/100) / 1e9 }
	c.clock = &setup.Clock{Elapsed: c.elapsed}
	return c
}

// tellTime has an answer of the API server tell a controller the second.
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

func (w *world) now() cluster { return w.past[len(w.past)-1] }

func (w *world) wall() time.Time { return due.Add(w.elapsed + w.step) }

func (w *world) write(c cluster) { w.past = append(w.past, c) }

// What people do.

var offsets = []time.Duration{10 * time.Second, 20 * time.Second, 20*time.Second + 1500*time.Microsecond}

func drawSpec(t *rapid.T) cnatv1alpha1.AtSpec {
	return simulatedSpec(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "command"), due.Add(rapid.SampledFrom(offsets).Draw(t, "due")))
}

func (w *world) createAt(t *rapid.T) {
	if w.now().at != nil {
		t.Skip()
	}
	at := simulatedAt(drawSpec(t), w.wall())
	if w.unseen {
		at.Labels = map[string]string{kind.ManagedByLabel: "Helm"}
	}
	w.specs = append(w.specs, at.Spec)
	w.write(w.now().withAt(at))
}

// liveLong gives an At the status of one that ran about as many specs as a status names.
func (w *world) liveLong(t *rapid.T) {
	c, at := w.now(), *w.now().at
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
	if w.now().at == nil {
		t.Skip()
	}
	w.write(w.now().withSpec(change))
	w.specs = append(w.specs, w.now().at.Spec)
}

func (w *world) edit(t *rapid.T) {
	w.change(t, func(spec *cnatv1alpha1.AtSpec) {
		next := drawSpec(t)
		spec.Schedule, spec.Command = next.Schedule, next.Command
	})
}

// revert brings back an earlier spec.
func (w *world) revert(t *rapid.T) {
	w.change(t, func(spec *cnatv1alpha1.AtSpec) {
		earlier := rapid.SampledFrom(w.specs).Draw(t, "spec")
		spec.Schedule, spec.Command = earlier.Schedule, earlier.Command
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
	if w.now().at == nil || !rapid.Bool().Draw(t, "really") {
		t.Skip()
	}
	w.write(w.now().withoutAt())
}

// What a GitOps tool, a kubelet and a clock do.

// sync creates the Pod of the current spec where it is not, and may prune the others.
func (w *world) sync(t *rapid.T) {
	at := w.now().at
	if at == nil {
		t.Skip()
	}
	pod := renderedPod(at.Spec, w.renderer, w.wall())
	if w.now().pod(pod.Name) == nil {
		w.write(w.now().withNewPod(pod))
	}
	if rapid.Bool().Draw(t, "prune") {
		w.prune(pod.Name)
	}
}

func (w *world) prune(kept string) {
	w.write(w.now().withoutPods(func(pod *corev1.Pod) bool { return pod.Name != kept }))
}

func (w *world) upgradeRenderer(t *rapid.T) { w.renderer++; w.sync(t) }

// createPod creates the Pod of any spec that there was, as any renderer made it.
func (w *world) createPod(t *rapid.T) {
	spec := rapid.SampledFrom(w.specs).Draw(t, "spec")
	pod := renderedPod(spec, rapid.IntRange(0, w.renderer).Draw(t, "renderer"), w.wall())
	if w.now().pod(pod.Name) != nil {
		t.Skip()
	}
	w.admit(t, pod)
}

// pose creates a Pod that has the label and the digest of the At and was not rendered
// from it.
func (w *world) pose(t *rapid.T) {
	at := w.now().at
	if at == nil {
		t.Skip()
	}
	pod := renderedPod(at.Spec, 0, w.wall())
	pod.Name = fmt.Sprintf("at-%010x", len(w.past))
	rapid.SampledFrom([]func(*corev1.Pod){owned, generated, named(fmt.Sprint(foreignName, len(w.past)))}).Draw(t, "pose")(pod)
	w.admit(t, pod)
}

// admit creates a Pod, and without its gate where nothing forbids it.
func (w *world) admit(t *rapid.T, pod *corev1.Pod) {
	if !w.now().hasPolicy && rapid.Bool().Draw(t, "open") {
		open(pod)
	}
	w.write(w.now().withNewPod(pod))
}

func (w *world) drawPod(t *rapid.T, matches func(*corev1.Pod) bool) *corev1.Pod {
	var matching []*corev1.Pod
	for _, pod := range w.now().pods {
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
	w.write(w.now().withoutPods(func(pod *corev1.Pod) bool { return pod == deleted }))
}

// deletePodLater deletes a Pod that has a finalizer.
func (w *world) deletePodLater(t *rapid.T) {
	pod := w.drawPod(t, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil })
	w.write(w.now().withPod(pod, func(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.wall())) }))
}

// openPod opens a Pod as nobody but the controller should.
func (w *world) openPod(t *rapid.T) {
	if w.now().hasPolicy {
		t.Skip()
	}
	w.write(w.now().withPod(w.drawPod(t, isGated), open))
}

func hasNotEnded(pod *corev1.Pod) bool { return !isGated(pod) && pod.Status.Phase == "" }

func (w *world) endCommand(t *rapid.T) {
	phase := rapid.SampledFrom([]corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "end")
	w.write(w.now().withPod(w.drawPod(t, hasNotEnded), func(pod *corev1.Pod) { pod.Status.Phase = phase }))
}

// passTime lets any time pass, or until something is due or too late.
func (w *world) passTime(t *rapid.T) {
	steps := []time.Duration{time.Duration(rapid.Int64Range(1, int64(8*time.Second)).Draw(t, "time"))}
	if at := w.now().at; at != nil {
		until := scheduleOf(at).Sub(w.wall())
		steps = append(steps, until-10*time.Millisecond, until, until+standbyDelay)
		if seconds := at.Spec.StartingDeadlineSeconds; seconds != nil {
			steps = append(steps, until+time.Duration(*seconds)*time.Second+1)
		}
	}
	steps = slices.DeleteFunc(steps, func(step time.Duration) bool { return step <= 0 })
	w.elapsed += rapid.SampledFrom(steps).Draw(t, "step")
}

// setClock sets the clock. Where it is set forward every controller looks at every At.
func (w *world) setClock(t *rapid.T) {
	by := time.Duration(rapid.Int64Range(int64(-15*time.Second), int64(15*time.Second)).Draw(t, "step"))
	w.step += by
	w.wasSetBack = w.wasSetBack || by < 0
	for _, c := range w.controllers {
		c.queued = c.queued || by > clockTolerance
	}
}

// What happens to the controllers.

func (w *world) drawController(t *rapid.T) *simulatedController {
	return rapid.SampledFrom(w.controllers).Draw(t, "controller")
}

func (w *world) catchUp(t *rapid.T) {
	c := w.drawController(t)
	w.show(c, w.drawLater(t, "At", c.at), w.drawLater(t, "Pods", c.pods))
}

// drawLater returns what a cache may show next: what it shows, the present, or anything
// between them.
func (w *world) drawLater(t *rapid.T, cache string, shown int) int {
	present := len(w.past) - 1
	return rapid.OneOf(rapid.Just(shown), rapid.Just(present), rapid.IntRange(shown, present)).Draw(t, cache)
}

// show has the caches of a controller show other clusters.
func (w *world) show(c *simulatedController, at, pods int) {
	c.queued = c.queued || w.past[at].at != w.past[c.at].at || !w.unseen && !slices.Equal(w.past[pods].pods, w.past[c.pods].pods)
	c.at, c.pods = at, pods
}

// restart ends a controller and starts another; what it lists first may be old.
func (w *world) restart(t *rapid.T) {
	c := w.drawController(t)
	if c.run != nil {
		w.abandon(t, c)
	}
	next := w.newController(t)
	next.opens, next.queued = c.opens, true
	next.replica = replica{elected: rapid.Bool().Draw(t, "elected"), fresh: rapid.Bool().Draw(t, "fresh")}
	next.at, next.pods = rapid.IntRange(0, len(w.past)-1).Draw(t, "At"), rapid.IntRange(0, len(w.past)-1).Draw(t, "Pods")
	*c = *next
}

// renewLease renews a lease, or leaves it to run out.
func (w *world) renewLease(t *rapid.T) {
	c := w.drawController(t)
	c.fresh, c.queued = !c.fresh, true // it looks again a second later, in truth
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

// reconcileAtOnce reconciles the present, and nothing happens meanwhile.
func (w *world) reconcileAtOnce(t *rapid.T) {
	c := w.drawController(t)
	w.finish(t, c)
	w.show(c, len(w.past)-1, len(w.past)-1)
	w.start(t, c)
	w.finish(t, c)
}

// start starts a Reconcile, up to its first request.
func (w *world) start(t *rapid.T, c *simulatedController) {
	c.queued, c.wake = false, 0
	at, pods := w.past[c.at].at, w.past[c.pods].pods
	if at == nil {
		return
	}
	if w.unseen {
		pods = nil
	}
	w.tellTime(c)
	c.run, c.troubled = startRun(at, pods, &c.replica, c.opens), false
	w.goOn(t, c)
}

// goOn lets a run look around where it wants to, and judges what it asks next.
func (w *world) goOn(t *rapid.T, c *simulatedController) {
	for c.run.request != nil && c.run.request.verb == look {
		c.looked = c.replica
		c.run.proceed(answer{surroundings: surroundings{now: c.clock.Now(), together: w.together}})
	}
	q := c.run.request
	if q == nil {
		w.end(t, c)
		return
	}
	by := c.replica
	switch {
	case q.verb == apply && c.starts(q):
		by = c.looked // a lease that runs out later holds up the opening
	case q.verb != openGate:
		return
	}
	isLate := !q.from.Now().Before(scheduleOf(q.from.at).Add(standbyDelay))
	switch {
	case by.elected && !by.fresh:
		t.Fatalf("a leader whose lease has run out asks to %s", q)
	case !by.elected && !isLate:
		t.Fatalf("a replica that stands by asks to %s at %s", q, q.from.Now())
	}
}

// starts reports whether a status puts the start of a Pod on record that was seen gated.
func (c *simulatedController) starts(q *request) bool {
	return recordsStart(q.from.at.Status, *q.status) && q.status.Phase == cnatv1alpha1.AtRunning &&
		slices.ContainsFunc(q.from.read, func(pod corev1.Pod) bool { return pod.UID == q.status.Run.PodUID && isGated(&pod) })
}

// end does what follows from what a Reconcile returns.
func (w *world) end(t *rapid.T, c *simulatedController) {
	run := c.run
	c.run = nil
	switch {
	case run.err != nil && !c.troubled:
		t.Fatalf("reconcile: %v", run.err)
	case run.err != nil:
		c.queued = true
	case run.result.RequeueAfter > 0:
		c.wake = w.elapsed + run.result.RequeueAfter
	}
}

// proceedAny takes a run one step on, in one of the ways in which a request may go.
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
		pod := w.now().pod(q.name)
		if pod == nil || !q.matches(pod.UID, pod.ResourceVersion) {
			w.proceed(t, c, w.serve(t, q))
			return
		}
		w.write(w.now().withRefusal(q))
		c.troubled = true
		w.proceed(t, c, answer{pod: pod})
	case "stripped":
		c.troubled = true
		stripped := *q
		stripped.status = ptr.To(withoutStart(*q.status))
		a := answer{}
		if !status.Equal(w.now().statusOfAt(), *stripped.status) {
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

// refuse has admission refuse what a run asks.
func (w *world) refuse(t *rapid.T, c *simulatedController) {
	w.write(w.now().withRefusal(c.run.request))
	w.fail(t, c, rapid.SampledFrom(refusals).Draw(t, "refusal"))
}

// abandonRequest leaves a write to arrive at any later time, or never.
func (w *world) abandonRequest(q *request) {
	if q.isWrite() {
		w.late = append(w.late, q)
	}
}

// abandon ends a run whose request may still arrive.
func (w *world) abandon(_ *rapid.T, c *simulatedController) {
	w.abandonRequest(c.run.request)
	c.run.stop()
	c.run, c.queued = nil, true
}

// serve has the API server do what is asked.
func (w *world) serve(t *rapid.T, q *request) answer {
	before := w.now()
	c, a, err := before.serve(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %v", q, a.err)
	if q.isWrite() {
		w.write(c)
	}
	return a
}

func (w *world) proceed(t *rapid.T, c *simulatedController, a answer) {
	c.troubled = c.troubled || a.err != nil
	c.run.proceed(a)
	w.goOn(t, c)
}

func (w *world) fail(t *rapid.T, c *simulatedController, err error) {
	w.proceed(t, c, answer{err: err})
}

// deliverAny has a request arrive that nobody waits for.
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
			w.refuse(t, c)
			continue
		}
		w.proceed(t, c, w.serve(t, c.run.request))
	}
}

// settle ends the noise, and asserts that the At goes where it should.
func (w *world) settle(t *rapid.T) {
	// Of Pods that nobody sees only a leader finds another one.
	hasLeader := w.unseen || rapid.IntRange(0, 3).Draw(t, "leader") > 0
	for i, c := range w.controllers {
		w.finish(t, c)
		isFirst := i%replicas == 0
		c.queued = c.queued || isFirst && !c.elected || !c.fresh // a second later, in truth
		c.elected, c.fresh = isFirst && hasLeader, true
	}
	for len(w.late) > 0 && rapid.Bool().Draw(t, "arrives") {
		w.deliver(t, 0)
	}
	w.write(w.now().withoutPods(func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }))
	if w.now().at == nil {
		w.createAt(t)
	}
	if w.now().at.Spec.Suspend {
		w.suspend(t)
	}
	w.runFor(t, 0)
	w.sync(t)
	w.prune(renderedPod(w.now().at.Spec, w.renderer, w.wall()).Name)
	w.runFor(t, 0)
	mustStart := w.mayStart()
	w.refusals = rapid.IntRange(0, 2).Draw(t, "refusals")
	w.runFor(t, max(due.Add(time.Minute).Sub(w.wall()), 2*lookAgain))
	at := w.now().at
	if digest := kindat.Digest(at.Spec); mustStart && w.now().starts[digest] == "" {
		t.Fatalf("nobody starts the At: %s", describeStatus(at.Status))
	}
	if !hasLeader {
		for _, c := range []*simulatedController{w.controllers[0], w.controllers[replicas]} {
			c.elected, c.queued = true, true
		}
		w.runFor(t, 2*lookAgain)
		at = w.now().at
	}
	if at.Status.Phase != cnatv1alpha1.AtRunning && at.Status.Phase != cnatv1alpha1.AtDone {
		t.Fatalf("in the end: %s", describeStatus(at.Status))
	}
	for _, pod := range w.now().pods {
		if hasNotEnded(pod) {
			w.write(w.now().withPod(pod, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }))
		}
	}
	w.runFor(t, 2*lookAgain)
	w.checkDone(t)
	for len(w.late) > 0 {
		w.deliver(t, 0)
	}
	w.runFor(t, 2*lookAgain)
	w.checkDone(t)
}

func (w *world) checkDone(t *rapid.T) {
	if at := w.now().at; at.Status.Phase != cnatv1alpha1.AtDone || at.Status.ObservedGeneration != at.Generation {
		t.Fatalf("the Pod ended, but: %s", describeStatus(at.Status))
	}
}

// mayStart reports whether nothing ever kept the At from starting.
func (w *world) mayStart() bool {
	digest := kindat.Digest(w.now().at.Spec)
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
	// Where the clock is set back, a status may look like one from a backup.
	return w.now().at.Spec.StartingDeadlineSeconds == nil && !w.wasSetBack
}

// runFor has caches show the present, and reconciles as events, errors and results ask
// for, until nothing is to be done for a time.
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

// quiesce reconciles whatever is queued until nothing is.
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
			return
		}
	}
	t.Fatalf("it never settles: %s", describeStatus(w.now().at.Status))
}

// checkReady asserts that no At that is late says that there is nothing to wait for, unless
// its leader is about to look again, as after a conflict.
func (w *world) checkReady(t *rapid.T) {
	at, leader := w.now().at, w.controllers[0]
	if !leader.elected || leader.wake > 0 && leader.wake <= w.elapsed+lookAgain {
		return
	}
	isLate := !w.wall().Before(scheduleOf(at).Add(time.Second)) && at.Status.Phase != cnatv1alpha1.AtDone && !at.Spec.Suspend
	isStarted := slices.ContainsFunc(w.now().pods, func(pod *corev1.Pod) bool { return !isGated(pod) })
	if ready := condition.FindReady(at.Status.Conditions); isLate && !isStarted && ready.Status == metav1.ConditionTrue {
		t.Fatalf("at %s the At is late and ready: %s", w.wall(), describeStatus(at.Status))
	}
}
