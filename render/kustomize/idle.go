package kustomize

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// idleFields warns of fields of labels and of configurations that no object has, and of generatorOptions without a
// generator. Files outside of the environment's folder may have them for other environments.
func idleFields(paths *Paths, objects []manifest.Object) (warnings []manifest.Problem) {
	s := paths.Sources
	byKind := kinds{}
	for _, o := range objects {
		byKind[buildpath.GVKOf(o)] = append(byKind[buildpath.GVKOf(o)], o)
	}
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[folder]
		if !source.IsWithin(folder, paths.Folder) {
			continue
		}
		if k.GeneratorOptions != nil && len(k.ConfigMapGenerator)+len(k.SecretGenerator) == 0 {
			warnings = append(warnings, idleWarning(k.File, s.Line(k.File, "generatorOptions"), "generatorOptions",
				"changes nothing, as this kustomization has no generator: move it to the one that has, or remove it"))
		}
		for i, l := range k.Labels {
			for j, spec := range l.FieldSpecs {
				if reason := unusedField(spec, byKind); reason != "" {
					line := s.Line(k.File, "labels", strconv.Itoa(i), "fields", strconv.Itoa(j))
					field := fmt.Sprintf("labels[%d].fields[%d]", i, j)
					warnings = append(warnings, idleWarning(k.File, line, field, reason))
				}
			}
		}
		for _, entry := range k.Configurations {
			isShared := !source.IsWithin(k.Paths[entry], paths.Folder)
			if entry == source.ConfigurationFile || len(k.Documents[entry]) == 0 || isShared {
				continue
			}
			warnings = append(warnings, idleConfiguration(k.Paths[entry], k.Documents[entry][0].Node(), byKind)...)
		}
	}
	return warnings
}

// idleWarning returns the warning of an entry in a file.
func idleWarning(file string, line int, field, reason string) manifest.Problem {
	return manifest.Problem{Code: manifest.NothingChanged,
		File: source.Relative(file), Line: line, Field: field, Message: field + ": " + reason,
		Warning: true}
}

// idleConfiguration warns of fields of a configuration that no object has. A field may name objects of several kinds:
// if one of its entries changes something, the others are for other environments.
func idleConfiguration(file string, root *yaml.Node, byKind kinds) (warnings []manifest.Problem) {
	idle := map[string][]manifest.Problem{}
	isUsed := map[string]bool{}
	eachConfigured(root, func(field string, at, to *yaml.Node) {
		reason := ""
		if to != nil && unusedField(types.FieldSpec{Gvk: gvkIn(to), CreateIfNotPresent: true}, byKind) != "" {
			reason = fmt.Sprintf("changes nothing, as no object here is of the kind %s that it names: %s",
				node.Text(to, "kind"), correctIt)
		}
		spec := types.FieldSpec{Gvk: gvkIn(at), Path: node.Text(at, "path"),
			CreateIfNotPresent: node.Text(at, "create") == "true"}
		reason = cmp.Or(reason, unusedField(spec, byKind))
		idle[spec.String()] = append(idle[spec.String()], idleWarning(file, at.Line, field, reason))
		isUsed[spec.String()] = isUsed[spec.String()] || reason == ""
	})
	for field, found := range idle {
		if !isUsed[field] {
			warnings = append(warnings, found...)
		}
	}
	return warnings
}

// eachConfigured calls visit with each field of a configuration, and with the kind that it names, if any.
func eachConfigured(root *yaml.Node, visit func(field string, at, to *yaml.Node)) {
	for section, list := range node.Entries(root) {
		for i, item := range node.Items(list) {
			field := fmt.Sprintf("%s[%d]", section.Value, i)
			if node.Field(item, "path") != nil {
				visit(field, item, nil)
			}
			if specs := node.Field(item, "fieldSpecs"); specs != nil {
				for j, at := range node.Items(specs) {
					visit(fmt.Sprintf("%s.fieldSpecs[%d]", field, j), at, item)
				}
			}
		}
	}
}

func gvkIn(mapping *yaml.Node) resid.Gvk {
	return resid.Gvk{Group: node.Text(mapping, "group"), Version: node.Text(mapping, "version"),
		Kind: node.Text(mapping, "kind")}
}

// kinds are objects by their kind.
type kinds map[resid.Gvk][]manifest.Object

// selected yields the objects of the kinds that a selector selects.
func (k kinds) selected(selector resid.Gvk) iter.Seq[manifest.Object] {
	return func(yield func(manifest.Object) bool) {
		for gvk, objects := range k {
			if !gvk.IsSelected(&selector) {
				continue
			}
			for _, o := range objects {
				if !yield(o) {
					return
				}
			}
		}
	}
}

const correctIt = "correct it, or remove it"

// keysOf returns the keys of a field, without marks of lists.
func keysOf(spec types.FieldSpec) []string {
	return utils.PathSplitter(strings.ReplaceAll(strings.Trim(spec.Path, "/"), "[]", ""), "/")
}

// unusedField returns the reason why a field changes nothing, or "".
func unusedField(spec types.FieldSpec, byKind kinds) string {
	path := keysOf(spec)
	isOfKind := false
	for o := range byKind.selected(spec.Gvk) {
		isOfKind = true
		isThere := spec.CreateIfNotPresent
		references.Visit(o.Object, path[:len(path)-1], nil, func(around map[string]any, _ []string) {
			isThere = isThere || around[path[len(path)-1]] != nil
		})
		if isThere {
			return ""
		}
	}
	if !isOfKind {
		return "changes nothing, as no object here is of its kind: " + correctIt
	}
	return fmt.Sprintf("changes nothing, as no object here has %s: %s", spec.Path, correctIt)
}
