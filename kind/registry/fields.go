package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
}

// nameReference are the fields that hold the name of an object of a kind.
type nameReference struct {
	Group      string      `json:"group"`
	Version    string      `json:"version"`
	Kind       string      `json:"kind"`
	FieldSpecs []fieldSpec `json:"fieldSpecs"`
}

// kustomizeConfig is a file of `configurations:`:
// https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/configurations/
type kustomizeConfig struct {
	NamePrefix                []fieldSpec     `json:"namePrefix"`
	NameSuffix                []fieldSpec     `json:"nameSuffix"`
	Namespace                 []fieldSpec     `json:"namespace"`
	CommonLabels              []fieldSpec     `json:"commonLabels"`
	Labels                    []fieldSpec     `json:"labels"`
	TemplateLabels            []fieldSpec     `json:"templateLabels"`
	VolumeClaimTemplateLabels []fieldSpec     `json:"volumeClaimTemplateLabels"`
	CommonAnnotations         []fieldSpec     `json:"commonAnnotations"`
	NameReference             []nameReference `json:"nameReference"`
	VarReference              []fieldSpec     `json:"varReference"`
	Images                    []fieldSpec     `json:"images"`
	Replicas                  []fieldSpec     `json:"replicas"`
}

// specs are all fields of a configuration, by where it has them. Of the fields that hold
// the name of an object of a kind, those of all other kinds are left out.
func (c *kustomizeConfig) specs(gk schema.GroupKind) map[string][]fieldSpec {
	specs := map[string][]fieldSpec{
		"namePrefix": c.NamePrefix, "nameSuffix": c.NameSuffix, "namespace": c.Namespace,
		"commonLabels": c.CommonLabels, "labels": c.Labels, "templateLabels": c.TemplateLabels,
		"volumeClaimTemplateLabels": c.VolumeClaimTemplateLabels, "commonAnnotations": c.CommonAnnotations,
		"varReference": c.VarReference, "images": c.Images, "replicas": c.Replicas,
	}
	for i, reference := range c.NameReference {
		if reference.Kind != gk.Kind || reference.Group != gk.Group {
			specs[fmt.Sprintf("nameReference[%d].fieldSpecs", i)] = reference.FieldSpecs
		}
	}
	return specs
}

// checkFields finds what is wrong with the Fields of a kind of a list.
func (k entry) checkFields(all []kind.Kind, root *apiextensionsv1.JSONSchemaProps, found *problems) {
	var config kustomizeConfig
	if err := yaml.UnmarshalStrict(k.Fields, &config); err != nil {
		found.add("Fields: it is not what a file of kustomize's configurations: has, like images: and nameReference:: %v", err)
		return
	}
	specs := config.specs(k.GVK.GroupKind())
	for _, where := range slices.Sorted(maps.Keys(specs)) {
		for i, spec := range specs[where] {
			at := fmt.Sprintf("Fields: %s[%d]", where, i)
			switch {
			case spec.Path == "":
				found.add("%s has no path: write that of a field, like spec/image", at)
			case !slices.ContainsFunc(all, spec.isOf):
				found.add("%s is of %s in group %q, which is no kind of the list: correct the kind and the group", at, spec.Kind, spec.Group)
			case spec.isOf(*k.Kind) && !hasPath(withMetadata(root), segments(spec.Path), true):
				found.add("%s: the CustomResourceDefinition has no field %s: correct the path", at, spec.Path)
			}
		}
	}
}

// isOf says whether a field is of objects of a kind. What is left out is any.
func (f fieldSpec) isOf(k kind.Kind) bool {
	return (f.Group == "" || f.Group == k.GVK.Group) &&
		(f.Version == "" || f.Version == k.GVK.Version) &&
		(f.Kind == "" || f.Kind == k.GVK.Kind)
}

// withMetadata is the schema of an object with the fields that all have.
func withMetadata(root *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	properties := map[string]apiextensionsv1.JSONSchemaProps{"apiVersion": text, "kind": text}
	maps.Copy(properties, root.Properties)
	properties["metadata"] = apiextensionsv1.JSONSchemaProps{} // takes anything
	return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties, XPreserveUnknownFields: root.XPreserveUnknownFields}
}

// segments are the names in a path of kustomize. A slash that is part of one follows a
// backslash, and what is a list may say so.
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

// hasText says whether a schema has a field that is a string.
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
