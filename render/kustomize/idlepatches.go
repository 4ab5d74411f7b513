package kustomize

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// idleDocuments warns of documents of a patch that select candidates and change none: each has the fields already in
// its source file, and nothing sets them before the patch. It returns nothing where that is not known.
func idleDocuments(paths *Paths, p buildpath.Patch, candidates []buildpath.Candidate) (warnings []manifest.Problem) {
	if p.Renames() || p.Err != nil {
		return nil
	}
	for _, d := range p.Documents {
		one, isIdle := p, false
		one.Documents = []source.Document{d}
		for _, c := range candidates {
			if one.Changes(c) {
				if isIdle = isIdleOn(paths, one, c); !isIdle {
					break
				}
			}
		}
		if isIdle {
			warnings = append(warnings, idleWarning(d.File, d.Node().Line, p.Entry(),
				"changes nothing, as what it selects has these fields already: remove it, or correct it"))
		}
	}
	return warnings
}

// isIdleOn reports whether a patch of one document surely does not change a candidate.
func isIdleOn(paths *Paths, p buildpath.Patch, c buildpath.Candidate) bool {
	var object, patch any
	if c.Path == nil || c.Path.IsGenerated || c.Path.Document.Node().Decode(&object) != nil ||
		p.Documents[0].Node().Decode(&patch) != nil {
		return false
	}
	has := false
	switch patch := patch.(type) {
	case []any:
		has = !slices.ContainsFunc(patch, func(o any) bool { return !hasOperation(object, o) })
	case map[string]any: // its name and kind may be any beside a target
		delete(patch, "apiVersion")
		delete(patch, "kind")
		if metadata, ok := patch["metadata"].(map[string]any); ok {
			delete(metadata, "name")
			delete(metadata, "namespace")
		}
		_, isPod := manifest.PodTemplatePath(c.Path.GVK.Kind)
		has = hasMerged(object, patch, isPod && !strings.Contains(c.Path.GVK.Group, "."))
	}
	return has && !isSetBefore(paths, p, *c.Path, c.Index, patchedFields(patch))
}

// hasMerged reports whether an object is the same after a strategic merge patch. Lists are merged by names in Pods
// alone, and then the items of the patch come first.
func hasMerged(object, patch any, isPod bool) bool {
	switch patch := patch.(type) {
	case map[string]any:
		fields, isMapping := object.(map[string]any)
		for key, value := range patch {
			is, isThere := fields[key]
			if strings.HasPrefix(key, "$") || (value == nil) == isThere ||
				value != nil && !hasMerged(is, value, isPod) {
				return false
			}
		}
		return isMapping
	case []any:
		items, _ := object.([]any)
		return reflect.DeepEqual(items, patch) || isPod && hasMergedItems(items, patch)
	}
	return reflect.DeepEqual(object, patch)
}

// hasMergedItems is hasMerged for a list in Pods.
func hasMergedItems(items, patch []any) bool {
	next := 0
	for _, item := range patch {
		name, isNamed := decoding.At(item, []string{"name"}).(string)
		isItem := func(other any) bool { return decoding.At(other, []string{"name"}) == any(name) }
		switch {
		case !isNamed:
			return false
		case decoding.At(item, []string{"$patch"}) == "delete":
			if slices.ContainsFunc(items, isItem) {
				return false
			}
		case next == len(items) || !isItem(items[next]) || !hasMerged(items[next], item, true):
			return false
		default:
			next++
		}
	}
	return true
}

// hasOperation reports whether an object is the same after an operation of a JSON 6902 patch.
func hasOperation(object, operation any) bool {
	fields, _ := operation.(map[string]any)
	pointer, _ := fields["path"].(string)
	keys := node.JSONPointer(pointer)
	parent, _ := decoding.At(object, keys[:len(keys)-1]).(map[string]any)
	is, isThere := parent[keys[len(keys)-1]]
	return (fields["op"] == "add" || fields["op"] == "replace") && isThere && reflect.DeepEqual(is, fields["value"])
}

// patchedFields returns the fields that a patch sets, without the indexes and names of items.
func patchedFields(patch any) (fields [][]string) {
	operations, _ := patch.([]any)
	for _, o := range operations {
		pointer, _ := decoding.At(o, []string{"path"}).(string)
		keys := node.JSONPointer(pointer)
		for i, key := range keys {
			if _, err := strconv.Atoi(key); err == nil || key == "-" {
				keys[i] = ""
			}
		}
		fields = append(fields, keys)
	}
	if operations == nil {
		fields = leaves(patch, nil)
	}
	return fields
}

// leaves returns the paths of the values in a value at a path.
func leaves(value any, at []string) (paths [][]string) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			paths = append(paths, leaves(inner, append(slices.Clip(at), key))...)
		}
	case []any:
		for _, item := range value {
			paths = append(paths, leaves(item, append(slices.Clip(at), ""))...)
		}
	}
	if paths == nil {
		paths = [][]string{at}
	}
	return paths
}

// setters are the keys of the fields that a field of a kustomization sets.
var setters = map[string][]string{
	"namespace": {"namespace"}, "images": {"image"}, "replicas": {"replicas"},
	"labels": {"labels", "selector", "matchLabels"}, "commonLabels": {"labels", "selector", "matchLabels"},
	"commonAnnotations": {"annotations"}, "buildMetadata": {"annotations", "labels"},
	"configMapGenerator": {"data", "binaryData"}, "secretGenerator": {"data", "stringData"},
}

// isSetBefore reports whether an entry before a patch in the folder i of a path may set one of some fields.
func isSetBefore(paths *Paths, p buildpath.Patch, path Path, i int, fields [][]string) bool {
	for at, folder := range path.Folders[:i+1] {
		k, c := paths.Sources.Kustomizations[folder], paths.Candidate(path, at)
		for _, e := range paths.Entries(folder) {
			if at == i && e.Name == p.Entry() {
				return false
			}
			isPatch := false
			for _, q := range paths.Patches[folder] {
				if isPatch = q.Entry() == e.Name; isPatch {
					if q.Selects(c) && setsOneOf(q, fields) {
						return true
					}
					break
				}
			}
			name, _, _ := strings.Cut(e.Name, "[")
			isSetter := func(field []string) bool {
				return slices.ContainsFunc(field, func(key string) bool { return slices.Contains(setters[name], key) })
			}
			isOwn := len(k.Configurations) > 0 || name == "labels" && len(k.Labels[indexIn(e.Name)].FieldSpecs) > 0
			if !isPatch && (setters[name] == nil || isOwn || slices.ContainsFunc(fields, isSetter)) {
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
