package review

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// This file compares the connections that NetworkPolicies allow before and after a change, each direction
// by itself. It compares peers by their selectors, because an environment does not have all Pods of its
// cluster. Each newly allowed connection has an effect. An effect may tell a connection that was allowed
// before by other selectors.

// pods is the set of Pods of a workload.
type pods struct {
	labels labels.Set
	ports  map[string][]portRange // by name
	onHost bool                   // NetworkPolicies do not apply
}

// podsChange is a set of Pods before and after a change.
type podsChange struct {
	id      manifest.ID
	name    kind.Sentence
	was, is *pods // identical if nothing differs
	isNew   bool  // was is the same as is: its reach is compared with the previous policies
}

// The sides of a change.
const (
	before = iota
	after
)

// objectPair is an object before and after a change.
type objectPair [2]*unstructured.Unstructured

// reach compares the connections of an environment.
type reach struct {
	policies   [2]map[string][]*networkPolicy // by namespace
	changed    map[string][][2]*networkPolicy // by namespace
	namespaces map[string]objectPair
	workloads  map[string][]objectPair                 // by namespace
	peers      map[string][]podsChange                 // changed Pods by namespace
	services   map[string][]*unstructured.Unstructured // with the same selector as before, by namespace

	steps   int
	notes   map[note]map[kind.Sentence][]kind.Sentence // the ends of connections: selected Pods by peers
	effects []Effect
}

// note is the key of connections that one effect tells.
type note struct {
	cause     manifest.ID
	direction direction
	isBlocked bool
}

// maxSteps bounds the comparison to a few seconds.
const maxSteps = 5_000_000

// spend reports whether the comparison may take more steps.
func (r *reach) spend(steps int) bool {
	r.steps += steps
	return r.steps <= maxSteps
}

// reach returns the effects of a change on the connections that NetworkPolicies allow.
func (w *world) reach() []Effect {
	r := &reach{
		policies: [2]map[string][]*networkPolicy{{}, {}}, changed: map[string][][2]*networkPolicy{}, namespaces: map[string]objectPair{},
		workloads: map[string][]objectPair{}, peers: map[string][]podsChange{}, services: map[string][]*unstructured.Unstructured{}, notes: map[note]map[kind.Sentence][]kind.Sentence{},
	}
	for _, o := range w.Unchanged {
		r.read(o, o)
	}
	for _, c := range w.Changes {
		is := c.After
		if is == nil && keptBy(c.Before) != "" {
			is = c.Before
		}
		if is != nil || !w.gone[c.Before.GetNamespace()] {
			r.read(c.Before, is)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(r.workloads)) {
		r.compareWorkloads(namespace)
	}
	for _, namespace := range slices.Sorted(maps.Keys(r.changed)) {
		r.compareUnknownPods(namespace)
	}
	r.comparePeers()
	r.reviewBackends()
	return append(r.tellNotes(w), r.effects...)
}

// read adds an object, which is nil before or after it exists.
func (r *reach) read(was, is *unstructured.Unstructured) {
	o := cmp.Or(is, was)
	namespace := namespaceOf(o)
	switch {
	case kindOf(o) == "NetworkPolicy.networking.k8s.io":
		p := [2]*networkPolicy{readPolicy(was)}
		if p[after] = p[before]; was != is && (was == nil || is == nil || !equality.Semantic.DeepEqual(was.Object["spec"], is.Object["spec"])) {
			p[after] = readPolicy(is)
			r.changed[namespace] = append(r.changed[namespace], p)
		}
		for side, policy := range p {
			if policy != nil {
				policy.isChanged = p[before] != p[after]
				r.policies[side][namespace] = append(r.policies[side][namespace], policy)
			}
		}
	case kindOf(o) == "Namespace":
		r.namespaces[o.GetName()] = objectPair{was, is}
	case kindOf(o) == "Service" && was != nil && is != nil && maps.Equal(selector(was), selector(is)):
		r.services[namespace] = append(r.services[namespace], is)
	case manifest.MakesPods(o) && is != nil:
		r.workloads[namespace] = append(r.workloads[namespace], objectPair{was, is})
	}
}

// readPods returns the Pods of a workload.
func readPods(o *unstructured.Unstructured) *pods {
	path, _ := manifest.PodTemplatePath(o.GetKind())
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	template, _ := value.(map[string]any)
	p := &pods{ports: map[string][]portRange{}}
	p.labels, _, _ = unstructured.NestedStringMap(template, "metadata", "labels")
	p.onHost, _, _ = unstructured.NestedBool(template, "spec", "hostNetwork")
	for _, container := range slices.Concat(items(template, "spec", "initContainers"), items(template, "spec", "containers")) {
		for _, port := range items(container, "ports") {
			name, _ := port["name"].(string)
			protocol, _ := port["protocol"].(string)
			number, _ := port["containerPort"].(int64)
			p.ports[name] = append(p.ports[name], portRange{int32(number), int32(number), cmp.Or(protocol, string(corev1.ProtocolTCP)), ""}) //nolint:gosec // a port
		}
	}
	return p
}

// compareWorkloads compares the Pods of a namespace, if they or their policies change.
func (r *reach) compareWorkloads(namespace string) {
	for _, o := range r.workloads[namespace] {
		if o[before] == o[after] && len(r.changed[namespace]) == 0 {
			continue
		}
		c := podsChange{id: idOf(o[after]), is: readPods(o[after]), isNew: o[before] == nil}
		c.name, c.was = kind.Say("the Pods of %s", c.id), c.is
		if o[before] != nil && o[before] != o[after] {
			if was := readPods(o[before]); !reflect.DeepEqual(was, c.is) {
				c.was = was
			}
		}
		if c.isNew || c.was != c.is {
			r.peers[namespace] = append(r.peers[namespace], c)
		}
		r.compare(namespace, c)
	}
}

// compare compares the connections of Pods.
func (r *reach) compare(namespace string, c podsChange) {
	for _, d := range []direction{inward, outward} {
		was, is := r.access(before, namespace, c.was, d), r.access(after, namespace, c.is, d)
		if !r.spend(0) {
			return // was or is is incomplete
		}
		if c.was != c.is || !slices.Equal(was.by, is.by) {
			r.note(c, d, was, is, false)
			if !c.isNew {
				r.note(c, d, is, was, true)
			}
		}
		isIsolating := func(p *networkPolicy) bool { return p.isolates[inward] }
		if c.isNew && c.id.Name != "" && d == inward && len(is.by) == 0 && slices.ContainsFunc(r.policies[before][namespace], isIsolating) {
			r.effects = append(r.effects, Effect{c.id, kind.Effect{Type: ReachOpened, What: "connections from everywhere to its Pods are allowed: no NetworkPolicy isolates them", Risk: "NetworkPolicies isolate other Pods of its namespace"}})
		}
	}
}

// access is the reach of Pods in one direction.
type access struct {
	by     []*networkPolicy // they isolate the Pods
	allows []allowed
}

type allowed struct {
	allowance
	by *networkPolicy // nil if no policy isolates the Pods
}

func (r *reach) access(side int, namespace string, of *pods, d direction) (a access) {
	for _, p := range r.policies[side][namespace] {
		if p.isolates[d] && !of.onHost && r.spend(p.selector.cost) && p.selector.Matches(of.labels) {
			a.by = append(a.by, p)
		}
	}
	if len(a.by) == 0 {
		a.allows = []allowed{{everything, nil}}
	}
	for _, p := range a.by {
		for _, g := range p.allows[d] {
			if d == inward {
				g.ports = resolve(g.ports, of.ports)
			}
			if r.spend(1) {
				a.allows = append(a.allows, allowed{g, p})
			}
		}
	}
	return a
}

// note notes the connections of Pods that are allowed by to and not by from.
func (r *reach) note(c podsChange, d direction, from, to access, isBlocked bool) {
	isShared := map[*networkPolicy]bool{}
	for _, p := range from.by {
		isShared[p] = c.was == c.is
	}
	for _, g := range to.allows {
		if isShared[g.by] {
			continue
		}
		more := r.uncovered(g.allowance, from.allows)
		if len(more) == 0 {
			continue
		}
		peers := g.peer.name + sayPorts(more)
		if g.by == nil && isBlocked && len(from.allows) > 0 {
			peers += " except " + sayAllowances(from.allows)
		}
		causes := from.by
		if g.by != nil {
			causes = []*networkPolicy{g.by}
		}
		for _, p := range causes {
			if !r.spend(1) {
				return
			}
			if p.isChanged {
				r.add(note{p.id, d, isBlocked}, peers, c.name)
			} else {
				r.add(note{c.id, d, isBlocked}, peers, "its Pods")
			}
		}
	}
}

// uncovered returns the ports of a allowance that no other allowance allows for its peer.
func (r *reach) uncovered(g allowance, others []allowed) []portRange {
	var had []portRange
	for _, other := range others {
		if !r.spend(1 + len(other.ports)) {
			return nil
		}
		if other.peer.covers(g.peer) {
			had = append(had, other.ports...)
		}
	}
	return uncovered(g.ports, sorted(had))
}

func sayAllowances(allows []allowed) kind.Sentence {
	var said []kind.Sentence
	for _, g := range allows {
		if one := g.peer.name + sayPorts(g.ports); !slices.Contains(said, one) && len(g.ports) > 0 {
			said = append(said, one)
		}
	}
	return list(said)
}

func (r *reach) add(n note, peers, target kind.Sentence) {
	if r.notes[n] == nil {
		r.notes[n] = map[kind.Sentence][]kind.Sentence{}
	}
	if targets := r.notes[n][peers]; len(targets) == 0 || targets[len(targets)-1] != target {
		r.notes[n][peers] = append(targets, target)
	}
}

// compareUnknownPods compares Pods with the labels in changed policies: other tools may create them. It
// does so for policies without an effect on known Pods.
func (r *reach) compareUnknownPods(namespace string) {
	known := make([]labels.Set, 0, len(r.workloads[namespace]))
	for _, o := range r.workloads[namespace] {
		known = append(known, readPods(o[after]).labels)
	}
	for _, pair := range r.changed[namespace] {
		if p := cmp.Or(pair[after], pair[before]); p == nil || r.notes[note{p.id, inward, false}] != nil || r.notes[note{p.id, outward, false}] != nil {
			continue
		}
		isKnown := slices.ContainsFunc(known, func(set labels.Set) bool {
			return slices.ContainsFunc(pair[:], func(p *networkPolicy) bool { return p != nil && r.spend(p.selector.cost) && p.selector.Matches(set) })
		})
		for _, set := range examples(pair) {
			name := kind.Sentence("all Pods without labels")
			if len(set) > 0 {
				name = kind.Say("all Pods with %s", set)
			}
			unknown := &pods{labels: set}
			r.compare(namespace, podsChange{name: name, was: unknown, is: unknown, isNew: isKnown})
		}
	}
}

// examples returns labels that a selector of a policy mentions, in combinations that tell the selectors
// before and after a change apart.
func examples(pair [2]*networkPolicy) (sets []labels.Set) {
	var requirements [2]labels.Requirements
	for side, p := range pair {
		if p != nil {
			requirements[side], _ = p.selector.Requirements()
		}
	}
	for side, p := range pair {
		if p == nil {
			continue
		}
		set := labels.Set{}
		for _, r := range requirements[side] {
			switch r.Operator() {
			case selection.In, selection.Equals, selection.DoubleEquals:
				set[r.Key()] = r.Values().List()[0]
			case selection.Exists:
				set[r.Key()] = cmp.Or(set[r.Key()], "any")
			}
		}
		sets = append(sets, set)
		for _, r := range slices.Concat(requirements[:]...) {
			values := r.Values().List()
			if len(values) == 0 {
				values = []string{"any"}
			}
			for _, value := range values {
				sets = append(sets, labels.Merge(set, labels.Set{r.Key(): value}))
			}
		}
	}
	return sets
}

// peerState is the labels of a peer. Without pods, it stands for all Pods of a Namespace.
type peerState struct {
	namespace labels.Set
	pods      *pods
}

// comparePeers compares the allows for changed Pods and Namespaces as peers.
func (r *reach) comparePeers() {
	for _, namespace := range slices.Sorted(maps.Keys(r.peers)) {
		for _, c := range r.peers[namespace] {
			was, is := &peerState{r.labelsOf(before, namespace), c.was}, &peerState{r.labelsOf(after, namespace), c.is}
			if c.isNew {
				was = nil
			}
			r.comparePeer(c.id, was, is)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.namespaces)) {
		was, is := &peerState{r.labelsOf(before, name), nil}, &peerState{r.labelsOf(after, name), nil}
		switch o := r.namespaces[name]; {
		case o[after] == nil || o[before] == o[after]:
		case o[before] == nil:
			r.comparePeer(idOf(o[after]), nil, is)
		default:
			r.comparePeer(idOf(o[after]), was, is)
		}
	}
}

// labelsOf returns the labels of a Namespace.
func (r *reach) labelsOf(side int, namespace string) labels.Set {
	own := labels.Set{}
	if o := r.namespaces[namespace][side]; o != nil {
		own = o.GetLabels()
	}
	return labels.Merge(own, labels.Set{corev1.LabelMetadataName: namespace})
}

// comparePeer notes the connections that policies allow for a changed peer, and no longer allow. A new peer
// is compared with the policies that have been there, if they select it and not all of its kind.
func (r *reach) comparePeer(cause manifest.ID, was, is *peerState) {
	for side, policies := range r.policies {
		if side == before && was == nil {
			continue
		}
		for _, namespace := range slices.Sorted(maps.Keys(policies)) {
			for _, p := range policies[namespace] {
				if was == nil && (p.isChanged || is.pods == nil && namespace == is.namespace[corev1.LabelMetadataName]) {
					continue
				}
				r.compareAllowances(cause, p, was, is, side == before)
			}
		}
	}
}

// compareAllowances notes the difference of a policy for a changed peer. All Pods of a Namespace are compared
// for each allowance, because another one may be for some of them only.
func (r *reach) compareAllowances(cause manifest.ID, p *networkPolicy, was, is *peerState, isBlocked bool) {
	from, to, isNew := was, is, was == nil
	if isBlocked {
		from, to = is, was
	}
	for side, allows := range p.allows {
		d := direction(side)
		var more []portRange
		if is.pods != nil {
			more = uncovered(r.portsFor(allows, d, to, nil, isNew), r.portsFor(allows, d, from, nil, false))
		} else {
			for i, g := range allows {
				if has := r.portsFor(allows[i:i+1], d, to, g.peer.pods, isNew); len(has) > 0 {
					more = append(more, uncovered(has, r.portsFor(allows, d, from, g.peer.pods, false))...)
				}
			}
		}
		if len(more) > 0 && r.spend(0) {
			r.add(note{cause, d, isBlocked}, "its Pods"+sayPorts(sorted(more)), kind.Say("the Pods that %s selects", p.id))
		}
	}
}

// portsFor returns the ports that allowances have for a peer. For all Pods of a Namespace, they are the ports
// for all Pods that a selector matches.
func (r *reach) portsFor(allows []allowance, d direction, of *peerState, selected *labelSelector, isSpecific bool) (ports []portRange) {
	if of == nil {
		return nil
	}
	for _, g := range allows {
		if g.peer.block.IsValid() || isSpecific && !g.peer.isSpecific(of) || !r.allows(g, of, selected) {
			continue
		}
		if d == outward && of.pods != nil {
			ports = append(ports, resolve(g.ports, of.pods.ports)...)
		} else {
			ports = append(ports, g.ports...)
		}
	}
	return sorted(ports)
}

// isSpecific reports whether the selector for the Namespace, or for the Pods, excludes any.
func (p peer) isSpecific(of *peerState) bool {
	if p.pods == nil || of.pods != nil {
		return p.pods != nil && len(p.pods.requirements) > 0
	}
	return len(p.namespaces.requirements) > 0
}

// allows reports whether an allowance has a peer.
func (r *reach) allows(g allowance, of *peerState, selected *labelSelector) bool {
	switch {
	case g.peer.pods == nil:
		return true
	case !r.spend(1+g.peer.namespaces.cost+g.peer.pods.cost+len(g.ports)) || !g.peer.namespaces.Matches(of.namespace):
		return false
	case of.pods == nil:
		return selected != nil && g.peer.pods.covers(selected)
	}
	return g.peer.pods.Matches(of.pods.labels)
}

// tellNotes returns the effects of all notes.
func (r *reach) tellNotes(w *world) (effects []Effect) {
	isRemoved := map[manifest.ID]bool{}
	for _, c := range w.Changes {
		isRemoved[c.Object().ID()] = c.After == nil
	}
	for n, connections := range r.notes {
		e := Effect{n.cause, kind.Effect{Type: ReachOpened, What: sayConnections(n.direction, connections) + " are allowed", Risk: "NetworkPolicies blocked them before"}}
		if n.isBlocked {
			e.Type, e.What, e.Risk = ReachBlocked, sayConnections(n.direction, connections)+" are blocked", "they were allowed before"
		}
		if isRemoved[n.cause] {
			e.What = "is removed: " + e.What
		}
		effects = append(effects, e)
	}
	slices.SortFunc(effects, func(a, b Effect) int {
		return cmp.Or(compareObjects(a.Object, b.Object), strings.Compare(string(a.What), string(b.What)))
	})
	if r.spend(0) {
		return effects
	}
	return append(effects, r.uncompared(w)...)
}

// sayConnections lists connections, and joins those of the same Pods.
func sayConnections(d direction, connections map[kind.Sentence][]kind.Sentence) kind.Sentence {
	byTarget := map[kind.Sentence][]kind.Sentence{}
	for _, peers := range slices.Sorted(maps.Keys(connections)) {
		targets := list(connections[peers])
		byTarget[targets] = append(byTarget[targets], peers)
	}
	said := make([]kind.Sentence, 0, len(byTarget))
	for _, targets := range slices.Sorted(maps.Keys(byTarget)) {
		peers := byTarget[targets]
		slices.SortStableFunc(peers, func(a, b kind.Sentence) int {
			return -cmp.Compare(strings.Index(string(a), "everywhere"), strings.Index(string(b), "everywhere"))
		})
		from, to := list(peers), targets
		if d == outward {
			from, to = to, from
		}
		said = append(said, "connections from "+from+" to "+to)
	}
	return list(said)
}

// uncompared returns the effect of an incomplete comparison, on all changed policies or on the first changed
// Pods or Namespace.
func (r *reach) uncompared(w *world) (effects []Effect) {
	e := kind.Effect{Type: ReachOpened, What: "changes connections", Risk: "its environment has too many NetworkPolicies and Pods to compare all connections"}
	for _, c := range w.Changes {
		switch id := c.Object().ID(); {
		case kindOf(c.Object().Unstructured) == "NetworkPolicy.networking.k8s.io", len(r.changed) == 0 && len(effects) == 0 && (id.Kind == "Namespace" || manifest.MakesPods(c.Object().Unstructured)):
			effects = append(effects, Effect{id, e})
		}
	}
	return effects
}
