package at

import (
	"encoding/json"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

var exploreSteps = flag.Int("explore.steps", 6, "number of steps in the histories that TestNoShortHistoryRunsTwice explores")

// TestNoShortHistoryRunsTwice explores all histories up to a number of steps, and judges every write. A step is one
// edit, sync or deletion, the instant when Ats become due, or one request that the API server serves.
//
// A history may begin a Reconcile at any step. Its caches show any past At and Pods, and its clock shows
// any past instant. A run may stop for good, or pause between two requests for any time. So late
// requests, lost requests and lost answers need no steps of their own. Two runs are under way at a time,
// beside any number of runs whose first request is late. A write of a Pod may also be refused, or get no
// answer in time, served or not.
//
// A state is the content of the cluster, its past, and the progress of each run. Each state is explored
// once, and a run is executed once for each sequence of answers.
//
// From a new and from an armed At, 6 steps lead to 62,000 states and 315,000 transitions with the policy,
// and to 88,000 and 397,000 without it. That takes 21 seconds on one core; each further step multiplies
// it by six.
func TestNoShortHistoryRunsTwice(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for name, hasPolicy := range map[string]bool{"with the policy": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			e := newExplorer(hasPolicy)
			for step := 1; step <= *exploreSteps; step++ {
				e.step()
				t.Logf("%d steps: %d states, %d transitions, %d clusters, %d runs", step, len(e.states), e.transitions, len(e.clusters), len(e.nodes))
				if e.broken != "" {
					t.Fatal(e.broken)
				}
			}
		})
	}
}

// instants are shortly before an At is due, and when it is due. The early one records the start only if
// many Ats are due together.
var instants = []surroundings{
	{now: due.Add(-5 * time.Second), together: 1},
	{now: due.Add(-5 * time.Second), together: 1000},
	{now: due, together: 1},
}

// clocks are the numbers of past instants, before an At is due and after.
var clocks = []int{2, 3}

const maxRuns = 2

// explorer explores states breadth first. Clusters, runs and sets are numbered, so that a state is a few
// numbers.
type explorer struct {
	clusters []numberedCluster
	numbers  map[string]int32 // of clusters, Ats and lists of Pods, by content
	ats      []*cnatv1alpha1.At
	pods     [][]*corev1.Pod

	nodes []*node
	roots map[root]int32
	// served maps a cluster and a node to the effect of the node's request. changed maps a cluster to
	// the effects of all changes that are not a controller's.
	served  map[[2]int32]effect
	changed map[int32][]effect

	sets             [][]int32
	setSums          map[string]int32
	unions, relevant map[[2]int32]int32

	labels      []string // of steps
	becomesDue  int32
	visited     map[state]struct{}
	states      []arrival
	explored    int // number of states with all transitions explored
	transitions int
	broken      string
}

// numberedCluster is a cluster with the numbers of its At and Pods.
type numberedCluster struct {
	cluster
	at, pods int32
}

// root is the beginning of a run of a Reconciler or an Opener, with the At and Pods in its caches.
type root struct {
	at, pods int32
	opens    bool
}

// node is a run at one of its requests. Its root and answers determine it.
type node struct {
	root
	answers []answer
	request *request
	next    map[string]int32 // by the answer; noRun if the run ends

	hasWritten bool // one of its writes was served
}

const noRun = int32(-1)

// effect is the result of a step: the next cluster, and the next node of the run.
type effect struct {
	cluster, node int32
	label         int32 // index in labels
	broken        string
}

// state is a state of a history. Ats and Pods are the sets that caches may show.
type state struct {
	cluster, ats, pods int32
	runs               [maxRuns]int32 // greatest first; noRun for a free place
	clock              int8
}

// arrival is a state with the step that first led to it.
type arrival struct {
	state
	from, label int32
}

func newExplorer(hasPolicy bool) *explorer {
	e := &explorer{
		numbers: map[string]int32{}, roots: map[root]int32{}, served: map[[2]int32]effect{},
		changed: map[int32][]effect{}, setSums: map[string]int32{}, unions: map[[2]int32]int32{}, relevant: map[[2]int32]int32{}, visited: map[state]struct{}{},
	}
	e.becomesDue = e.addLabel("the At becomes due")
	c := cluster{hasPolicy: hasPolicy}.withAt(simulatedAt(specs[0], due.Add(-time.Hour)))
	start := state{cluster: e.clusterNumber(c), ats: e.setNumber(nil), pods: e.setNumber(nil)}
	for i := range start.runs {
		start.runs[i] = noRun
	}
	e.addState(start, effect{cluster: start.cluster, label: e.addLabel("an At is created")}, -1)
	e.arm(c)
	return e
}

// arm adds a state with an armed At, so that histories begin there, too.
func (e *explorer) arm(c cluster) {
	s := e.states[0].state
	c = c.withNewPod(renderedPod(specs[0], 0, due.Add(-time.Hour)))
	s = e.addState(s, effect{cluster: e.clusterNumber(c), label: e.addLabel("its Pod is created")}, 0)
	n := e.rootNode(root{at: e.clusters[s.cluster].at, pods: e.clusters[s.cluster].pods})
	e.addState(s, e.serve(s.cluster, e.proceed(n, "look 0", answer{surroundings: instants[0]})), 1)
	e.transitions = 0
}

// step explores the transitions of every state that the last step reached.
func (e *explorer) step() {
	for end := len(e.states); e.explored < end && e.broken == ""; e.explored++ {
		e.expand(int32(e.explored))
	}
}

func (e *explorer) expand(from int32) {
	s := e.states[from].state
	for _, o := range e.changes(s.cluster) {
		e.addState(s, o, from)
	}
	if int(s.clock) < len(clocks)-1 {
		next := s
		next.clock++
		e.addState(next, effect{cluster: s.cluster, label: e.becomesDue}, from)
	}
	for i, n := range s.runs {
		if n == noRun {
			continue
		}
		rest := s
		rest.runs[i] = noRun
		e.sendRequest(rest, n, from)
	}
	for _, at := range e.sets[s.ats] {
		for _, pods := range e.sets[s.pods] {
			e.sendRequest(s, e.rootNode(root{at: at, pods: pods}), from)
			e.sendRequest(s, e.rootNode(root{at: at, pods: pods, opens: true}), from)
		}
	}
}

// sendRequest explores the request of a run. If the run looks around first, it does so at every instant.
func (e *explorer) sendRequest(s state, n, from int32) {
	if n == noRun {
		return
	}
	if q := e.nodes[n].request; q.verb == look {
		for i := range clocks[s.clock] {
			e.sendRequest(s, e.proceed(n, fmt.Sprint("look ", i), answer{surroundings: instants[i]}), from)
		}
		return
	}
	if n = e.skipFailing(s.cluster, s.ats, n); n == noRun {
		return
	}
	if q := e.nodes[n].request; q.verb == openGate || q.verb == hold {
		e.failWrite(s, n, from)
	}
	o := e.serve(s.cluster, n)
	o.node = e.skipFailing(o.cluster, e.relevantAts(o.cluster, s.ats), o.node)
	if o.node == noRun && o.cluster == s.cluster && o.broken == "" {
		e.transitions++
		return
	}
	e.placeRun(s, o, from)
}

// failWrite explores the failures of a write of a Pod. It is refused, or gets no answer in time: it was
// served, or is in flight and may be served later.
func (e *explorer) failWrite(s state, n, from int32) {
	q := e.nodes[n].request
	refused := effect{cluster: e.clusterNumber(e.clusters[s.cluster].withRefusal(q)), label: e.addLabel(q.String() + ": refused")}
	refused.node = e.proceed(n, "refused", answer{err: refusals[0]})
	e.placeRun(s, refused, from)
	ended := e.proceed(n, "timeout", answer{err: errTimeout})
	lost := e.serve(s.cluster, n)
	lost.node = ended
	lost.label = e.addLabel(q.String() + ": served, and its answer is lost")
	e.placeRun(s, lost, from)
	if ended != noRun {
		s.runs = [maxRuns]int32{n, ended}
		e.addState(s, effect{cluster: s.cluster, label: e.addLabel(q.String() + ": in flight")}, from)
	}
}

// placeRun adds the states that result if a run continues beside the others.
func (e *explorer) placeRun(s state, o effect, from int32) {
	isPlaced := o.node == noRun
	for i := range s.runs {
		if s.runs[i] == noRun && !isPlaced {
			next := s
			next.runs[i] = o.node
			isPlaced = true
			e.addState(next, o, from)
		}
	}
	if !isPlaced { // it replaces a run that never continues
		for i := range s.runs {
			next := s
			next.runs[i] = o.node
			e.addState(next, o, from)
		}
	}
	if o.node == noRun || !isPlaced {
		e.addState(s, o, from)
	}
}

// addState adds the state that an effect leads to.
func (e *explorer) addState(s state, o effect, from int32) state {
	e.transitions++
	s.cluster = o.cluster
	s.ats = e.relevantAts(s.cluster, s.ats)
	s.pods = e.addElement(s.pods, e.clusters[s.cluster].pods)
	for i := range s.runs {
		s.runs[i] = e.skipFailing(s.cluster, s.ats, s.runs[i])
	}
	slices.SortFunc(s.runs[:], func(a, b int32) int { return int(b - a) })
	if _, ok := e.visited[s]; ok && o.broken == "" {
		return s
	}
	e.visited[s] = struct{}{}
	e.states = append(e.states, arrival{state: s, from: from, label: o.label})
	if o.broken != "" && e.broken == "" {
		e.broken = o.broken + " by these steps:" + e.trace(int32(len(e.states)-1))
	}
	return s
}

// addLabel adds the label of a step, and returns its index.
func (e *explorer) addLabel(text string) int32 {
	e.labels = append(e.labels, text)
	return int32(len(e.labels) - 1)
}

// skipFailing serves the writes of a run that can only fail, and returns the run at its next other
// request. Such a write fails at any time alike, as its version is gone forever, so it is no step of its
// own. A run without writes ends here if no cache may show its At any longer.
func (e *explorer) skipFailing(in, ats, n int32) int32 {
	for n != noRun && e.broken == "" && e.canOnlyFail(in, n) {
		o := e.serve(in, n)
		for o.node != noRun && !e.nodes[o.node].request.isWrite() {
			o = e.serve(in, o.node)
		}
		n = o.node
	}
	if n != noRun && !e.nodes[n].hasWritten {
		if _, isAlive := slices.BinarySearch(e.sets[ats], e.nodes[n].at); !isAlive {
			return noRun
		}
	}
	return n
}

// canOnlyFail reports whether the next request of a run is a write that can only fail.
func (e *explorer) canOnlyFail(in, n int32) bool {
	c := &e.clusters[in]
	q := e.nodes[n].request
	switch {
	case !q.isWrite():
		return false
	case q.verb == apply:
		return c.cluster.at == nil || !q.matches(c.cluster.at.UID, c.cluster.at.ResourceVersion)
	default:
		pod := c.pod(q.name)
		return pod == nil || !q.matches(pod.UID, pod.ResourceVersion)
	}
}

// relevantAts returns the Ats that caches may show and that matter: the current one, and each with the
// recorded start of an existing Pod. All writes for other Ats fail, as checkFirst asserts.
func (e *explorer) relevantAts(in, set int32) int32 {
	c := &e.clusters[in]
	key := [2]int32{in, set}
	if n, ok := e.relevant[key]; ok {
		return n
	}
	kept := slices.DeleteFunc(slices.Clone(e.sets[set]), func(at int32) bool {
		run := e.ats[at].Status.Run
		return run == nil || !isClaimed(*run) || !slices.ContainsFunc(c.cluster.pods, func(pod *corev1.Pod) bool { return pod.UID == run.PodUID })
	})
	n := e.setNumber(kept)
	if c.at != noRun {
		n = e.addElement(n, c.at)
	}
	e.relevant[key] = n
	return n
}

// checkFirst asserts that the first write of a run is for the At in its cache, or for the Pod of that
// At's recorded start.
func (e *explorer) checkFirst(n *node) {
	if n.hasWritten {
		return
	}
	at := e.ats[n.at]
	q := n.request
	run := at.Status.Run
	if q.verb == apply && q.matches(at.UID, at.ResourceVersion) && q.version != "" || q.verb != apply && run != nil && isClaimed(*run) && q.uid == run.PodUID {
		return
	}
	if e.broken == "" {
		e.broken = fmt.Sprintf("the first request of a controller that saw %s and %s: %s", describeAt(at), describePods(e.pods[n.pods]), q)
	}
}

// trace lists the steps that lead to a state.
func (e *explorer) trace(i int32) string {
	var steps []string
	for ; i >= 0; i = e.states[i].from {
		steps = append(steps, "\n  "+e.labels[e.states[i].label])
	}
	slices.Reverse(steps)
	return strings.Join(steps, "")
}

// serve has a cluster serve the request of a node.
func (e *explorer) serve(in, n int32) effect {
	key := [2]int32{in, n}
	if o, ok := e.served[key]; ok {
		return o
	}
	q := e.nodes[n].request
	c, a, err := e.clusters[in].serve(q)
	o := effect{cluster: in, node: noRun}
	if q.isWrite() && a.err == nil {
		o.cluster = e.clusterNumber(c)
	}
	o.label = e.addLabel(fmt.Sprintf("a controller that saw %s and %s: %s: %v", describeAt(q.from.at), describePods(q.from.pods), q, a.err))
	if err != nil {
		o.broken = err.Error()
	} else {
		o.node = e.proceed(n, e.answerKey(a), a)
	}
	e.served[key] = o
	return o
}

// answerKey distinguishes the answers to one request.
func (e *explorer) answerKey(a answer) string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.at != nil:
		return fmt.Sprint(a.at.ResourceVersion, " ", a.at.Generation)
	case a.pod != nil:
		return e.content(a.pod)
	default:
		return a.version
	}
}

// rootNode returns the node of a root.
func (e *explorer) rootNode(r root) int32 {
	n, ok := e.roots[r]
	if !ok {
		n = e.newNode(&node{root: r})
		e.roots[r] = n
	}
	return n
}

// proceed returns the node that follows by an answer.
func (e *explorer) proceed(n int32, key string, a answer) int32 {
	before := e.nodes[n]
	next, ok := before.next[key]
	if !ok {
		next = e.newNode(&node{root: before.root, answers: append(slices.Clone(before.answers), a),
			hasWritten: before.hasWritten || before.request.isWrite() && a.err == nil,
		})
		if before.next == nil {
			before.next = map[string]int32{}
		}
		before.next[key] = next
	}
	return next
}

// newNode runs a Reconcile from its beginning to the request after the last answer.
func (e *explorer) newNode(n *node) int32 {
	r := startRun(e.ats[n.at], e.pods[n.pods], &replica{elected: true, fresh: true}, n.opens)
	defer r.stop()
	for _, a := range n.answers {
		r.proceed(a)
	}
	if r.request == nil {
		return noRun
	}
	n.request = r.request
	n.request.isChecked = true // TestNoRandomHistoryRunsTwice calls checkStatus
	e.nodes = append(e.nodes, n)
	if r.request.isWrite() {
		e.checkFirst(n)
		e.checkTimeout(n, r)
	}
	return int32(len(e.nodes) - 1)
}

// checkTimeout asserts that a run ends if its status write gets no answer. So the explorer may leave such
// a run at its request.
func (e *explorer) checkTimeout(n *node, r *run) {
	if n.request.verb != apply {
		return
	}
	r.proceed(answer{err: errTimeout})
	if r.request != nil && e.broken == "" {
		e.broken = fmt.Sprintf("after a timeout of %s a run continues with %s", n.request, r.request)
	}
}

// changes returns the effects of all changes that users and GitOps tools may make.
func (e *explorer) changes(in int32) []effect {
	if all, ok := e.changed[in]; ok {
		return all
	}
	var all []effect
	c := e.clusters[in].cluster
	add := func(label string, next cluster) {
		all = append(all, effect{cluster: e.clusterNumber(next), node: noRun, label: e.addLabel(label)})
	}
	if c.at == nil {
		add("the At is created", c.withAt(simulatedAt(specs[0], due.Add(-time.Hour))))
	} else {
		other := specs[0].Command
		if c.at.Spec.Command == other {
			other = specs[1].Command
		}
		add("the At is edited to run "+other, c.withSpec(func(spec *cnatv1alpha1.AtSpec) { spec.Command = other }))
		add(fmt.Sprintf("suspend is set to %t", !c.at.Spec.Suspend), c.withSpec(func(spec *cnatv1alpha1.AtSpec) { spec.Suspend = !spec.Suspend }))
		add("the At is deleted", c.withoutAt())
		if pod := renderedPod(c.at.Spec, 0, due.Add(-time.Hour)); c.pod(pod.Name) == nil {
			add("its Pod is created", c.withNewPod(pod.DeepCopy()))
			if !c.hasPolicy {
				open(pod)
				add("its Pod is created open", c.withNewPod(pod))
			}
		}
	}
	for _, deleted := range c.pods {
		add("Pod "+string(deleted.UID)+" is deleted", c.withoutPods(func(pod *corev1.Pod) bool { return pod == deleted }))
	}
	e.changed[in] = all
	return all
}

var specs = []cnatv1alpha1.AtSpec{simulatedSpec("a", due), simulatedSpec("b", due)}

// clusterNumber returns the number of a cluster. Equal clusters share one.
func (e *explorer) clusterNumber(c cluster) int32 {
	atText := e.content(c.at)
	podsText := e.content(c.pods)
	text := fmt.Sprint(atText, podsText, c.created, c.history)
	if n, ok := e.numbers[text]; ok {
		return n
	}
	x := numberedCluster{cluster: c, at: noRun}
	if c.at != nil {
		x.at = number(e.numbers, "at "+atText, &e.ats, c.at)
	}
	x.pods = number(e.numbers, "pods "+podsText, &e.pods, c.pods)
	return number(e.numbers, text, &e.clusters, x)
}

func number[T any](numbers map[string]int32, text string, all *[]T, value T) int32 {
	if n, ok := numbers[text]; ok {
		return n
	}
	*all = append(*all, value)
	numbers[text] = int32(len(*all) - 1)
	return numbers[text]
}

func (e *explorer) content(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// addElement returns the number of a set with one more element.
func (e *explorer) addElement(set, element int32) int32 {
	key := [2]int32{set, element}
	if n, ok := e.unions[key]; ok {
		return n
	}
	elements := e.sets[set]
	if i, found := slices.BinarySearch(elements, element); !found {
		elements = slices.Insert(slices.Clone(elements), i, element)
	}
	e.unions[key] = e.setNumber(elements)
	return e.unions[key]
}

func (e *explorer) setNumber(elements []int32) int32 {
	return number(e.setSums, fmt.Sprint(elements), &e.sets, elements)
}

func describeAt(at *cnatv1alpha1.At) string {
	return fmt.Sprintf("At %s (%s, suspend %t, %s)", at.ResourceVersion, at.Spec.Command, at.Spec.Suspend, describeStatus(at.Status))
}

func describePods(pods []*corev1.Pod) string {
	var texts []string
	for _, pod := range pods {
		text := pod.ResourceVersion
		if !isGated(pod) {
			text += " open"
		}
		texts = append(texts, text)
	}
	return "Pods " + fmt.Sprint(texts)
}
