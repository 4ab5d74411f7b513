package reach

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/review/effect"
)

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
			r.name, r.to = port.Port.StrVal, 0
		default:
			r.from, r.to = port.Port.IntVal, ptr.Deref(port.EndPort, port.Port.IntVal)
		}
		ranges = append(ranges, r)
	}
	return sorted(ranges)
}

func sorted(ranges []portRange) []portRange {
	slices.SortFunc(ranges, func(a, b portRange) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.name, b.name))
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
