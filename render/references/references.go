// Package references finds the fields of objects that name other objects, and what these objects lack. A table has
// the fields: see table.go.
package references

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// Reference is a field of an object that names another object.
type Reference struct {
	From manifest.Object
	// Path is the path of the name, with indexes in brackets.
	Path []string
	// To is the named object. It has a namespace unless its kind is known to have none.
	To manifest.ID
	// Parts are the parts of the object that From needs.
	Parts []Needed
}

// Needed is a part of an object that another object needs.
type Needed struct {
	Part
	// Path is the field with the name of the part, or the name of the object.
	Path []string
	Name string
}

// Part is a sort of part.
type Part string

// The sorts of parts.
const (
	Key      Part = "key"      // of a ConfigMap or Secret
	Port     Part = "port"     // of a Service, by name or number
	Listener Part = "listener" // of a Gateway
)

// field is a row of the table for one kind.
type field struct {
	row
	path, parent []string
}

// fields returns the rows of a table by kind.
func fields(table []row) map[string][]field {
	all := map[string][]field{}
	for _, r := range table {
		kinds, group, hasGroup := strings.Cut(r.in, ".")
		if hasGroup {
			group = "." + group
		}
		path := manifest.SplitField(r.path)
		for kind := range strings.SplitSeq(kinds, "|") {
			all[kind+group] = append(all[kind+group], field{r, path, path[:len(path)-1]})
		}
	}
	return all
}

var (
	byKind  = sync.OnceValue(func() map[string][]field { return fields(table) })
	byMaker = sync.OnceValue(func() map[string][]field { return fields(makers) })
)

// Of returns the references of an object that it needs. It leaves out optional ones, and names with
// variables.
func Of(o manifest.Object) (found []Reference) {
	for _, f := range byKind()[kindOf(o)] {
		found = append(found, f.find(o, nil)...)
	}
	if template, ok := podTemplate(o); ok {
		for _, f := range byKind()[pods] {
			found = append(found, f.find(o, append(template, "spec"))...)
		}
	}
	return found
}

func kindOf(o manifest.Object) string { return o.GroupVersionKind().GroupKind().String() }

// podTemplate returns the path of the Pod template in an object: of a built-in kind, or of a kind such as a Rollout.
func podTemplate(o manifest.Object) (path []string, ok bool) {
	if manifest.MakesPods(o.Unstructured) {
		path, _ = manifest.PodTemplatePath(o.GetKind())
		return slices.Clip(path), true
	}
	path = []string{"spec", "template"}
	_, ok = decoding.At(o.Object, append(path, "spec", "containers")).([]any)
	return slices.Clip(path), ok
}

// find returns the references of an object by a field below some keys.
func (f field) find(o manifest.Object, below []string) (found []Reference) {
	visit(decoding.At(o.Object, below), f.parent, below, func(parent map[string]any, at []string) {
		for key := range strings.SplitSeq(f.path[len(f.path)-1], "|") {
			name, _ := parent[key].(string)
			isOptional, _ := parent["optional"].(bool)
			if name == "" || name == "*" || isOptional || strings.Contains(name, "$") {
				continue
			}
			r := Reference{From: o, Path: append(slices.Clone(at), key), To: f.target(o, parent, name)}
			for _, p := range f.parts {
				r.addParts(f.part, parent, manifest.SplitField(p), at)
			}
			if len(r.Parts) == 0 && f.otherwise != "" {
				r.Parts = []Needed{{f.part, r.Path, f.otherwise}}
			}
			found = append(found, r)
		}
	})
	return found
}

// target returns the object that a name in a mapping of an object names.
func (f field) target(o manifest.Object, parent map[string]any, name string) manifest.ID {
	kind, group, _ := strings.Cut(f.to, ".")
	id := manifest.ID{Group: group, Kind: kind, Namespace: o.NamespaceOrDefault(), Name: name}
	text := func(key string) string { value, _ := parent[key].(string); return value }
	if at := f.parent; len(at) > 0 && at[len(at)-1] == "annotations" {
		text = func(string) string { return "" }
		if namespace, name, isQualified := strings.Cut(name, "/"); isQualified {
			id.Namespace, id.Name = namespace, name
		}
	}
	if namespace := text("namespace"); namespace != "" {
		id.Namespace = namespace
	}
	if kind := text("kind"); kind != "" && (kind != id.Kind || f.to == "") {
		id.Kind = kind
		if isCore(kind) {
			id.Group = ""
		}
	}
	if version := text("apiVersion"); version != "" {
		id.Group = manifest.Group(version)
	}
	id.Group = cmp.Or(text("apiGroup"), text("group"), id.Group)
	if isClusterScoped(id.Kind) {
		id.Namespace = ""
	}
	return id
}

// isCore reports whether a kind without a group is of the core group, and not of the group of its neighbours.
func isCore(kind string) bool {
	return slices.Contains([]string{"ConfigMap", "Secret", "Service", "Pod"}, kind)
}

// isClusterScoped reports whether objects of a kind have no namespace, as far as the table names the kind.
func isClusterScoped(kind string) bool {
	return kind != "SecretProviderClass" && strings.HasSuffix(kind, "Class") || strings.HasPrefix(kind, "Cluster") ||
		slices.Contains([]string{"PersistentVolume", "PriorityLevelConfiguration", "ValidatingAdmissionPolicy",
			"MutatingAdmissionPolicy", "Namespace"}, kind)
}

// addParts adds the parts that are in a field of a mapping.
func (r *Reference) addParts(part Part, parent map[string]any, path, below []string) {
	last := len(path) - 1
	visit(parent, path[:last], below, func(in map[string]any, at []string) {
		name := ""
		switch value := in[path[last]].(type) {
		case string:
			name = value
		case int64, float64:
			name = fmt.Sprint(value)
		}
		if name != "" && !strings.Contains(name, "$") {
			r.Parts = append(r.Parts, Needed{part, append(slices.Clone(at), path[last]), name})
		}
	})
}

// visit calls found with each mapping at a path of the table in content, and with its own path.
func visit(content any, path, at []string, found func(mapping map[string]any, at []string)) {
	if len(path) == 0 {
		if mapping, ok := content.(map[string]any); ok {
			found(mapping, at)
		}
		return
	}
	at = slices.Clip(at)
	switch content := content.(type) {
	case []any:
		if path[0] == "" {
			for i, item := range content {
				visit(item, path[1:], append(at, fmt.Sprintf("[%d]", i)), found)
			}
		}
	case map[string]any:
		for key := range strings.SplitSeq(path[0], "|") {
			if value, ok := content[key]; ok {
				visit(value, path[1:], append(at, key), found)
			}
		}
	}
}

// Index has the objects of an environment, with the objects that they make.
type Index struct {
	objects map[string]map[string][]manifest.Object // by kind and name
	names   map[manifest.ID][]string                // of all objects in a namespace, by kind: an ID without a name
	made    map[manifest.ID]bool
	// operated are the names and values of custom resources that may make any object.
	operated map[string]bool
	labelled map[scope][]Labelled
}

// NewIndex returns the index of the objects of an environment, with those that charts install.
func NewIndex(objects []manifest.Object) *Index {
	in := &Index{map[string]map[string][]manifest.Object{}, map[manifest.ID][]string{}, map[manifest.ID]bool{},
		map[string]bool{}, map[scope][]Labelled{}}
	for _, o := range objects {
		kind := kindOf(o)
		if in.objects[kind] == nil {
			in.objects[kind] = map[string][]manifest.Object{}
		}
		in.objects[kind][o.GetName()] = append(in.objects[kind][o.GetName()], o)
		in.addName(o.IDInNamespace())
		in.addMade(o)
		in.addLabelled(o)
		if isOperated(o) {
			in.operated[o.GetName()] = true
			for _, value := range manifest.Values(o.Object["spec"]) {
				if text, isText := value.(string); isText {
					in.operated[text] = true
				}
			}
		}
	}
	return in
}

// addName adds a name that a misspelled one may mean.
func (in *Index) addName(id manifest.ID) {
	name := id.Name
	if id.Name = ""; isClusterScoped(id.Kind) {
		id.Namespace = ""
	}
	in.names[id] = append(in.names[id], name)
}

// isOperated reports whether a program that the table does not know may make objects for an object.
func isOperated(o manifest.Object) bool {
	if kind := o.GetKind(); kind == "HelmRelease" || kind == "HelmChart" || kind == "Application" ||
		kind == "ApplicationSet" {
		return true
	}
	group := o.GroupVersionKind().Group
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") &&
		byKind()[kindOf(o)] == nil && byMaker()[kindOf(o)] == nil
}

// addMade adds the objects that a maker makes. An Ingress or a Gateway makes Secrets by annotations of cert-manager.
func (in *Index) addMade(o manifest.Object) {
	isShim := o.GetKind() == "Ingress" || o.GetKind() == "Gateway"
	if isShim && !slices.ContainsFunc(slices.Collect(maps.Keys(o.GetAnnotations())), func(key string) bool {
		return strings.Contains(key, "cert-manager.io/") || strings.HasSuffix(key, "/tls-acme")
	}) {
		return
	}
	for _, f := range byMaker()[kindOf(o)] {
		id := manifest.ID{Kind: f.to, Namespace: o.NamespaceOrDefault(), Name: o.GetName()}
		visit(o.Object, f.parent, nil, func(parent map[string]any, _ []string) {
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
	for _, o := range in.objects[groupKind(id)][id.Name] {
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

// Has reports whether there is an object with an ID, or one that is made.
func (in *Index) Has(id manifest.ID) bool { return len(in.Find(id)) > 0 || in.made[id] }

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
		if names, isKnown := PartsOf(targets[0], n.Part); isKnown && !slices.Contains(names, n.Name) {
			missing = append(missing, n)
		}
	}
	return missing
}

// PartsOf returns the names of all parts of an object, if they are known: keys, ports by name and number, listeners.
func PartsOf(o manifest.Object, part Part) (names []string, isKnown bool) {
	switch {
	case part == Key && (kindOf(o) == "ConfigMap" || kindOf(o) == "Secret"):
		for _, field := range []string{"data", "binaryData", "stringData"} {
			data, _, _ := unstructured.NestedMap(o.Object, field)
			names = slices.AppendSeq(names, maps.Keys(data))
		}
		kind, _, _ := unstructured.NestedString(o.Object, "type")
		return names, len(names) > 0 && kind != "kubernetes.io/service-account-token" && !isCompleted(o)
	case part == Port && kindOf(o) == "Service":
		names = fieldsOfItems(o, "ports", "name", "port")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "type")
		return names, len(names) > 0 && kind != "ExternalName" && !hasVariable(names)
	case part == Listener && kindOf(o) == "Gateway.gateway.networking.k8s.io":
		names = fieldsOfItems(o, "listeners", "name")
		return names, len(names) > 0 && !hasVariable(names)
	}
	return nil, false
}

// fieldsOfItems returns the values of fields of the items of a list in the spec of an object.
func fieldsOfItems(o manifest.Object, list string, fields ...string) (values []string) {
	items, _ := decoding.At(o.Object, []string{"spec", list}).([]any)
	for _, item := range items {
		content, _ := item.(map[string]any)
		for _, field := range fields {
			if value := content[field]; value != nil {
				values = append(values, fmt.Sprint(value))
			}
		}
	}
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
