package review

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/diff"
)

// routes are the ways to Pods that come, go, or lead elsewhere.
func (w *world) routes() (effects []Effect) {
	for _, c := range w.Changes {
		o := c.Object().Unstructured
		if w.isCovered(o) || w.refused[idOf(o)] { // a cache without one says so
			continue
		}
		var found []Effect
		switch id := idOf(o); {
		case id.Group == "" && id.Kind == "Service":
			found = serviceEffects(c)
		case id.Group == "networking.k8s.io" && id.Kind == "Ingress", id.Group == "gateway.networking.k8s.io" && id.Kind == "HTTPRoute":
			found = ingressEffects(c)
		}
		for _, e := range found {
			e.Object = idOf(o)
			effects = append(effects, e)
		}
	}
	return effects
}

func serviceEffects(c diff.Change) (effects []Effect) {
	if c.After == nil {
		return []Effect{{Type: RouteRemoved, What: "is removed", Risk: "clients find nothing by its name"}}
	}
	kind := text(c.After, "spec", "type")
	isOpen := kind == "LoadBalancer" || kind == "NodePort"
	if c.Before == nil {
		if isOpen {
			effects = append(effects, opened(kind))
		}
		return effects
	}
	if was := text(c.Before, "spec", "type"); isOpen && was != "LoadBalancer" && was != "NodePort" {
		effects = append(effects, opened(kind))
	}
	if gone := without(ports(c.Before), ports(c.After)); len(gone) > 0 {
		effects = append(effects, Effect{Type: RouteRemoved, What: say("does not serve port %s any more", quotedList(gone)), Risk: "clients that use it find nothing there"})
	}
	if was, is := selector(c.Before), selector(c.After); !slices.Equal(was, is) && len(was) > 0 && len(is) > 0 {
		effects = append(effects, Effect{Type: RouteChanged, What: say("leads to Pods with %s instead of %s", quotedList(is), quotedList(was))})
	}
	return effects
}

func opened(kind string) Effect {
	return Effect{Type: RouteOpened, What: say("gets the type %s", quoted(kind)), Risk: "its Pods can be reached from outside of the cluster"}
}

// ports are those of a Service.
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

// selector are the labels of the Pods of a Service.
func selector(service *unstructured.Unstructured) (labels []string) {
	values, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	for _, key := range slices.Sorted(maps.Keys(values)) {
		labels = append(labels, key+"="+values[key])
	}
	return labels
}

// ingressEffects are those of what takes requests from outside.
func ingressEffects(c diff.Change) (effects []Effect) {
	was, is := addresses(c.Before), addresses(c.After)
	if gone := without(was, is); len(gone) > 0 {
		effects = append(effects, Effect{Type: RouteRemoved, What: say("does not take requests to %s any more", quotedList(gone)), Risk: "they fail, unless something else takes them"})
	}
	if more := without(is, was); len(more) > 0 {
		effects = append(effects, Effect{Type: RouteOpened, What: say("takes requests to %s", quotedList(more))})
	}
	return effects
}

// addresses are the hosts of an Ingress with their paths, or the hosts of an HTTPRoute.
func addresses(o *unstructured.Unstructured) (addresses []string) {
	if o == nil {
		return nil
	}
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

// items are the objects of a list.
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

// without are the values that others have not, each once.
func without(values, others []string) (left []string) {
	for _, v := range values {
		if !slices.Contains(others, v) && !slices.Contains(left, v) {
			left = append(left, v)
		}
	}
	return left
}
