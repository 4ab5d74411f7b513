package kustomize

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/filters/patchjson6902"
	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
)

// idleDocuments warns of documents of a patch that select candidates and change none: each has the fields already in
// its source file, and nothing sets them before the patch. It returns nothing where that is not known.
func idleDocuments(paths *Paths, p buildpath.Patch, candidates []buildpath.Candidate) (warnings []manifest.Problem) {
	if p.Renames() || p.Err != nil {
		return nil
	}
	for _, p := range p.Each() {
		isIdle := false
		for _, c := range candidates {
			if !p.Changes(c) {
				continue
			}
			isIdle = isIdleOn(paths, p, c)
			if !isIdle {
				break
			}
		}
		if isIdle {
			warnings = append(warnings, idleWarning(p.Documents[0].File, p.Documents[0].Line(), p.Entry(),
				"changes nothing, as what it selects has these fields already: remove it, or correct it"))
		}
	}
	return warnings
}

// isIdleOn reports whether a patch of one document surely does not change a candidate.
func isIdleOn(paths *Paths, p buildpath.Patch, c buildpath.Candidate) bool {
	var object map[string]any
	var patch any
	if c.Path == nil || c.Path.IsGenerated || c.Path.Document.Node().Decode(&object) != nil ||
		p.Documents[0].Node().Decode(&patch) != nil || manifest.Contains(patch, isUnclear) {
		return false
	}
	if fields, isMerge := patch.(map[string]any); isMerge { // its name and kind may be any beside a target
		delete(fields, "kind")
		if metadata, ok := fields["metadata"].(map[string]any); ok {
			delete(metadata, "name")
			delete(metadata, "namespace")
		}
	}
	if !hasScalars(object, patch) || isSetBefore(paths, p, c.Path, c.Index, patchedFields(patch)) {
		return false
	}
	before, err := kyaml.FromMap(object)
	if err != nil {
		return false
	}
	after, err := apply(patch, before.Copy())
	if err != nil || len(after) != 1 {
		return false
	}
	was, wasErr := before.MarshalJSON()
	is, isErr := after[0].MarshalJSON()
	return cmp.Or(wasErr, isErr) == nil && bytes.Equal(was, is)
}

// hasScalars reports whether an object has all scalars that a patch sets, anywhere. Without one the patch changes it,
// unless it is the name of an item to delete.
func hasScalars(object, patch any) bool {
	isScalar := func(value any) bool {
		_, isMap := value.(map[string]any)
		_, isList := value.([]any)
		return value != nil && !isMap && !isList
	}
	own := map[any]bool{}
	for _, value := range manifest.Values(object) {
		if isScalar(value) {
			own[value] = true
		}
	}
	isDirective := func(key string, _ any) bool { return strings.HasPrefix(key, "$") }
	isOther := func(key string, value any) bool {
		return isScalar(value) && key != "op" && key != "path" && !own[value]
	}
	return manifest.Contains(patch, isDirective) || !manifest.Contains(patch, isOther)
}

// isUnclear reports whether an entry of a patch depends on more than the fields that the patch sets.
func isUnclear(key string, value any) bool {
	return strings.HasPrefix(key, "$") && value != any("delete") ||
		key == "op" && value != any("add") && value != any("replace")
}

// apply applies a patch to an object, as kustomize does.
func apply(patch any, object *kyaml.RNode) ([]*kyaml.RNode, error) {
	content, err := yaml.Marshal(patch)
	if err != nil {
		return nil, err
	}
	if _, isList := patch.([]any); isList {
		return patchjson6902.Filter{Patch: string(content)}.Filter([]*kyaml.RNode{object})
	}
	merged, err := kyaml.Parse(string(content))
	if err != nil {
		return nil, err
	}
	return patchstrategicmerge.Filter{Patch: merged}.Filter([]*kyaml.RNode{object})
}

// patchedFields returns the fields that a patch sets, without the indexes and names of items.
func patchedFields(patch any) (fields [][]string) {
	operations, isList := patch.([]any)
	for _, o := range operations {
		pointer, _ := decoding.At(o, []string{"path"}).(string)
		fields = append(fields, node.JSONPointer(pointer))
	}
	if !isList {
		decoding.Walk(patch, func(path []string, value any) bool {
			table, _ := value.(map[string]any)
			list, _ := value.([]any)
			if len(table)+len(list) == 0 {
				fields = append(fields, slices.Clone(path))
			}
			return true
		})
	}
	for _, keys := range fields {
		for i, key := range keys {
			if _, err := strconv.Atoi(strings.Trim(key, "[]")); err == nil || key == "-" {
				keys[i] = ""
			}
		}
	}
	return fields
}

// setters are the keys of the fields that a field of a kustomization sets.
var setters = map[string][]string{
	"namespace": {"namespace"}, "images": {"image"}, "replicas": {"replicas"},
	"labels": {"labels", "selector", "matchLabels"}, "commonLabels": {"labels", "selector", "matchLabels"},
	"commonAnnotations": {"annotations"}, "buildMetadata": {"annotations", "labels"},
	"configMapGenerator": {"data", "binaryData"}, "secretGenerator": {"data", "stringData"},
}

// isSetBefore reports whether an entry before a patch in the folder i of a path may set one of some fields.
func isSetBefore(paths *Paths, p buildpath.Patch, path *Path, i int, fields [][]string) bool {
	for at, folder := range path.Folders[:i+1] {
		k := paths.Sources.Kustomizations[folder]
		c := paths.Candidate(path, at)
		for _, e := range paths.Entries(folder) {
			if at == i && e.Name == p.Entry() {
				return false
			}
			if e.Patch != nil {
				if e.Patch.Selects(c) && setsOneOf(*e.Patch, fields) {
					return true
				}
				continue
			}
			set := setters[e.Field]
			isSet := func(key string) bool { return slices.Contains(set, key) }
			isSetter := func(field []string) bool { return slices.ContainsFunc(field, isSet) }
			isOwn := len(k.Configurations) > 0 || e.Field == "labels" && len(k.Labels[e.Index].FieldSpecs) > 0
			if set == nil || isOwn || slices.ContainsFunc(fields, isSetter) {
				return true
			}
		}
	}
	return true
}

// setsOneOf reports whether a patch may set one of some fields, or a part of it.
func setsOneOf(p buildpath.Patch, fields [][]string) bool {
	for _, d := range p.Documents {
		var patch any
		if d.Node().Decode(&patch) != nil {
			return true
		}
		for _, set := range patchedFields(patch) {
			for _, field := range fields {
				shared := min(len(set), len(field))
				if slices.EqualFunc(set[:shared], field[:shared], func(a, b string) bool {
					return a == b || a == "" || b == ""
				}) {
					return true
				}
			}
		}
	}
	return false
}
