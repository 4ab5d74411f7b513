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

var exploreSteps = flag.Int("explore.steps", 6, "how many steps long the histories are that TestExplore explores")

// TestExplore goes through all histories of up to so many steps, and judges every write in
// them. A step is one edit, sync or deletion, the moment at which Ats become due, or one
// request that the API server serves. A history may begin a Reconcile at any time, with
// caches that show an At and Pods of any time before, and with a clock that has any of the
// two instants that were. It may leave a run for ever, or for any time between two of its
// requests: so a request that is late is one whose run nobody goes on with, and one that is
// lost, or whose answer is, need no steps of their own. Two runs are under way at a time,
// beside any number of which the first request is late.
//
// Histories that come to the same state are explored once: what the cluster holds, what it
// held, and where each run stands. A run that was in a state before is not run again.
//
// A write of a Pod may be refused, too, and it may get no answer in time, served or not.
//
// 6 steps after a new At, or one that is armed, are 80,000 states and 430,000 transitions with the
// policy, and 111,000 and 540,000 without: 21 seconds of one core. Each step more takes six times as
// long.
func TestExplore(t *testing.T) {
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

// The instants are shortly before an At is due, and when it is. Whether its start is put on
// record at the first depends on how many are due together.
var instants = []surroundings{
	{now: due.Add(-5 * time.Second), together: 1},
	{now: due.Add(-5 * time.Second), together: 1000},
	{now: due, together: 1},
}

// clocks has how many instants there were, before an At is due and after.
var clocks = []int{2, 3}

const maxRuns = 2

// explorer explores states breadth first. Clusters, runs and sets have numbers, so that a
// state is a few of them.
type explorer struct {
	clusters []explored
	numbers  map[string]int32 // of clusters, Ats and lists of Pods, by what they say
	ats      []*cnatv1alpha1.At
	pods     [][]*corev1.Pod

	nodes []*node
	roots map[root]int32
	// served has what comes of a request of a node in a cluster; changed, what of an act.
	served  map[[2]int32]effect
	changed map[int32][]effect

	sets               [][]int32
	setSums            map[string]int32
	unions, remembered map[[2]int32]int32

	tales       []string
	becomesDue  int32
	visited     map[state]struct{}
	states      []arrival
	done        int // states of which all transitions are explored
	transitions int
	broken      string
}

// explored is a cluster, and the numbers of what caches show of it.
type explored struct {
	cluster
	at, pods int32
}

// root is a run of an Opener or a Reconciler at its beginning, that of an At and Pods.
type root struct {
	at, pods int32
	opens    bool
}

// node is a run at one of its requests: it is that of an At and Pods, and what it was answered.
type node struct {
	root
	answers []answer
	request *request
	next    map[string]int32 // by the answer; noRun where the run ends

	hasWritten bool // a write of it was served
}

const noRun = int32(-1)

// effect is what comes of a step: a cluster, and the run that goes on.
type effect struct {
	cluster, node int32
	what          int32 // a number of tales
	broken        string
}

// state is one that histories come to. The Ats and Pods that there were are sets.
type state struct {
	cluster, ats, pods int32
	runs               [maxRuns]int32 // greatest first; noRun for none
	clock              int8
}

// arrival is a state, and how it is come to.
type arrival struct {
	state
	from, what int32
}

func newExplorer(hasPolicy bool) *explorer {
	e := &explorer{
		numbers: map[string]int32{}, roots: map[root]int32{}, served: map[[2]int32]effect{},
		changed: map[int32][]effect{}, setSums: map[string]int32{}, unions: map[[2]int32]int32{}, remembered: map[[2]int32]int32{}, visited: map[state]struct{}{},
	}
	e.becomesDue = e.tale("the At becomes due")
	c := cluster{hasPolicy: hasPolicy}.withAt(simulatedAt(specs[0], due.Add(-time.Hour)))
	start := state{cluster: e.clusterNumber(c), ats: e.setNumber(nil), pods: e.setNumber(nil)}
	for i := range start.runs {
		start.runs[i] = noRun
	}
	e.arrive(start, effect{cluster: start.cluster, what: e.tale("an At is created")}, -1)
	e.arm(c)
	return e
}

// arm has histories begin, too, with an At that is armed.
func (e *explorer) arm(c cluster) {
	s := e.states[0].state
	c = c.withNewPod(renderedPod(specs[0], 0, due.Add(-time.Hour)))
	s = e.arrive(s, effect{cluster: e.clusterNumber(c), what: e.tale("its Pod is created")}, 0)
	n := e.root(root{at: e.clusters[s.cluster].at, pods: e.clusters[s.cluster].pods})
	e.arrive(s, e.serve(s.cluster, e.proceed(n, "look 0", answer{surroundings: instants[0]})), 1)
	e.transitions = 0
}

// step explores the transitions of every state that was come to in the last step.
func (e *explorer) step() {
	for end := len(e.states); e.done < end && e.broken == ""; e.done++ {
		e.expand(int32(e.done))
	}
}

func (e *explorer) expand(from int32) {
	s := e.states[from].state
	for _, o := range e.acts(s.cluster) {
		e.arrive(s, o, from)
	}
	if int(s.clock) < len(clocks)-1 {
		next := s
		next.clock++
		e.arrive(next, effect{cluster: s.cluster, what: e.becomesDue}, from)
	}
	for i, n := range s.runs {
		if n == noRun {
			continue
		}
		rest := s
		rest.runs[i] = noRun
		e.request(rest, n, from)
	}
	for _, at := range e.sets[s.ats] {
		for _, pods := range e.sets[s.pods] {
			e.request(s, e.root(root{at: at, pods: pods}), from)
			e.request(s, e.root(root{at: at, pods: pods, opens: true}), from)
		}
	}
}

// request has a run make its request, once it has looked around where it wants to.
func (e *explorer) request(s state, n, from int32) {
	if n == noRun {
		return
	}
	if q := e.nodes[n].request; q.verb == look {
		for i := range clocks[s.clock] {
			e.request(s, e.proceed(n, fmt.Sprint("look ", i), answer{surroundings: instants[i]}), from)
		}
		return
	}
	if n = e.settle(s.cluster, s.ats, n); n == noRun {
		return
	}
	if q := e.nodes[n].request; q.verb == openGate || q.verb == hold {
		e.trouble(s, n, from)
	}
	o := e.serve(s.cluster, n)
	o.node = e.settle(o.cluster, e.remember(o.cluster, s.ats), o.node)
	if o.node == noRun && o.cluster == s.cluster && o.broken == "" {
		e.transitions++
		return
	}
	e.place(s, o, from)
}

// trouble has a write of a Pod be refused, and get no answer in time: it was served, or is in flight
// and may be served at any later time.
func (e *explorer) trouble(s state, n, from int32) {
	q := e.nodes[n].request
	refused := effect{cluster: e.clusterNumber(e.clusters[s.cluster].withRefusal(q)), what: e.tale(q.String() + ": refused")}
	refused.node = e.proceed(n, "refused", answer{err: refusals[0]})
	e.place(s, refused, from)
	ended := e.proceed(n, "timeout", answer{err: errTimeout})
	lost := e.serve(s.cluster, n)
	lost.node, lost.what = ended, e.tale(q.String()+": served, and its answer is lost")
	e.place(s, lost, from)
	if ended != noRun {
		s.runs = [maxRuns]int32{n, ended}
		e.arrive(s, effect{cluster: s.cluster, what: e.tale(q.String() + ": in flight")}, from)
	}
}

// place comes to the states in which a run goes on among the others.
func (e *explorer) place(s state, o effect, from int32) {
	isPlaced := o.node == noRun
	for i := range s.runs {
		if s.runs[i] == noRun && !isPlaced {
			next := s
			next.runs[i], isPlaced = o.node, true
			e.arrive(next, o, from)
		}
	}
	if !isPlaced { // it takes the place of one that nobody goes on with
		for i := range s.runs {
			next := s
			next.runs[i] = o.node
			e.arrive(next, o, from)
		}
	}
	if o.node == noRun || !isPlaced {
		e.arrive(s, o, from)
	}
}

// arrive comes to a state by an effect.
func (e *explorer) arrive(s state, o effect, from int32) state {
	e.transitions++
	s.cluster = o.cluster
	s.ats, s.pods = e.remember(s.cluster, s.ats), e.union(s.pods, e.clusters[s.cluster].pods)
	for i := range s.runs {
		s.runs[i] = e.settle(s.cluster, s.ats, s.runs[i])
	}
	slices.SortFunc(s.runs[:], func(a, b int32) int { return int(b - a) })
	if _, ok := e.visited[s]; ok && o.broken == "" {
		return s
	}
	e.visited[s] = struct{}{}
	e.states = append(e.states, arrival{state: s, from: from, what: o.what})
	if o.broken != "" && e.broken == "" {
		e.broken = o.broken + " by these steps:" + e.story(int32(len(e.states)-1))
	}
	return s
}

// tale returns the number of what is told of a step.
func (e *explorer) tale(text string) int32 {
	e.tales = append(e.tales, text)
	return int32(len(e.tales) - 1)
}

// settle goes on with a run whose next write can only fail, as the version that it is for
// is gone for ever, and returns the run at the first request that is not so. It makes no
// difference when that fails, so it is no step of its own. Nor does it go on with a run
// that wrote nothing yet and whose At makes no difference any more.
func (e *explorer) settle(in, ats, n int32) int32 {
	for n != noRun && e.broken == "" && e.isVain(in, n) {
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

// isVain reports whether the write that a run asks for can only fail.
func (e *explorer) isVain(in, n int32) bool {
	c, q := &e.clusters[in], e.nodes[n].request
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

// remember returns the Ats that caches may show and that make a difference: the present one,
// and each that has a start on record of a Pod that is still there. What checkFirst asserts
// makes the others ones of which every write is in vain.
func (e *explorer) remember(in, set int32) int32 {
	c := &e.clusters[in]
	key := [2]int32{in, set}
	if n, ok := e.remembered[key]; ok {
		return n
	}
	kept := slices.DeleteFunc(slices.Clone(e.sets[set]), func(at int32) bool {
		run := e.ats[at].Status.Run
		return run == nil || !isClaimed(*run) || !slices.ContainsFunc(c.cluster.pods, func(pod *corev1.Pod) bool { return pod.UID == run.PodUID })
	})
	n := e.setNumber(kept)
	if c.at != noRun {
		n = e.union(n, c.at)
	}
	e.remembered[key] = n
	return n
}

// checkFirst asserts that the first write of a run is of the very At that it saw, or of the
// Pod whose start that has on record.
func (e *explorer) checkFirst(n *node) {
	if n.hasWritten {
		return
	}
	at, q := e.ats[n.at], n.request
	run := at.Status.Run
	if q.verb == apply && q.matches(at.UID, at.ResourceVersion) && q.version != "" || q.verb != apply && run != nil && isClaimed(*run) && q.uid == run.PodUID {
		return
	}
	if e.broken == "" {
		e.broken = fmt.Sprintf("a controller that saw %s and %s first asks to %s", describeAt(at), describePods(e.pods[n.pods]), q)
	}
}

// story tells how a state is come to.
func (e *explorer) story(i int32) string {
	var steps []string
	for ; i >= 0; i = e.states[i].from {
		steps = append(steps, "\n  "+e.tales[e.states[i].what])
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
	o.what = e.tale(fmt.Sprintf("a controller that saw %s and %s: %s: %v", describeAt(q.from.at), describePods(q.from.pods), q, a.err))
	if err != nil {
		o.broken = err.Error()
	} else {
		o.node = e.proceed(n, e.key(a), a)
	}
	e.served[key] = o
	return o
}

// key returns what tells an answer from others.
func (e *explorer) key(a answer) string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.at != nil:
		return a.at.ResourceVersion
	case a.pod != nil:
		return e.content(a.pod)
	default:
		return a.version
	}
}

// root returns the node of a root.
func (e *explorer) root(r root) int32 {
	n, ok := e.roots[r]
	if !ok {
		n = e.newNode(&node{root: r})
		e.roots[r] = n
	}
	return n
}

// proceed returns the run that a run becomes by an answer.
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
	n.request.isChecked = true // TestHistories checks what statuses say
	e.nodes = append(e.nodes, n)
	if r.request.isWrite() {
		e.checkFirst(n)
		e.checkTimeout(n, r)
	}
	return int32(len(e.nodes) - 1)
}

// checkTimeout asserts that a run whose status gets no answer asks for nothing more. So it is enough
// to leave such a run.
func (e *explorer) checkTimeout(n *node, r *run) {
	if n.request.verb != apply {
		return
	}
	r.proceed(answer{err: errTimeout})
	if r.request != nil && e.broken == "" {
		e.broken = fmt.Sprintf("after a timeout of %s a run goes on with %s", n.request, r.request)
	}
}

// acts returns what comes of all that anybody but a controller may do.
func (e *explorer) acts(in int32) []effect {
	if all, ok := e.changed[in]; ok {
		return all
	}
	var all []effect
	c := e.clusters[in].cluster
	add := func(what string, next cluster) {
		all = append(all, effect{cluster: e.clusterNumber(next), node: noRun, what: e.tale(what)})
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

// clusterNumber returns the number of a cluster.
func (e *explorer) clusterNumber(c cluster) int32 {
	atText, podsText := e.content(c.at), e.content(c.pods)
	text := fmt.Sprint(atText, podsText, c.created, c.history)
	if n, ok := e.numbers[text]; ok {
		return n
	}
	x := explored{cluster: c, at: noRun}
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

// union returns the set that has one element more.
func (e *explorer) union(set, element int32) int32 {
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
