package review

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
)

// reviewService reviews Services: opened, closed and changed routes to Pods.
func reviewService(w *world, c diff.Change) (effects []kind.Effect) {
	if c.After == nil {
		return removalOf(RouteRemoved, "clients cannot resolve its name")(w, c)
	}
	if isOpen(c.After) && (c.Before == nil || !isOpen(c.Before)) {
		effects = append(effects, kind.Effect{Type: RouteOpened, What: kind.Say("gets the type %s", text(c.After, "spec", "type")), Risk: "its Pods are reachable from outside of the cluster"})
	}
	effects = append(effects, served.review(w, c)...)
	if c.Before == nil {
		return effects
	}
	if was, is := selector(c.Before), selector(c.After); was != is && was != "" && is != "" {
		from, to := kind.SayBoth(was, is)
		effects = append(effects, kind.Effect{Type: RouteChanged, What: kind.Say("routes to Pods with %s instead of %s", to, from)})
	}
	return effects
}

// isOpen reports whether a Service accepts connections from outside of the cluster.
func isOpen(service *unstructured.Unstructured) bool {
	return slices.Contains([]string{"LoadBalancer", "NodePort"}, text(service, "spec", "type"))
}

// served are the ports of a Service.
var served = values{
	of:   ports,
	gone: kind.Effect{Type: RouteRemoved, What: "no longer serves port %s", Risk: "clients of this port cannot connect"},
}

func ports(service *unstructured.Unstructured) (ports []string) {
	for _, port := range items(service.Object, "spec", "ports") {
		name := fmt.Sprint(port["port"])
		if protocol, _ := port["protocol"].(string); protocol != "" && protocol != "TCP" {
			name += "/" + protocol
		}
		ports = append(ports, name)
	}
	return ports
}

// selector returns the labels of the Pods of a Service.
func selector(service *unstructured.Unstructured) string {
	values, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	return labels.Set(values).String()
}

// requests are the addresses of an Ingress or HTTPRoute.
var requests = values{
	of:    addresses,
	gone:  kind.Effect{Type: RouteRemoved, What: "no longer accepts requests to %s", Risk: "they fail, unless another route accepts them"},
	added: kind.Effect{Type: RouteOpened, What: "accepts requests to %s"},
}

// addresses returns the hosts of an Ingress with their paths, or the hosts of an HTTPRoute.
func addresses(o *unstructured.Unstructured) (addresses []string) {
	hosts, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "hostnames")
	for _, rule := range items(o.Object, "spec", "rules") {
		host, _ := rule["host"].(string)
		for _, p := range items(rule, "http", "paths") {
			path, _ := p["path"].(string)
			addresses = append(addresses, cmp.Or(host, "*")+cmp.Or(path, "/"))
		}
	}
	return slices.Concat(hosts, addresses)
}

// items returns the objects of a list.
func items(object map[string]any, path ...string) (items []map[string]any) {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	list, _ := value.([]any)
	for _, item := range list {
		if item, ok := item.(map[string]any); ok {
			items = append(items, item)
		}
	}
	return items
}
