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

// configured are the lists that a file of `configurations:` may have:
// https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/configurations/
var configured = []string{
	"namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "templateLabels", "volumeClaimTemplateLabels",
	"commonAnnotations", "nameReference", "varReference", "images", "replicas",
}

// checkFields finds what is wrong with the Fields of a kind of a list.
func (k entry) checkFields(all []kind.Kind, root *apiextensionsv1.JSONSchemaProps, found *problems) {
	var config map[string][]fieldSpec
	if err := yaml.UnmarshalStrict(k.Fields, &config); err != nil {
		found.add("Fields: it is not what a file of kustomize's configurations: has, like images: and nameReference:: %v", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if !slices.Contains(configured, name) {
			found.add("Fields: kustomize has no %s: write one of %s", name, strings.Join(configured, ", "))
			continue
		}
		for i, spec := range config[name] {
			at := fmt.Sprintf("%s[%d]", name, i)
			switch {
			case name != "nameReference":
				k.checkField(at, spec, all, root, found)
			case spec.Kind != k.GVK.Kind || spec.Group != k.GVK.Group: // others may refer to this kind
				for j, referrer := range spec.FieldSpecs {
					k.checkField(fmt.Sprintf("%s.fieldSpecs[%d]", at, j), referrer, all, root, found)
				}
			}
		}
	}
}

// checkField finds what is wrong with one of the Fields.
func (k entry) checkField(at string, spec fieldSpec, all []kind.Kind, root *apiextensionsv1.JSONSchemaProps, found *problems) {
	switch {
	case spec.Path == "":
		found.add("Fields: %s has no path: write that of a field, like spec/image", at)
	case !slices.ContainsFunc(all, spec.isOf):
		found.add("Fields: %s is of %s in group %q, which is no kind of the list: correct the kind and the group", at, spec.Kind, spec.Group)
	case spec.isOf(*k.Kind) && !hasPath(withMetadata(root), segments(spec.Path), true):
		found.add("Fields: %s: the CustomResourceDefinition has no field %s: correct the path", at, spec.Path)
	}
}

// isOf reports whether objects of a kind have a field. A part that is left out matches any.
func (f fieldSpec) isOf(k kind.Kind) bool {
	return (f.Group == "" || f.Group == k.GVK.Group) &&
		(f.Version == "" || f.Version == k.GVK.Version) &&
		(f.Kind == "" || f.Kind == k.GVK.Kind)
}

// withMetadata returns the schema of an object with the fields that all have.
func withMetadata(root *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	properties := map[string]apiextensionsv1.JSONSchemaProps{"apiVersion": text, "kind": text}
	maps.Copy(properties, root.Properties)
	properties["metadata"] = apiextensionsv1.JSONSchemaProps{} // takes anything
	return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties, XPreserveUnknownFields: root.XPreserveUnknownFields}
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

// checkPaths finds what is wrong with the paths of a kind, which are of its schema.
func (k entry) checkPaths(root *apiextensionsv1.JSONSchemaProps, found *problems) {
	for i, path := range k.KeepDefaults {
		if !hasPath(root, strings.Split(path, "."), false) {
			found.add("KeepDefaults[%d]: the CustomResourceDefinition has no field %q: write the path of one, like spec.image", i, path)
		}
	}
	if k.TimeField != "" && !hasText(root, strings.Split(k.TimeField, ".")) {
		found.add("TimeField: the CustomResourceDefinition has no string %q: write the path of one, like spec.schedule", k.TimeField)
	}
}

// hasText reports whether a schema has a field that is a string.
func hasText(s *apiextensionsv1.JSONSchemaProps, path []string) bool {
	for _, name := range path {
		property, ok := s.Properties[name]
		if !ok {
			return false
		}
		s = &property
	}
	return s.Type == "string"
}

// hasPath reports whether a schema has a field. With throughLists, a path goes on in the items
// of a list.
func hasPath(s *apiextensionsv1.JSONSchemaProps, path []string, throughLists bool) bool {
	for throughLists && s.Type == "array" && s.Items != nil && s.Items.Schema != nil {
		s = s.Items.Schema
	}
	if len(path) == 0 || s.Type == "" && !s.XIntOrString {
		return true
	}
	if property, ok := s.Properties[path[0]]; ok {
		return hasPath(&property, path[1:], throughLists)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		return hasPath(s.AdditionalProperties.Schema, path[1:], throughLists)
	}
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}
