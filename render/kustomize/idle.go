package kustomize

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// idleFields warns of fields of labels and of configurations that no object has, and of generatorOptions without a
// generator. Kustomizations outside of the environment's folder may have them for other environments.
func idleFields(paths *Paths, objects []manifest.Object) (warnings []manifest.Problem) {
	s := paths.Sources
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[folder]
		if !isBelow(folder, paths.Folder) {
			continue
		}
		add := func(file string, line int, field, reason string) {
			warnings = append(warnings, manifest.Problem{File: source.Relative(file), Line: line, Field: field,
				Message: field + ": " + reason, Warning: true})
		}
		if k.GeneratorOptions != nil && len(k.ConfigMapGenerator)+len(k.SecretGenerator) == 0 {
			add(k.File, s.Line(k.File, "generatorOptions"), "generatorOptions", "changes nothing, as this kustomization "+
				"has no generator: move it to the one that has, or remove it")
		}
		for i, l := range k.Labels {
			for j, spec := range l.FieldSpecs {
				if reason := unusedField(spec, objects); reason != "" {
					keys := []string{"labels", strconv.Itoa(i), "fields", strconv.Itoa(j)}
					add(k.File, s.Line(k.File, keys...), fmt.Sprintf("labels[%d].fields[%d]", i, j), reason)
				}
			}
		}
		for _, entry := range k.Configurations {
			if entry == source.ConfigurationFile || len(k.Documents[entry]) == 0 {
				continue
			}
			root := k.Documents[entry][0].Node()
			c, _ := s.ReadConfiguration(k.Paths[entry]) // kustomize reports the error
			for _, f := range configuredFields(c) {
				if reason := f.unused(objects); reason != "" {
					field := manifest.JoinField(f.keys)
					add(k.Paths[entry], node.Line(root, manifest.SplitField(field)...), field, reason)
				}
			}
		}
	}
	return warnings
}

// configuredField is a field of a configuration, with the kind of the objects that it names, if any.
type configuredField struct {
	types.FieldSpec
	to   *resid.Gvk
	keys []string
}

// configuredFields returns all fields of a configuration.
func configuredFields(c source.Configuration) (all []configuredField) {
	index := func(i int) string { return "[" + strconv.Itoa(i) + "]" }
	for i, r := range c.NameReference {
		for j, spec := range r.FieldSpecs {
			all = append(all, configuredField{spec, &c.NameReference[i].Gvk,
				[]string{"nameReference", index(i), "fieldSpecs", index(j)}})
		}
	}
	value := reflect.ValueOf(c)
	for i := range value.NumField() {
		specs, isPlain := value.Field(i).Interface().(types.FsSlice)
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		for j, spec := range specs {
			if isPlain {
				all = append(all, configuredField{spec, nil, []string{name, index(j)}})
			}
		}
	}
	return all
}

// unused returns the reason why a field of a configuration changes nothing, or "".
func (f configuredField) unused(objects []manifest.Object) string {
	if f.to != nil && !slices.ContainsFunc(objects, func(o manifest.Object) bool {
		gvk := buildpath.GVKOf(o)
		return gvk.IsSelected(f.to)
	}) {
		return fmt.Sprintf("changes nothing, as no object here is of the kind %s that it names: %s", f.to.Kind, correctIt)
	}
	return unusedField(f.FieldSpec, objects)
}

const correctIt = "correct it, or remove it"

// unusedField returns the reason why a field changes nothing, or "".
func unusedField(spec types.FieldSpec, objects []manifest.Object) string {
	path := utils.PathSplitter(strings.Trim(spec.Path, "/"), "/")
	reason := "changes nothing, as no object here is of its kind: " + correctIt
	for _, o := range objects {
		if gvk := buildpath.GVKOf(o); gvk.IsSelected(&spec.Gvk) {
			reason = fmt.Sprintf("changes nothing, as no object here has %s: %s", spec.Path, correctIt)
			if spec.CreateIfNotPresent || hasField(o.Object, path) {
				return ""
			}
		}
	}
	return reason
}

// hasField reports whether content has a field at a path, in which the name of a list is each of its items.
func hasField(content any, path []string) bool {
	switch content := content.(type) {
	case []any:
		return slices.ContainsFunc(content, func(item any) bool { return hasField(item, path) })
	case map[string]any:
		if len(path) > 0 {
			value, isThere := content[strings.TrimSuffix(path[0], "[]")]
			return isThere && hasField(value, path[1:])
		}
	}
	return len(path) == 0
}
