package references

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// Index has the objects of an environment, with the objects that they make.
type Index struct {
	objects map[manifest.ID][]manifest.Object // by an ID without namespace
	names   map[manifest.ID][]string          // of all objects in a namespace, by kind: an ID without a name
	made    map[manifest.ID]bool
	// operated are the names and values of custom resources that may make any object.
	operated   map[string]bool
	labelled   map[scope][]Labelled
	configured []Configured
	// isOpen reports whether charts that are not among the objects may install others.
	isOpen bool
}

// NewIndex returns the index of the objects of an environment, with those that charts install, and with the fields that
// are configured to name objects.
func NewIndex(objects []manifest.Object, configured ...Configured) *Index {
	in := &Index{map[manifest.ID][]manifest.Object{}, map[manifest.ID][]string{}, map[manifest.ID]bool{},
		map[string]bool{}, map[scope][]Labelled{}, configured, false}
	isKnown := map[manifest.ID]bool{} // releases whose objects are among the others
	for _, o := range objects {
		if o.Delivery != nil {
			isKnown[o.Delivery.Object().ID()] = true
		}
	}
	for _, o := range objects {
		id := o.ID()
		id.Namespace = ""
		in.objects[id] = append(in.objects[id], o)
		in.addName(o.IDInNamespace())
		in.addMade(o)
		in.addLabelled(o)
		if isOperated(o) && !isKnown[o.ID()] {
			in.isOpen = in.isOpen || isInstaller(o.GetKind())
			in.addOperated(o)
		}
	}
	return in
}

// addOperated adds the name and the values of a custom resource by which a program may make any object, without the
// names in its own references.
func (in *Index) addOperated(o manifest.Object) {
	referred := map[string]int{}
	for _, r := range in.ofFields(o) {
		referred[r.To.Name]++
	}
	in.operated[o.GetName()] = true
	for _, value := range manifest.Values(o.Object["spec"]) {
		if text, isText := value.(string); isText {
			if referred[text]--; referred[text] < 0 {
				in.operated[text] = true
			}
		}
	}
}

// hashed matches the hash that kustomize adds to the name of a generated object: a source object refers to it without.
var hashed = regexp.MustCompile(`-[2456789bcdfghkmt]{10}$`)

// addName adds a name that a misspelled one may mean.
func (in *Index) addName(id manifest.ID) {
	name := id.Name
	if id.Kind == "ConfigMap" || id.Kind == "Secret" {
		name = hashed.ReplaceAllString(name, "")
	}
	id.Name = ""
	if isClusterScoped(id.Kind) {
		id.Namespace = ""
	}
	in.names[id] = append(in.names[id], name)
}

// isOperated reports whether a program that the table does not know may make objects for an object.
func isOperated(o manifest.Object) bool {
	if isInstaller(o.GetKind()) {
		return true
	}
	group := o.GroupVersionKind().Group
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") &&
		readTable().fields[kindOf(o)] == nil && readTable().makers[kindOf(o)] == nil
}

func isInstaller(kind string) bool {
	return slices.Contains([]string{"HelmRelease", "HelmChart", "Application", "ApplicationSet", "Kustomization",
		"ResourceSet"}, kind)
}

// HasAllClasses reports whether an ID is of a class of Ingresses, and the environment brings them all: it has some, no
// chart may install others, and no platform has one of this name.
func (in *Index) HasAllClasses(id manifest.ID) bool {
	return id.Kind == "IngressClass" && len(in.names[manifest.ID{Group: id.Group, Kind: id.Kind}]) > 0 && !in.isOpen &&
		!slices.Contains([]string{"alb", "openshift-default", "public", "traefik"}, id.Name)
}

// IsOpen reports whether charts that are not among the objects may install others.
func (in *Index) IsOpen() bool { return in.isOpen }

// addMade adds the objects that a maker makes. An Ingress or a Gateway makes Secrets by annotations of cert-manager.
func (in *Index) addMade(o manifest.Object) {
	isShim := o.GetKind() == "Ingress" || o.GetKind() == "Gateway"
	if isShim && !slices.ContainsFunc(slices.Collect(maps.Keys(o.GetAnnotations())), func(key string) bool {
		return strings.Contains(key, "cert-manager.io/") || strings.HasSuffix(key, "/tls-acme")
	}) {
		return
	}
	for _, f := range readTable().makers[kindOf(o)] {
		id := manifest.ID{Kind: f.to, Namespace: o.NamespaceOrDefault(), Name: o.GetName()}
		Visit(o.Object, f.parent, nil, func(parent map[string]any, _ []string) {
			if name, _ := parent[f.path[len(f.path)-1]].(string); name != "" {
				id.Name = name
				in.made[id] = true
				in.addName(id)
			}
		})
		if id.Name == o.GetName() && !isShim {
			in.made[id] = true
			in.addName(id)
		}
	}
}

// Find returns the objects that an ID may name. An object without a namespace may get any.
func (in *Index) Find(id manifest.ID) (found []manifest.Object) {
	for _, o := range in.objects[manifest.ID{Group: id.Group, Kind: id.Kind, Name: id.Name}] {
		if o.GetNamespace() == id.Namespace || o.GetNamespace() == "" || id.Namespace == "" {
			found = append(found, o)
		}
	}
	return found
}

func groupKind(id manifest.ID) string {
	if id.Group == "" {
		return id.Kind
	}
	return id.Kind + "." + id.Group
}

// Has reports whether an object with an ID is there, or is made.
func (in *Index) Has(id manifest.ID) bool {
	return len(in.Find(id)) > 0 || in.made[id] || slices.Contains(everywhere, id.Kind+" "+id.Name)
}

// everywhere are objects that every cluster has.
var everywhere = []string{"ServiceAccount default", "ConfigMap kube-root-ca.crt", "AppProject default",
	"Namespace default", "ClusterRole cluster-admin", "ClusterRole admin", "ClusterRole edit", "ClusterRole view",
	"Service kubernetes"}

// Similar returns the name of an object of the kind and namespace of an ID that a typing error may have turned
// into its name, or "". It returns "" if another program may make an object with that name.
func (in *Index) Similar(id manifest.ID) string {
	for end, r := range id.Name + "-" {
		if r == '-' && in.operated[id.Name[:end]] {
			return ""
		}
	}
	name := id.Name
	id.Name = ""
	return Misspelled(name, in.names[id])
}

// Lacks returns the parts of a reference that its object does not have, if there is one and all of its
// parts are known.
func (in *Index) Lacks(r Reference) (missing []Needed) {
	if len(r.Parts) == 0 || in.made[r.To] {
		return nil
	}
	targets := in.Find(r.To)
	if len(targets) != 1 {
		return nil
	}
	for _, n := range r.Parts {
		if names, isKnown := PartsOf(targets[0], n.Part); isKnown && !slices.Contains(names, n.Name) &&
			!IsOfMesh(n.Name) {
			missing = append(missing, n)
		}
	}
	return missing
}

// PartsOf returns the names of all parts of an object, if they are known: keys, ports by name and number, listeners.
func PartsOf(o manifest.Object, part Part) (names []string, isKnown bool) {
	const gateway = "Gateway.gateway.networking.k8s.io"
	switch kind := kindOf(o); {
	case part == Key && (kind == "ConfigMap" || kind == "Secret"):
		names = keysOf(o)
	case part == Port && kind == "Service":
		if decoding.At(o.Object, []string{"spec", "type"}) != "ExternalName" {
			names = fieldsOfItems(o, []string{"spec", "ports", ""}, "name", "port")
		}
	case part == Port && kind == gateway:
		names = fieldsOfItems(o, []string{"spec", "listeners", ""}, "port")
	case part == Listener && kind == gateway:
		names = fieldsOfItems(o, []string{"spec", "listeners", ""}, "name")
	case part == Container:
		if template, ok := podTemplate(o); ok && !(Labelled{Object: o, Template: template}).IsInjected() {
			names = fieldsOfItems(o, append(template, "spec", "containers|initContainers", ""), "name")
		}
	}
	return names, len(names) > 0 && !hasVariable(names)
}

// keysOf returns the keys of a ConfigMap or a Secret, unless a program may add others.
func keysOf(o manifest.Object) (keys []string) {
	if o.Object["type"] == "kubernetes.io/service-account-token" || isCompleted(o) {
		return nil
	}
	for _, field := range []string{"data", "binaryData", "stringData"} {
		data, _ := o.Object[field].(map[string]any)
		keys = slices.AppendSeq(keys, maps.Keys(data))
	}
	return keys
}

// ofMesh matches the names of ports and containers that programs add to Pods, as a service mesh.
var ofMesh = regexp.MustCompile(`^(http-envoy|linkerd-|dapr|istio|vault-agent)`)

// IsOfMesh reports whether a port or a container has the name of one that a program adds to Pods.
func IsOfMesh(name string) bool { return ofMesh.MatchString(name) }

func fieldsOfItems(o manifest.Object, list []string, fields ...string) (values []string) {
	Visit(o.Object, list, nil, func(item map[string]any, _ []string) {
		for _, field := range fields {
			if value := item[field]; value != nil {
				values = append(values, fmt.Sprint(value))
			}
		}
	})
	return values
}

func hasVariable(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "$") })
}

// isCompleted reports whether a program may add keys to an object because of a label or an annotation, as one
// that injects certificates, replicates, or generates passwords.
func isCompleted(o manifest.Object) bool {
	words := []string{"inject", "reflect", "replicat", "generate", "vault", "avp.", "toolkit.fluxcd.io/ssa", "sync"}
	for _, entries := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
		for key := range entries {
			if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(key, word) }) {
				return true
			}
		}
	}
	return false
}
