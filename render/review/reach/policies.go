package reach

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	networkingdefaults "k8s.io/kubernetes/pkg/apis/networking/v1"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/selector"
)

// direction is the side of a connection that a rule of a NetworkPolicy is for.
type direction int

const (
	inward direction = iota
	outward
)

// networkPolicy is a NetworkPolicy with its defaults.
type networkPolicy struct {
	id        manifest.ID
	selector  selector.Selector
	isChanged bool
	isolates  [2]bool        // by direction
	allows    [2][]allowance // by direction
}

// allowance allows connections between the Pods of a policy and a peer.
type allowance struct {
	peer  peer
	ports []portRange // sorted
}

// peer is a set of Pods by selectors, or a block of addresses. Without either it is every peer.
type peer struct {
	namespaces, pods *selector.Selector
	block            netip.Prefix
	except           []netip.Prefix
	name             kind.Sentence
}

var (
	everyPort  = []portRange{{}}
	everything = allowance{peer: peer{name: "everywhere"}, ports: everyPort}
)

// readPolicy returns the policy of an object, or nil without a valid one.
func readPolicy(o *unstructured.Unstructured) *networkPolicy {
	if o == nil {
		return nil
	}
	typed := manifest.As[networkingv1.NetworkPolicy](o)
	networkingdefaults.SetObjectDefaults_NetworkPolicy(&typed)
	selected, ok := selector.Read(&typed.Spec.PodSelector)
	if !ok {
		return nil
	}
	p := &networkPolicy{id: compare.IDOf(o), selector: selected}
	p.isolates[inward] = slices.Contains(typed.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
	p.isolates[outward] = slices.Contains(typed.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	for _, rule := range typed.Spec.Ingress {
		p.allow(inward, compare.NamespaceOf(o), rule.From, rule.Ports)
	}
	for _, rule := range typed.Spec.Egress {
		p.allow(outward, compare.NamespaceOf(o), rule.To, rule.Ports)
	}
	return p
}

func (p *networkPolicy) allow(d direction, namespace string, peers []networkingv1.NetworkPolicyPeer,
	ports []networkingv1.NetworkPolicyPort) {
	if !p.isolates[d] {
		return // the rule has no effect
	}
	ranges := readPorts(ports)
	if len(peers) == 0 {
		p.allows[d] = append(p.allows[d], allowance{everything.peer, ranges})
	}
	for _, from := range peers {
		if read, ok := readPeer(from, namespace); ok {
			p.allows[d] = append(p.allows[d], allowance{read, ranges})
		}
	}
}

func readPeer(from networkingv1.NetworkPolicyPeer, namespace string) (p peer, ok bool) {
	if from.IPBlock != nil {
		return readBlock(from.IPBlock)
	}
	namespaces := from.NamespaceSelector
	where := kind.Sentence(" of the cluster")
	switch {
	case namespaces == nil:
		namespaces = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
		where = kind.Say(" in %s", namespace)
	case len(namespaces.MatchLabels)+len(namespaces.MatchExpressions) > 0:
		where = kind.Say(" in Namespaces with %s", metav1.FormatLabelSelector(namespaces))
	}
	pods := cmp.Or(from.PodSelector, &metav1.LabelSelector{})
	which := kind.Sentence("all Pods")
	if len(pods.MatchLabels)+len(pods.MatchExpressions) > 0 {
		which = kind.Say("Pods with %s", metav1.FormatLabelSelector(pods))
	}
	inNamespaces, ok := selector.Read(namespaces)
	ofPods, isValid := selector.Read(pods)
	return peer{namespaces: &inNamespaces, pods: &ofPods, name: which + where}, ok && isValid
}

func readBlock(from *networkingv1.IPBlock) (p peer, ok bool) {
	block, err := netip.ParsePrefix(from.CIDR)
	p = peer{block: block.Masked(), name: kind.Say("%s", from.CIDR)}
	for _, cidr := range from.Except {
		if without, err := netip.ParsePrefix(cidr); err == nil {
			p.except = append(p.except, without.Masked())
		}
	}
	if len(p.except) > 0 {
		p.name += " except " + effect.Quote(from.Except)
	}
	return p, err == nil
}

// covers reports whether each peer in other is in p. It may miss it, but is never wrong about it.
func (p peer) covers(other peer) bool {
	switch {
	case p.pods != nil:
		return other.pods != nil && p.pods.Covers(other.pods) && p.namespaces.Covers(other.namespaces)
	case p.block.IsValid():
		return other.block.IsValid() && p.coversBlock(other)
	}
	return true
}

func (p peer) coversBlock(other peer) bool {
	return contains(p.block, other.block) && !slices.ContainsFunc(p.except, func(without netip.Prefix) bool {
		isOut := func(also netip.Prefix) bool { return contains(also, without) }
		return without.Overlaps(other.block) && !slices.ContainsFunc(other.except, isOut)
	})
}

// contains reports whether a block has all addresses of another one.
func contains(block, other netip.Prefix) bool {
	return block.Bits() <= other.Bits() && block.Contains(other.Addr())
}

// portRange is a range of ports of a protocol. An outward port may have a name instead, for its peer to
// resolve. Without a protocol, the range has all ports.
type portRange struct {
	from, to       int32
	protocol, name string
}

func readPorts(ports []networkingv1.NetworkPolicyPort) (ranges []portRange) {
	if len(ports) == 0 {
		return everyPort
	}
	for _, port := range ports {
		r := portRange{protocol: string(ptr.Deref(port.Protocol, corev1.ProtocolTCP)), to: 65535}
		switch {
		case port.Port == nil:
		case port.Port.Type == intstr.String:
			r.name = port.Port.StrVal
			r.to = 0
		default:
			r.from = port.Port.IntVal
			r.to = ptr.Deref(port.EndPort, port.Port.IntVal)
		}
		ranges = append(ranges, r)
	}
	return sorted(ranges)
}

func sorted(ranges []portRange) []portRange {
	slices.SortFunc(ranges, func(a, b portRange) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.protocol, b.protocol),
			cmp.Compare(a.name, b.name))
	})
	return slices.Compact(ranges)
}

// uncovered returns the ranges that are not within the union of others, which are sorted.
func uncovered(ranges, others []portRange) []portRange {
	return slices.DeleteFunc(slices.Clone(ranges), func(r portRange) bool {
		next := r.from // the first port that others lack
		for _, other := range others {
			switch {
			case other.protocol == "", other == r:
				return true
			case other.protocol == r.protocol && other.name == "" && r.name == "" && other.from <= next:
				next = max(next, other.to+1)
			}
		}
		return r.protocol != "" && r.name == "" && next > r.to
	})
}

// resolve replaces named ports by the ports of Pods with these names.
func resolve(ranges []portRange, named map[string][]portRange) []portRange {
	isNamed := func(r portRange) bool { return r.name != "" }
	if !slices.ContainsFunc(ranges, isNamed) {
		return ranges
	}
	var resolved []portRange
	for _, r := range ranges {
		if !isNamed(r) {
			resolved = append(resolved, r)
			continue
		}
		for _, port := range named[r.name] {
			if port.protocol == r.protocol {
				resolved = append(resolved, port)
			}
		}
	}
	return sorted(resolved)
}

func (r portRange) String() string {
	switch {
	case r.name != "":
		return r.name + "/" + r.protocol
	case r.from == r.to:
		return fmt.Sprintf("%d/%s", r.from, r.protocol)
	case r.from == 0:
		return "all of " + r.protocol
	}
	return fmt.Sprintf("%d-%d/%s", r.from, r.to, r.protocol)
}

// sayPorts returns the end of a sentence about connections: nothing for all ports.
func sayPorts(ranges []portRange) kind.Sentence {
	if len(ranges) > 0 && ranges[0].protocol == "" {
		return ""
	}
	names := make([]string, len(ranges))
	for i, r := range ranges {
		names[i] = r.String()
	}
	return " on " + effect.Quote(names)
}
