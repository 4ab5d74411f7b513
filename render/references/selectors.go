package references

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// selection is a field that selects objects of a kind by their labels.
type selection struct {
	path, selects string
}

// selectors are the fields that select objects by labels: of their own namespace, unless a field namespaceSelector is
// beside the selector.
var selectors = map[string][]selection{
	"Service":                    {{"spec.selector", "Pod"}},
	"PodDisruptionBudget.policy": {{"spec.selector.matchLabels", "Pod"}},
	"NetworkPolicy.networking.k8s.io": {{"spec.podSelector.matchLabels", "Pod"},
		{"spec.ingress[].from[].podSelector.matchLabels", "Pod"},
		{"spec.egress[].to[].podSelector.matchLabels", "Pod"}},
	"PodMonitor.monitoring.coreos.com":     {{"spec.selector.matchLabels", "Pod"}},
	"ServiceMonitor.monitoring.coreos.com": {{"spec.selector.matchLabels", "Service"}},
	"Probe.monitoring.coreos.com":          {{"spec.targets.ingress.selector.matchLabels", "Ingress"}},
}

// Selector is a field that selects objects by their labels.
type Selector struct {
	From   manifest.Object
	Path   []string
	Labels map[string]string
	// Selects is Pod, Service or Ingress.
	Selects    string
	Namespaces []string
}

// SelectorsOf returns the selectors of an object. A selector with variables, or with expressions, or of namespaces by
// their labels is left out.
func SelectorsOf(o manifest.Object) (all []Selector) {
	for _, s := range selectors[kindOf(o)] {
		Visit(o.Object, manifest.SplitField(s.path), nil, func(_ map[string]any, at []string) {
			around, _ := decoding.At(o.Object, at[:len(at)-1]).(map[string]any)
			labels, _, err := unstructured.NestedStringMap(around, at[len(at)-1])
			namespaces := []string{o.NamespaceOrDefault()}
			beside := slices.Concat(at[:len(at)-2], []string{"namespaceSelector"})
			if other, ok := decoding.At(o.Object, beside).(map[string]any); ok {
				namespaces, _, _ = unstructured.NestedStringSlice(other, "matchNames")
			}
			if err == nil && len(labels)*len(namespaces) > 0 && !hasVariable(slices.Collect(maps.Values(labels))) &&
				around["matchExpressions"] == nil {
				all = append(all, Selector{o, at, labels, s.selects, namespaces})
			}
		})
	}
	return all
}

// Labelled is an object with its own labels or its Pods' labels, for selectors.
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
	} else if kind := kindOf(o); kind == "Service" || kind == "Ingress.networking.k8s.io" {
		all.selects = o.GetKind()
		l.Labels = o.GetLabels()
	} else {
		return
	}
	in.labelled[all] = append(in.labelled[all], l)
	for key, value := range l.Labels {
		one := all
		one.key = key
		one.value = value
		in.labelled[one] = append(in.labelled[one], l)
	}
}

// Selected returns the objects that a selector selects.
func (in *Index) Selected(s Selector) (selected []Labelled) {
	for _, namespace := range s.Namespaces {
		fewest := in.labelled[scope{selects: s.Selects, namespace: namespace}]
		for key, value := range s.Labels {
			if some := in.labelled[scope{s.Selects, namespace, key, value}]; len(some) < len(fewest) {
				fewest = some
			}
		}
		for _, l := range fewest {
			if s.Meets(l.Labels) {
				selected = append(selected, l)
			}
		}
	}
	return selected
}

// Selectable returns the objects of the kind and the namespaces that a selector selects.
func (in *Index) Selectable(s Selector) (all []Labelled) {
	for _, namespace := range s.Namespaces {
		all = append(all, in.labelled[scope{selects: s.Selects, namespace: namespace}]...)
	}
	return all
}

// portFields are the lists and the fields of objects with named ports of what they select.
var portFields = map[string][2]string{
	"Service": {"ports", "targetPort"}, "ServiceMonitor": {"endpoints", "port"},
	"PodMonitor": {"podMetricsEndpoints", "port"},
}

// MissingPort is a named port that nothing of what a Service or a monitor selects has.
type MissingPort struct {
	Path     []string
	Name     string
	Others   []string // that are there
	protocol string
	of       Labelled
}

// String names the object without such a port.
func (m MissingPort) String() string {
	said := fmt.Sprintf("no container of %s has a port %s", m.of.Object, m.Name)
	if m.of.GetKind() == "Service" {
		said = fmt.Sprintf("%s has no port %s", m.of.Object, m.Name)
	}
	if m.protocol != "" && m.protocol != "TCP" {
		said += " of " + m.protocol
	}
	return said
}

// MissingPorts returns the named ports that nothing of what a selector selects has.
func (s Selector) MissingPorts(selected []Labelled) (missing []MissingPort) {
	fields := portFields[s.From.GetKind()]
	if fields[0] == "" || len(selected) == 0 || slices.ContainsFunc(selected, Labelled.IsInjected) {
		return nil
	}
	Visit(s.From.Object, []string{"spec", fields[0], ""}, nil, func(port map[string]any, at []string) {
		m := MissingPort{Path: append(slices.Clone(at), fields[1]), of: selected[0]}
		m.Name, _ = port[fields[1]].(string)
		if fields[1] == "targetPort" {
			named, _ := port["protocol"].(string)
			m.protocol = cmp.Or(named, "TCP")
		}
		for _, l := range selected {
			m.Others = append(m.Others, l.PortNames(m.protocol)...)
		}
		if m.Name != "" && !strings.Contains(m.Name, "$") && !slices.Contains(m.Others, m.Name) && !IsOfMesh(m.Name) {
			missing = append(missing, m)
		}
	})
	return missing
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

// Misses returns the label of a selector that alone does not match labels of an object, if that is a typing error: its
// key, and the label that matches. A namesake is meant, so words of any length may be mistyped.
func (s Selector) Misses(l Labelled) (key, meant string) {
	labels := l.Labels
	misspelled := Misspelled
	if l.GetName() == s.From.GetName() {
		misspelled = Near
	}
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
	case ok && misspelled(s.Labels[key], []string{is}) != "":
		return key, key + ": " + is
	case ok:
		return "", ""
	}
	other := misspelled(key, slices.Collect(maps.Keys(labels)))
	if other == "" || labels[other] != s.Labels[key] {
		return "", ""
	}
	return key, other + ": " + labels[other]
}

// PortNames returns the names of the ports with a protocol, or any, that a Service has, or the
// containers of an object's Pods.
func (l Labelled) PortNames(protocol string) (names []string) {
	if l.GetKind() == "Service" {
		return PortsOf(l.Object.Object["spec"], protocol)
	}
	spec := slices.Concat(l.Template, []string{"spec"})
	Visit(decoding.At(l.Object.Object, spec), []string{"containers|initContainers", ""}, nil,
		func(container map[string]any, at []string) {
			// FindPort of Kubernetes' pkg/api/v1/pod/util.go looks at containers that stay
			if at[0] == "containers" || container["restartPolicy"] == "Always" {
				names = append(names, PortsOf(container, protocol)...)
			}
		})
	return names
}

// PortsOf returns the names of the ports of a container, or of the spec of a Service, with a protocol, or any.
func PortsOf(container any, protocol string) (names []string) {
	Visit(container, []string{"ports", ""}, nil, func(port map[string]any, _ []string) {
		name, _ := port["name"].(string)
		isOf := protocol == "" || cmp.Or(port["protocol"], any("TCP")) == any(protocol)
		if name != "" && isOf {
			names = append(names, name)
		}
	})
	return names
}

// IsInjected reports whether a program may add containers to the Pods of an object.
func (l Labelled) IsInjected() bool {
	metadata := decoding.At(l.Object.Object, append(slices.Clone(l.Template), "metadata"))
	return manifest.Contains(metadata, func(key string, _ any) bool { return strings.Contains(key, "inject") })
}
