package advice

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/object"
)

// makers are what may make a ConfigMap, Secret or Namespace at run time, by what they
// mention: objects of custom kinds, programs by their arguments, and those that RBAC lets
// write what it names.
type makers struct {
	everywhere map[string]bool
	in         map[string]map[string]bool // by namespace
	custom     map[string]map[string]bool // names of objects of custom kinds, by namespace
}

// newMakers returns the makers of an environment in which so much is missing: none where
// nothing is.
func newMakers(e Environment, missing int) makers {
	m := makers{everywhere: map[string]bool{}, in: map[string]map[string]bool{}, custom: map[string]map[string]bool{}}
	if missing == 0 {
		return m
	}
	for _, o := range e.Objects {
		m.add(e.Kinds, o)
	}
	return m
}

// makeNothing are widely used custom kinds whose names and values say nothing of what is
// made.
var makeNothing = []string{
	"DestinationRule", "GRPCRoute", "HTTPRoute", "IngressRoute", "PodMonitor", "PrometheusRule", "ScaledObject",
	"ServiceMonitor", "VerticalPodAutoscaler", "VirtualService",
}

func (m makers) add(kinds *registry.Kinds, o object.Object) {
	gvk := o.GroupVersionKind()
	namespace := o.NamespaceOrDefault()
	switch {
	case kinds.Find(gvk) != nil, gvk.Group == "apiextensions.k8s.io", slices.Contains(makeNothing, gvk.Kind):
	case gvk.Kind == "ClusterRole":
		mentionWritable(m.everywhere, o)
	case gvk.Kind == "Role":
		mentionWritable(set(m.in, namespace), o)
	case gvk.Kind == "Ingress":
		mention(set(m.in, namespace), o.Object["spec"])
	case gvk.Kind == "Service":
		for value := range maps.Values(o.GetAnnotations()) {
			set(m.in, namespace)[value] = true
		}
	case !scheme.Scheme.IsGroupRegistered(gvk.Group):
		set(m.custom, namespace)[o.GetName()] = true
		m.everywhere[o.GetName()] = true
		for key, value := range o.Object {
			if key != "metadata" {
				mention(m.everywhere, value)
			}
		}
	default:
		spec, _ := podSpec(o)
		for _, list := range []string{"initContainers", "containers"} {
			for _, container := range items(spec, list, "") {
				mentionWords(set(m.in, namespace), container["command"])
				mentionWords(set(m.in, namespace), container["args"])
			}
		}
	}
}

// set is the set of a key, which it makes if it has to.
func set(sets map[string]map[string]bool, key string) map[string]bool {
	if sets[key] == nil {
		sets[key] = map[string]bool{}
	}
	return sets[key]
}

// mention adds all texts in a value.
func mention(to map[string]bool, value any) {
	switch value := value.(type) {
	case string:
		to[value] = true
	case []any:
		for _, item := range value {
			mention(to, item)
		}
	case map[string]any:
		for _, item := range value {
			mention(to, item)
		}
	}
}

var notOfNames = regexp.MustCompile(`[^-a-z0-9./]+`)

// mentionWords adds what could be names in the arguments of a program, also as
// namespace/name; paths are none.
func mentionWords(to map[string]bool, arguments any) {
	list, _ := arguments.([]any)
	for _, item := range list {
		argument, _ := item.(string)
		for _, word := range notOfNames.Split(argument, -1) {
			namespace, name, ok := strings.Cut(word, "/")
			switch {
			case !ok:
				to[strings.Trim(word, "-.")] = true
			case namespace != "":
				to[name] = true
			}
		}
	}
}

// mentionWritable adds the names of what a role lets be written.
func mentionWritable(to map[string]bool, role object.Object) {
	rules, _ := role.Object["rules"].([]any)
	for _, item := range rules {
		rule, _ := item.(map[string]any)
		verbs, _ := rule["verbs"].([]any)
		if slices.ContainsFunc(verbs, func(verb any) bool {
			return !slices.Contains([]any{"get", "list", "watch", "use"}, verb)
		}) {
			mention(to, rule["resourceNames"])
		}
	}
}

// wellKnown are what Kubernetes, OpenShift and service meshes put into every namespace.
var wellKnown = []string{
	"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert", "istio-ca-crl", "linkerd-identity-trust-roots",
}

// mayMake says whether something may make an object.
func (m makers) mayMake(id object.ID) bool {
	if slices.Contains(wellKnown, id.Name) || m.everywhere[id.Name] || m.in[id.Namespace][id.Name] {
		return true
	}
	return id.Kind == "Secret" && m.isNamedAfterCustom(id)
}

// isNamedAfterCustom says whether a part of a name is that of an object of a custom kind:
// operators call Secrets "<name>-app", or "<user>.<name>.credentials".
func (m makers) isNamedAfterCustom(id object.ID) bool {
	isBound := func(i int) bool { return i < 0 || i == len(id.Name) || id.Name[i] == '-' || id.Name[i] == '.' }
	for start := range id.Name {
		for end := start + 1; isBound(start-1) && end <= len(id.Name); end++ {
			if isBound(end) && m.custom[id.Namespace][id.Name[start:end]] {
				return true
			}
		}
	}
	return false
}
