package reach

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

const (
	isOutside   = "its Pods are reachable from outside of the cluster"
	isElsewhere = "its clients connect to other servers"
)

// ReviewService reviews Services: opened, closed and changed routes to Pods.
func ReviewService(_ *world.World, c diff.Change) (effects []kind.Effect) {
	if c.After == nil {
		return effect.Removed(effect.RouteRemoved, "clients cannot resolve its name")
	}
	was, is := &unstructured.Unstructured{}, c.After
	if c.Before != nil {
		was = c.Before
	}
	if before, after := openness(was), openness(is); before < after {
		effects = append(effects, kind.Effect{Type: effect.RouteOpened, What: kind.Say("gets the type %s", world.Text(is, "spec", "type")), Risk: isOutside})
	} else if before > after {
		effects = append(effects, kind.Effect{Type: effect.RouteRemoved, What: kind.Say("no longer has the type %s", world.Text(was, "spec", "type")), Risk: "clients outside of the cluster cannot connect"})
	} else if after > 0 {
		effects = append(effects, opened.review(c)...)
	}
	if openness(was) == 2 && openness(is) == 2 {
		effects = append(effects, clients.review(c)...)
	}
	if isInternal(was) && !isInternal(is) && openness(is) == 2 {
		effects = append(effects, kind.Effect{Type: effect.RouteOpened, What: "its load balancer is no longer internal", Risk: "its Pods are reachable from outside of the network"})
	}
	for _, v := range []values{served, externalIPs, externalNames} {
		effects = append(effects, v.review(c)...)
	}
	if c.Before == nil {
		return effects
	}
	return append(effects, reviewSelector(was, is)...)
}

// openness returns the rank of a Service's type: a load balancer opens it to more clients than a port of the
// nodes.
func openness(service *unstructured.Unstructured) int {
	return slices.Index([]string{"NodePort", "LoadBalancer"}, world.Text(service, "spec", "type")) + 1
}

const everywhere = "everywhere"

// sources returns the blocks of addresses that a load balancer accepts.
func sources(service *unstructured.Unstructured) []string {
	ranges, _, _ := unstructured.NestedStringSlice(service.Object, "spec", "loadBalancerSourceRanges")
	if len(ranges) == 0 {
		ranges = strings.FieldsFunc(service.GetAnnotations()["service.beta.kubernetes.io/load-balancer-source-ranges"], func(r rune) bool { return r == ',' || r == ' ' })
	}
	if len(ranges) == 0 {
		return []string{everywhere}
	}
	return ranges[:min(len(ranges), maxSources)]
}

// maxSources bounds the comparison of each source with each other one.
const maxSources = 1000

// within returns a function that reports whether a block contains the source.
func within(source string) func(block string) bool {
	inner, err := netip.ParsePrefix(source)
	return func(block string) bool {
		outer, failed := netip.ParsePrefix(block)
		return block == everywhere || block == source || err == nil && failed == nil && contains(outer, inner)
	}
}

// isInternal reports whether annotations for AWS, Google Cloud or Azure make a load balancer internal.
func isInternal(service *unstructured.Unstructured) bool {
	set := service.GetAnnotations()
	scheme, aws := set["service.beta.kubernetes.io/aws-load-balancer-scheme"], set["service.beta.kubernetes.io/aws-load-balancer-internal"]
	switch {
	case scheme != "":
		return scheme == "internal"
	case aws != "" && aws != "false", set["service.beta.kubernetes.io/azure-load-balancer-internal"] == "true":
		return true
	}
	return strings.EqualFold(cmp.Or(set["networking.gke.io/load-balancer-type"], set["cloud.google.com/load-balancer-type"]), "Internal")
}

var (
	// opened are the ports of a Service for clients outside of the cluster.
	opened = values{of: ports, added: kind.Effect{Type: effect.RouteOpened, What: "opens port %s", Risk: isOutside}}

	// served are the ports of a Service.
	served = values{
		of: ports, to: targets,
		gone:    kind.Effect{Type: effect.RouteRemoved, What: "no longer serves port %s", Risk: "clients of this port cannot connect"},
		changed: kind.Effect{Type: effect.RouteChanged, What: "routes %s of its Pods", Risk: isElsewhere},
		change:  "port %s to port %s instead of %s",
	}

	// clients are the blocks of addresses that a load balancer accepts.
	clients = values{
		of: sources, within: within,
		gone:  kind.Effect{Type: effect.RouteRemoved, What: "its load balancer no longer accepts all connections from %s", Risk: "clients there cannot connect"},
		added: kind.Effect{Type: effect.RouteOpened, What: "its load balancer accepts connections from %s", Risk: isOutside},
	}

	externalIPs = values{
		of:    func(o *unstructured.Unstructured) []string { return texts(o, "spec", "externalIPs") },
		gone:  kind.Effect{Type: effect.RouteRemoved, What: "no longer accepts connections to %s", Risk: "clients of this address cannot connect"},
		added: kind.Effect{Type: effect.RouteOpened, What: "accepts connections to %s", Risk: "it receives all connections to this address, also if the address belongs to another server"},
	}

	externalNames = values{
		of: func(o *unstructured.Unstructured) []string {
			if name := world.Text(o, "spec", "externalName"); name != "" && world.Text(o, "spec", "type") == "ExternalName" {
				return []string{name}
			}
			return nil
		},
		gone:  kind.Effect{Type: effect.RouteRemoved, What: "no longer is another name of %s", Risk: isElsewhere},
		added: kind.Effect{Type: effect.RouteOpened, What: "is another name of %s", Risk: "its clients connect to this host"},
	}
)

func texts(o *unstructured.Unstructured, path ...string) []string {
	list, _, _ := unstructured.NestedStringSlice(o.Object, path...)
	return list
}

func ports(service *unstructured.Unstructured) (ports []string) {
	for _, port := range world.Items(service.Object, "spec", "ports") {
		ports = append(ports, portName(port))
	}
	return ports
}

// targets returns the ports of Pods by the ports of a Service.
func targets(service *unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for _, port := range world.Items(service.Object, "spec", "ports") {
		all[portName(port)] = fmt.Sprint(cmp.Or(port["targetPort"], port["port"]))
	}
	return all
}

func portName(port map[string]any) string {
	name := fmt.Sprint(port["port"])
	if protocol, _ := port["protocol"].(string); protocol != "" && protocol != "TCP" {
		name += "/" + protocol
	}
	return name
}

// reviewSelector reviews the Pods of a changed Service.
func reviewSelector(was, is *unstructured.Unstructured) (effects []kind.Effect) {
	switch before, after := selector(was).String(), selector(is).String(); {
	case before == after:
	case after == "":
		effects = append(effects, kind.Effect{Type: effect.RouteChanged, What: kind.Say("no longer routes to Pods with %s", before), Risk: "its Endpoints decide where its connections go: anyone who may edit them can redirect its clients"})
	case before == "":
		effects = append(effects, kind.Effect{Type: effect.RouteChanged, What: kind.Say("routes to Pods with %s", after), Risk: isElsewhere})
	default:
		from, to := kind.SayBoth(before, after)
		effects = append(effects, kind.Effect{Type: effect.RouteChanged, What: kind.Say("routes to Pods with %s instead of %s", to, from), Risk: isElsewhere})
	}
	return effects
}

// selector returns the labels of the Pods of a Service.
func selector(service *unstructured.Unstructured) labels.Set {
	set, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	return set
}

// reviewBackends returns the effects on changed Pods that Services newly select or no longer select.
func (r *reach) reviewBackends() {
	for _, namespace := range slices.Sorted(maps.Keys(r.peers)) {
		for _, c := range r.peers[namespace] {
			for _, service := range r.services[namespace] {
				set := selector(service)
				if !r.spend(1+len(set)) || len(set) == 0 {
					continue
				}
				selects := labels.SelectorFromSet(set)
				was, is := !c.isNew && selects.Matches(c.was.labels), selects.Matches(c.is.labels)
				switch {
				case is && !was:
					e := kind.Effect{Type: effect.RouteOpened, What: kind.Say("%s routes to its Pods", world.IDOf(service)), Risk: "clients of this Service reach them"}
					if openness(service) > 0 {
						e.Risk = isOutside
					}
					r.effects = append(r.effects, effect.Of(c.id, e)...)
				case was && !is:
					r.effects = append(r.effects, effect.Of(c.id, kind.Effect{Type: effect.RouteRemoved, What: kind.Say("%s no longer routes to its Pods", world.IDOf(service)), Risk: "clients of this Service cannot reach them"})...)
				}
			}
		}
	}
}
