package reach

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

const (
	mayBeOutside = "clients outside of the cluster may reach its backends"
	theyFail     = "they fail, unless another route accepts them"
)

// ReviewRoute reviews Ingresses and the routes of Gateways.
func ReviewRoute(_ *world.World, c diff.Change) (effects []kind.Effect) {
	for _, v := range []values{hosts, parents, encrypted, addresses} {
		effects = append(effects, v.review(c)...)
	}
	return effects
}

var (
	// hosts are the hosts of a route. Without any, it has all hosts of its Gateways.
	hosts = values{
		of: func(o *unstructured.Unstructured) []string {
			if all := texts(o, "spec", "hostnames"); len(all) > 0 || o.GetKind() == "Ingress" {
				return all
			}
			return []string{"all hosts"}
		},
		gone:  kind.Effect{Type: effect.RouteRemoved, What: "no longer accepts requests to %s", Risk: theyFail},
		added: kind.Effect{Type: effect.RouteOpened, What: "accepts requests to %s", Risk: mayBeOutside},
	}

	// parents are the Gateways of a route.
	parents = values{
		of:    func(o *unstructured.Unstructured) []string { return references(o.Object, "spec", "parentRefs") },
		gone:  kind.Effect{Type: effect.RouteRemoved, What: "no longer accepts requests from %s", Risk: theyFail},
		added: kind.Effect{Type: effect.RouteOpened, What: "accepts requests from %s", Risk: mayBeOutside},
	}

	// encrypted are the hosts of an Ingress with the Secrets of their certificates.
	encrypted = values{
		of: func(o *unstructured.Unstructured) (all []string) {
			for _, tls := range world.Items(o.Object, "spec", "tls") {
				secret, _ := tls["secretName"].(string)
				hosts, _, _ := unstructured.NestedStringSlice(tls, "hosts")
				if len(hosts) == 0 {
					hosts = []string{"all hosts"}
				}
				for _, host := range hosts {
					all = append(all, host+" with Secret "+cmp.Or(secret, "by default"))
				}
			}
			return all
		},
		gone:  kind.Effect{Type: effect.RouteChanged, What: "no longer encrypts requests to %s", Risk: "clients may send them in clear text, or get another certificate"},
		added: kind.Effect{Type: effect.RouteChanged, What: "encrypts requests to %s", Risk: "the holder of this key can read them"},
	}

	// addresses are the hosts and paths of a route, with their backends.
	addresses = values{
		of: func(o *unstructured.Unstructured) []string { return slices.Sorted(maps.Keys(ways(o))) }, to: ways,
		gone:    kind.Effect{Type: effect.RouteRemoved, What: "no longer accepts requests to %s", Risk: theyFail},
		added:   kind.Effect{Type: effect.RouteOpened, What: "accepts requests to %s", Risk: mayBeOutside},
		changed: kind.Effect{Type: effect.RouteChanged, What: "sends %s", Risk: isElsewhere},
		change:  "requests to %s to %s instead of %s",
	}
)

// encode returns the JSON of a value in a manifest.
func encode(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // it comes from YAML
	}
	return string(encoded)
}

// ways returns the backends of a route, with its filters, by their addresses. The address of a Gateway's
// route is its match.
func ways(o *unstructured.Unstructured) map[string]string {
	all := map[string][]string{}
	if backend, ok, _ := unstructured.NestedMap(o.Object, "spec", "defaultBackend"); ok {
		all["all other hosts and paths"] = []string{backendOf(backend)}
	}
	for _, rule := range world.Items(o.Object, "spec", "rules") {
		host, _ := rule["host"].(string)
		for _, p := range world.Items(rule, "http", "paths") {
			path, _ := p["path"].(string)
			backend, _ := p["backend"].(map[string]any)
			address := cmp.Or(host, "*") + cmp.Or(path, "/")
			if p["pathType"] == "Exact" {
				address += " exactly"
			}
			all[address] = append(all[address], backendOf(backend))
		}
		if o.GetKind() == "Ingress" {
			continue
		}
		to := strings.Join(references(rule, "backendRefs"), ", ")
		if rule["filters"] != nil {
			to += " with " + encode(rule["filters"])
		}
		matches := []string{"all paths"}
		if list := world.Items(rule, "matches"); len(list) > 0 {
			matches = matches[:0]
			for _, match := range list {
				matches = append(matches, matchOf(match))
			}
		}
		for _, match := range matches {
			all[match] = append(all[match], to)
		}
	}
	joined := map[string]string{}
	for address, backends := range all {
		joined[address] = strings.Join(backends, ", ")
	}
	return joined
}

// matchOf returns the path of a match, if it is the prefix of paths, or its JSON.
func matchOf(match map[string]any) string {
	path, _ := match["path"].(map[string]any)
	value, _ := path["value"].(string)
	if kind, _ := path["type"].(string); len(match) == 1 && value != "" && cmp.Or(kind, "PathPrefix") == "PathPrefix" {
		return value
	}
	return encode(match)
}

// backendOf returns the backend of an Ingress.
func backendOf(backend map[string]any) string {
	name, _, _ := unstructured.NestedString(backend, "service", "name")
	port, _, _ := unstructured.NestedMap(backend, "service", "port")
	if name == "" {
		return encode(backend)
	}
	return fmt.Sprintf("Service %s:%v", name, cmp.Or(port["number"], port["name"]))
}

// references returns the references to Gateways, Services and others in a route.
func references(object map[string]any, path ...string) (all []string) {
	for _, ref := range world.Items(object, path...) {
		kind, _ := ref["kind"].(string)
		name, _ := ref["name"].(string)
		text := cmp.Or(kind, map[string]string{"parentRefs": "Gateway", "backendRefs": "Service"}[path[len(path)-1]]) + " "
		if namespace, _ := ref["namespace"].(string); namespace != "" {
			text += namespace + "/"
		}
		text += name
		rest := maps.Clone(ref)
		for _, key := range []string{"group", "kind", "namespace", "name"} {
			if key != "group" || ref[key] == "" || ref[key] == "gateway.networking.k8s.io" {
				delete(rest, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(rest)) {
			text += fmt.Sprintf(" %s=%s", key, encode(rest[key]))
		}
		all = append(all, text)
	}
	return all
}
