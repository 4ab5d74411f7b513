// Package reach answers: who can connect to which Pods after a change, and who could before? It compares
// NetworkPolicies, and the Pods that Services select. TestEachNewlyAllowedConnectionIsARisk proves it against a
// naive evaluator.
package reach

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/selector"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// pods is the set of Pods of a workload.
type pods struct {
	labels labels.Set
	ports  map[string][]portRange // by name
	onHost bool                   // NetworkPolicies do not apply
}

type podsChange struct {
	namespace string
	id        manifest.ID
	name      kind.Sentence
	was, is   *pods // identical if nothing differs
	isNew     bool  // was is the same as is: its reach is compared with the previous policies
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
	both       *compare.Comparison
	policies   [2]map[string][]*networkPolicy // by namespace
	changed    map[string][][2]*networkPolicy // by namespace
	namespaces map[string]objectPair
	workloads  map[string][]objectPair                 // by namespace
	peers      []podsChange                            // changed Pods
	services   map[string][]*unstructured.Unstructured // with the same selector as before, by namespace

	budget  selector.Budget
	notes   map[note]map[kind.Sentence][]kind.Sentence // the ends of connections: selected Pods by peers
	effects []effect.Effect
}

// Review returns the effects of a change on the connections that NetworkPolicies allow.
func Review(both *compare.Comparison) []effect.Effect {
	r := &reach{
		both: both, budget: selector.Budget{Steps: 5_000_000}, // a few seconds
		policies: [2]map[string][]*networkPolicy{{}, {}}, changed: map[string][][2]*networkPolicy{},
		namespaces: map[string]objectPair{},
		workloads:  map[string][]objectPair{}, services: map[string][]*unstructured.Unstructured{},
		notes: map[note]map[kind.Sentence][]kind.Sentence{},
	}
	for _, o := range both.Unchanged {
		r.read(o, o)
	}
	for _, c := range both.Changes {
		is := compare.Live(c)
		isGone := is == nil && (c.Before == nil || both.IsGone(c.Before.GetNamespace()))
		if !isGone {
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
	return append(r.tellNotes(), r.effects...)
}

// read adds an object, which is nil before or after it exists.
func (r *reach) read(was, is *unstructured.Unstructured) {
	o := cmp.Or(is, was)
	namespace := compare.NamespaceOf(o)
	switch {
	case compare.KindOf(o) == "NetworkPolicy.networking.k8s.io":
		p := [2]*networkPolicy{readPolicy(was)}
		p[after] = p[before]
		if was != is &&
			(was == nil || is == nil || !equality.Semantic.DeepEqual(was.Object["spec"], is.Object["spec"])) {
			p[after] = readPolicy(is)
			r.changed[namespace] = append(r.changed[namespace], p)
		}
		for side, policy := range p {
			if policy != nil {
				policy.isChanged = p[before] != p[after]
				r.policies[side][namespace] = append(r.policies[side][namespace], policy)
			}
		}
	case compare.KindOf(o) == "Namespace":
		r.namespaces[o.GetName()] = objectPair{was, is}
	case compare.KindOf(o) == "Service" && was != nil && is != nil &&
		maps.Equal(selectorOf(was), selectorOf(is)):
		r.services[namespace] = append(r.services[namespace], is)
	case is != nil && r.both.HasTemplates(is):
		r.workloads[namespace] = append(r.workloads[namespace], objectPair{was, is})
	}
}

func readPods(t podsecurity.Template) *pods {
	p := &pods{labels: t.Labels, ports: map[string][]portRange{}, onHost: t.Spec.HostNetwork}
	for _, container := range pod.Programs(&t.Spec) {
		for _, port := range container.Ports {
			p.ports[port.Name] = append(p.ports[port.Name], portRange{port.ContainerPort, port.ContainerPort,
				string(port.Protocol), ""})
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
		old := r.both.Templates(o[before])
		for i, t := range r.both.Templates(o[after]) {
			c := podsChange{namespace: namespace, id: compare.IDOf(o[after]), is: readPods(t), isNew: i >= len(old)}
			c.name = kind.Say("the Pods of %s", c.id)
			c.was = c.is
			if !c.isNew && o[before] != o[after] {
				if was := readPods(old[i]); !reflect.DeepEqual(was, c.is) {
					c.was = was
				}
			}
			if c.isNew || c.was != c.is {
				r.peers = append(r.peers, c)
			}
			r.compare(c)
		}
	}
}

func (r *reach) compare(c podsChange) {
	for _, d := range []direction{inward, outward} {
		was := r.access(before, c.namespace, c.was, d)
		is := r.access(after, c.namespace, c.is, d)
		if r.budget.IsExceeded {
			return // was or is is incomplete
		}
		if c.was != c.is || !slices.Equal(was.by, is.by) {
			r.note(c, d, was, is, false)
			if !c.isNew {
				r.note(c, d, is, was, true)
			}
		}
		isIsolating := func(p *networkPolicy) bool { return p.isolates[inward] }
		if c.isNew && c.id.Name != "" && d == inward && len(is.by) == 0 &&
			slices.ContainsFunc(r.policies[before][c.namespace], isIsolating) {
			r.effects = append(r.effects, effect.Of(c.id, kind.Effect{Type: effect.ReachOpened,
				What: "connections from everywhere to its Pods are allowed: no NetworkPolicy isolates them",
				Risk: "NetworkPolicies isolate other Pods of its namespace"})...)
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
		if p.isolates[d] && !of.onHost && r.budget.Spend(p.selector.Cost) && p.selector.Matches(of.labels) {
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
			if r.budget.Spend(1) {
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
			if !r.budget.Spend(1) {
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
		if !r.budget.Spend(1 + len(other.ports)) {
			return nil
		}
		if other.peer.covers(g.peer) {
			had = append(had, other.ports...)
		}
	}
	return uncovered(g.ports, sorted(had))
}
