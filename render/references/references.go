// Package references finds the fields of objects that name other objects, and what these objects lack. A table has
// the fields: see table.go.
package references

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"

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
	// Container is a container of the Pods of a workload.
	Container Part = "container"
)

// Of returns the references of an object that it needs. It leaves out optional ones, and names with
// variables.
func (in *Index) Of(o manifest.Object) (found []Reference) {
	found = in.ofFields(o)
	if template, ok := podTemplate(o); ok {
		spec := append(slices.Clip(template), "spec")
		first := len(found)
		for _, f := range readTable().fields[pods] {
			found = append(found, f.find(o, spec)...)
		}
		addSubPaths(found[first:], decoding.At(o.Object, spec), spec)
	}
	return append(found, in.params(o)...)
}

// ofFields returns the references by the fields of an object's own kind. A configured field that may name objects of
// several kinds names the one that is there.
func (in *Index) ofFields(o manifest.Object) (found []Reference) {
	isKnown := map[string]bool{}
	isThere := map[string]bool{}
	for _, f := range readTable().fields[kindOf(o)] {
		for _, r := range f.find(o, nil) {
			isKnown[manifest.JoinField(r.Path)] = true
			found = append(found, r)
		}
	}
	gvk := o.GroupVersionKind()
	known := len(found)
	from := resid.Gvk{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
	for _, c := range in.configured {
		if !from.IsSelected(&c.From) {
			continue
		}
		to := groupKind(manifest.ID{Group: cmp.Or(c.To.Group, readTable().groups[c.To.Kind]), Kind: c.To.Kind})
		for _, r := range newField(c.Path, to).find(o, nil) {
			if at := manifest.JoinField(r.Path); !isKnown[at] {
				isThere[at] = isThere[at] || in.Has(r.To)
				found = append(found, r)
			}
		}
	}
	return append(found[:known:known], slices.DeleteFunc(found[known:], func(r Reference) bool {
		return isThere[manifest.JoinField(r.Path)] && !in.Has(r.To)
	})...)
}

// params returns the reference of a binding to the parameters of its policy, which tells their kind.
func (in *Index) params(o manifest.Object) []Reference {
	policy, isBinding := strings.CutSuffix(o.GetKind(), "AdmissionPolicyBinding")
	if !isBinding {
		return nil
	}
	name, _ := decoding.At(o.Object, []string{"spec", "policyName"}).(string)
	for _, p := range in.Find(manifest.ID{Group: o.GroupVersionKind().Group, Kind: policy + "AdmissionPolicy",
		Name: name}) {
		kind, _ := decoding.At(p.Object, []string{"spec", "paramKind", "kind"}).(string)
		version, _ := decoding.At(p.Object, []string{"spec", "paramKind", "apiVersion"}).(string)
		to := groupKind(manifest.ID{Group: manifest.Group(version), Kind: kind})
		return newField([]string{"spec", "paramRef", "name"}, to).find(o, nil)
	}
	return nil
}

// addSubPaths adds to the references of a Pod's volumes the keys that its containers mount alone.
func addSubPaths(all []Reference, spec any, at []string) {
	Visit(spec, []string{containers, "", "volumeMounts", ""}, at, func(mount map[string]any, at []string) {
		file, _ := mount["subPath"].(string)
		if file == "" || strings.Contains(file, "$") {
			return
		}
		for i, r := range all {
			volume, _ := decoding.At(r.From.Object, r.Path[:max(0, len(r.Path)-2)]).(map[string]any)
			source, _ := volume[r.Path[max(0, len(r.Path)-2)]].(map[string]any)
			if volume["name"] == mount["name"] && source["items"] == nil && len(r.Path) > 4 &&
				r.Path[len(r.Path)-4] == "volumes" && (r.To.Kind == "ConfigMap" || r.To.Kind == "Secret") {
				all[i].Parts = append(all[i].Parts, Needed{Key, append(slices.Clone(at), "subPath"), file})
			}
		}
	})
}

func kindOf(o manifest.Object) string { return o.GroupVersionKind().GroupKind().String() }

// podTemplate returns the path of the Pod template in an object: of a built-in kind, or of a kind such as a Rollout.
func podTemplate(o manifest.Object) (path []string, ok bool) {
	if manifest.MakesPods(o.Unstructured) {
		path, _ = manifest.PodTemplatePath(o.GetKind())
		return slices.Clip(path), true
	}
	for _, path := range [][]string{{"spec", "template"}, {"spec", "jobTargetRef", "template"}} {
		if _, ok = decoding.At(o.Object, slices.Concat(path, []string{"spec", "containers"})).([]any); ok {
			return path, true
		}
	}
	return nil, false
}

// find returns the references of an object by a field below some keys.
func (f field) find(o manifest.Object, below []string) (found []Reference) {
	Visit(decoding.At(o.Object, below), f.parent, below, func(parent map[string]any, at []string) {
		for key := range strings.SplitSeq(f.path[len(f.path)-1], "|") {
			parent := parent
			at := at
			if mapping, ok := parent[key].(map[string]any); ok { // as kustomize reads a nameReference
				at = append(slices.Clone(at), key)
				key = "name"
				parent = mapping
			}
			name, _ := parent[key].(string)
			isOptional, _ := parent["optional"].(bool)
			if name == "" || name == "*" || isOptional || strings.Contains(name, "$") {
				continue
			}
			r := Reference{From: o, Path: append(slices.Clone(at), key), To: f.target(o, parent, name)}
			for _, p := range f.parts {
				if p.isOfObject {
					r.addParts(p, o.Object, nil)
				} else {
					r.addParts(p, parent, at)
				}
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
	if isClusterScoped(o.GetKind()) {
		id.Namespace = "" // the controller's, which is unknown here
	}
	text := func(key string) string { value, _ := parent[key].(string); return value }
	if at := f.parent; len(at) > 0 && at[len(at)-1] == "annotations" {
		text = func(string) string { return "" }
		if namespace, name, isQualified := strings.Cut(name, "/"); isQualified {
			id.Namespace = namespace
			id.Name = name
		}
	}
	if namespace := text("namespace"); namespace != "" {
		id.Namespace = namespace
	}
	if kind := text("kind"); kind != "" && kind != id.Kind {
		id.Kind = kind
		if group, isKnown := readTable().groups[kind]; isKnown {
			id.Group = group
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

// isClusterScoped reports whether objects of a kind have no namespace, as far as the table names the kind.
func isClusterScoped(kind string) bool {
	return kind != "SecretProviderClass" && strings.HasSuffix(kind, "Class") ||
		strings.HasPrefix(kind, "Cluster") && kind != "Cluster" || strings.HasSuffix(kind, "AdmissionPolicy") ||
		strings.HasSuffix(kind, "AdmissionPolicyBinding") ||
		slices.Contains([]string{"PersistentVolume", "PriorityLevelConfiguration", "Namespace"}, kind)
}

// addParts adds the parts that are in a field of a mapping, or the one that is needed without the field.
func (r *Reference) addParts(p partField, parent map[string]any, below []string) {
	last := len(p.path) - 1
	isSaid := false
	if last >= 0 {
		Visit(parent, p.path[:last], below, func(in map[string]any, at []string) {
			name := ""
			switch value := in[p.path[last]].(type) {
			case string:
				name = value
			case int64, float64:
				name = fmt.Sprint(value)
			}
			isSaid = isSaid || name != ""
			if name != "" && name != "*" && !strings.Contains(name, "$") {
				r.Parts = append(r.Parts, Needed{p.Part, append(slices.Clone(at), p.path[last]), name})
			}
		})
	}
	if !isSaid && p.otherwise != "" {
		r.Parts = append(r.Parts, Needed{p.Part, r.Path, p.otherwise})
	}
}

// VisitPods calls found with each mapping at a path of the table in the spec of an object's Pods, and with its own
// path. The object is of a built-in kind.
func VisitPods(o manifest.Object, path string, found func(mapping map[string]any, at []string)) {
	if manifest.MakesPods(o.Unstructured) {
		template, _ := manifest.PodTemplatePath(o.GetKind())
		spec := append(slices.Clip(template), "spec")
		Visit(decoding.At(o.Object, spec), manifest.SplitField(path), spec, found)
	}
}

// Visit calls found with each mapping at a path of the table in content, and with its own path.
func Visit(content any, path, at []string, found func(mapping map[string]any, at []string)) {
	at = slices.Clip(at)
	switch content := content.(type) {
	case []any:
		if len(path) > 0 && path[0] == "" {
			path = path[1:]
		}
		for i, item := range content {
			Visit(item, path, append(at, fmt.Sprintf("[%d]", i)), found)
		}
	case map[string]any:
		if len(path) == 0 {
			found(content, at)
			return
		}
		keys := strings.SplitSeq(path[0], "|")
		rest := path[1:]
		if path[0] == "*" {
			keys = slices.Values(slices.Sorted(maps.Keys(content)))
		}
		for key := range keys {
			if value, ok := content[key]; ok {
				Visit(value, rest, append(at, key), found)
			}
		}
	}
}
