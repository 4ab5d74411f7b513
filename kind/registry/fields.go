package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
)

// fieldSpec is a field of objects, as a configuration of kustomize names it.
type fieldSpec struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Create  bool   `json:"create"`

	// FieldSpecs are the fields that hold the name of an object of the kind, in an entry of
	// nameReference.
	FieldSpecs []fieldSpec `json:"fieldSpecs"`
}

// checkFields finds what is wrong with the Fields. Kustomize itself refuses names of lists that it
// does not know.
func (e *entry) checkFields(root *apiextensionsv1.JSONSchemaProps) {
	var config map[string][]fieldSpec
	if err := yaml.UnmarshalStrict(e.Fields, &config); err != nil {
		e.add("Fields: it is not what a file of kustomize's configurations: has, like images: and nameReference:: %v", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		for i, spec := range config[name] {
			at := fmt.Sprintf("%s[%d]", name, i)
			switch {
			case name != "nameReference":
				e.checkField(at, spec, root)
			case spec.Kind != e.GVK.Kind || spec.Group != e.GVK.Group: // others may refer to this kind
				for j, referrer := range spec.FieldSpecs {
					e.checkField(fmt.Sprintf("%s.fieldSpecs[%d]", at, j), referrer, root)
				}
			}
		}
	}
}

// checkField finds what is wrong with one of the Fields.
func (e *entry) checkField(at string, spec fieldSpec, root *apiextensionsv1.JSONSchemaProps) {
	path := segments(spec.Path)
	switch {
	case spec.Path == "":
		e.add("Fields: %s has no path: write that of a field, like spec/image", at)
	case !slices.ContainsFunc(e.all, spec.isOf):
		e.add("Fields: %s is of %s in group %q, which is no kind of the list: correct the kind and the group", at, spec.Kind, spec.Group)
	case spec.isOf(*e.Kind) && path[0] != "metadata" && fieldAt(root, path, true) == nil:
		e.add("Fields: %s: the CustomResourceDefinition has no field %s: correct the path", at, spec.Path)
	}
}

// isOf reports whether objects of a kind have a field. A part that is left out matches any.
func (f fieldSpec) isOf(k kind.Kind) bool {
	return (f.Group == "" || f.Group == k.GVK.Group) &&
		(f.Version == "" || f.Version == k.GVK.Version) &&
		(f.Kind == "" || f.Kind == k.GVK.Kind)
}

// segments returns the names in a path of kustomize. A backslash precedes a slash that is part
// of a name, and [] may follow the name of a list.
func segments(path string) []string {
	const slash = "\x00"
	parts := strings.Split(strings.ReplaceAll(strings.Trim(path, "/"), `\/`, slash), "/")
	for i, part := range parts {
		parts[i] = strings.TrimSuffix(strings.ReplaceAll(part, slash, "/"), "[]")
	}
	return parts
}

// checkPaths finds what is wrong with the paths of the kind, which are of its schema.
func (e *entry) checkPaths(root *apiextensionsv1.JSONSchemaProps) {
	for i, path := range e.KeepDefaults {
		e.addIf(fieldAt(root, strings.Split(path, "."), false) == nil,
			"KeepDefaults[%d]: the CustomResourceDefinition has no field %q: write the path of one, like spec.image", i, path)
	}
	if e.TimeField != "" {
		field := fieldAt(root, strings.Split(e.TimeField, "."), false)
		e.addIf(field == nil || field.Type != "string", "TimeField: the CustomResourceDefinition has no string %q: write the path of one, like spec.schedule", e.TimeField)
	}
}

// fieldAt returns the schema of the field at a path; nil where there is none. With throughLists, a
// path goes on in the items of a list.
func fieldAt(s *apiextensionsv1.JSONSchemaProps, path []string, throughLists bool) *apiextensionsv1.JSONSchemaProps {
	for throughLists && s.Type == "array" && s.Items != nil && s.Items.Schema != nil {
		s = s.Items.Schema
	}
	if len(path) == 0 {
		return s
	}
	if property, ok := s.Properties[path[0]]; ok {
		return fieldAt(&property, path[1:], throughLists)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		return fieldAt(s.AdditionalProperties.Schema, path[1:], throughLists)
	}
	if s.Type == "" && !s.XIntOrString || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields {
		return s // it takes anything
	}
	return nil
}
