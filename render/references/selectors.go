package references

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// selectors are the fields that select Pods, or Services, of their namespace by labels.
var selectors = map[string][]string{
	"Service":                              {"spec", "selector"},
	"PodDisruptionBudget.policy":           {"spec", "selector", "matchLabels"},
	"NetworkPolicy.networking.k8s.io":      {"spec", "podSelector", "matchLabels"},
	"PodMonitor.monitoring.coreos.com":     {"spec", "selector", "matchLabels"},
	"ServiceMonitor.monitoring.coreos.com": {"spec", "selector", "matchLabels"},
}

// Selector is a field that selects objects by their labels.
type Selector struct {
	From   manifest.Object
	Path   []string
	Labels map[string]string
	// Selects is Pod or Service.
	Selects string
}

// SelectorOf returns the selector of an object. A selector with variables, or with expressions, or of other
// namespaces is left out.
func SelectorOf(o manifest.Object) (s Selector, ok bool) {
	path := selectors[kindOf(o)]
	if path == nil {
		return s, false
	}
	around, _ := decoding.At(o.Object, path[:len(path)-1]).(map[string]any)
	labels, _, err := unstructured.NestedStringMap(o.Object, path...)
	values := slices.Collect(maps.Values(labels))
	namespaces := decoding.At(o.Object, []string{"spec", "namespaceSelector"})
	if err != nil || len(labels) == 0 || hasVariable(values) || around["matchExpressions"] != nil || namespaces != nil {
		return s, false
	}
	s = Selector{o, path, labels, "Pod"}
	if o.GetKind() == "ServiceMonitor" {
		s.Selects = "Service"
	}
	return s, true
}

// Labelled is an object with the labels by which it, or its Pods, are selected.
type Labelled struct {
	manifest.Object
	Labels map[string]string
	// Template is the path of its Pod template.
	Template []string
}

// scope is a namespace with the objects that a sort of selector may select, all or those with a label.
type scope struct{ selects, namespace, key, value string }

// addLabelled adds an object that a selector may select.
func (in *Index) addLabelled(o manifest.Object) {
	l := Labelled{Object: o}
	all := scope{selects: "Pod", namespace: o.NamespaceOrDefault()}
	if template, ok := podTemplate(o); ok {
		l.Template = template
		l.Labels, _, _ = unstructured.NestedStringMap(o.Object, append(template, "metadata", "labels")...)
	} else if kindOf(o) == "Service" {
		all.selects, l.Labels = "Service", o.GetLabels()
	} else {
		return
	}
	in.labelled[all] = append(in.labelled[all], l)
	for key, value := range l.Labels {
		one := all
		one.key, one.value = key, value
		in.labelled[one] = append(in.labelled[one], l)
	}
}

// Selected returns the objects that a selector selects.
func (in *Index) Selected(s Selector) []Labelled {
	fewest := in.Selectable(s)
	for key, value := range s.Labels {
		some := in.labelled[scope{s.Selects, s.From.NamespaceOrDefault(), key, value}]
		if len(some) < len(fewest) {
			fewest = some
		}
	}
	return slices.DeleteFunc(slices.Clone(fewest), func(l Labelled) bool { return !s.Meets(l.Labels) })
}

// Selectable returns the objects of the kind and namespace that a selector selects.
func (in *Index) Selectable(s Selector) []Labelled {
	return in.labelled[scope{selects: s.Selects, namespace: s.From.NamespaceOrDefault()}]
}

// Meets reports whether an object is selected.
func (s Selector) Meets(labels map[string]string) bool {
	for key, value := range s.Labels {
		if is, ok := labels[key]; !ok || is != value {
			return false
		}
	}
	return true
}

// Misses returns the label of a selector that alone does not match labels, if that is a typing error: its key, and
// the label that matches.
func (s Selector) Misses(labels map[string]string) (key, meant string) {
	for wanted, value := range s.Labels {
		if is, ok := labels[wanted]; ok && is == value {
			continue
		}
		if key != "" {
			return "", ""
		}
		key = wanted
	}
	is, ok := labels[key]
	switch {
	case ok && Misspelled(s.Labels[key], []string{is}) != "":
		return key, key + ": " + is
	case ok:
		return "", ""
	}
	other := Misspelled(key, slices.Collect(maps.Keys(labels)))
	if other == "" || labels[other] != s.Labels[key] {
		return "", ""
	}
	return key, other + ": " + labels[other]
}

// PortNames returns the names of the ports with a protocol that the containers of an object's Pods have.
func (l Labelled) PortNames(protocol string) (names []string) {
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := decoding.At(l.Object.Object, slices.Concat(l.Template, []string{"spec", list})).([]any)
		for _, container := range containers {
			if list == "initContainers" && decoding.At(container, []string{"restartPolicy"}) != "Always" {
				continue // FindPort of Kubernetes' pkg/api/v1/pod/util.go looks at containers that stay
			}
			ports, _ := decoding.At(container, []string{"ports"}).([]any)
			for _, item := range ports {
				port, _ := item.(map[string]any)
				if name, _ := port["name"].(string); name != "" && protocolOf(port) == protocol {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func protocolOf(port map[string]any) string {
	if protocol, _ := port["protocol"].(string); protocol != "" {
		return protocol
	}
	return "TCP"
}

// IsInjected reports whether a program may add containers to the Pods of an object.
func (l Labelled) IsInjected() bool {
	metadata := decoding.At(l.Object.Object, append(slices.Clone(l.Template), "metadata"))
	return manifest.Contains(metadata, func(key string, _ any) bool { return strings.Contains(key, "inject") })
}
