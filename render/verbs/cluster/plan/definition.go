package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/render/manifest"
)

// refuseOlder refuses a CustomResourceDefinition that lacks versions or fields of the live one:
// objects may need them.
func refuseOlder(live, applied *unstructured.Unstructured) string {
	old, wanted := manifest.As[apiextensionsv1.CustomResourceDefinition](live),
		manifest.As[apiextensionsv1.CustomResourceDefinition](applied)
	var missing []string
	for _, version := range old.Spec.Versions {
		i := slices.IndexFunc(wanted.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version.Name
		})
		switch {
		case i < 0:
			missing = append(missing, "version "+version.Name)
		case version.Schema != nil && wanted.Spec.Versions[i].Schema != nil:
			for _, field := range missingFields(version.Schema.OpenAPIV3Schema,
				wanted.Spec.Versions[i].Schema.OpenAPIV3Schema, "") {
				missing = append(missing, strings.TrimPrefix(field, ".")+" of "+version.Name)
			}
		}
	}
	if len(missing) == 0 {
		return ""
	}
	const most = 5
	return fmt.Sprintf("is newer in the cluster, which has %s: render the environment with the newer one, or, to go "+
		"back anyway, apply this file with kubectl first", manifest.FirstOf(most, missing))
}

// missingFields returns the sorted paths of the fields that the wanted schema lacks.
func missingFields(old, wanted *apiextensionsv1.JSONSchemaProps, path string) (fields []string) {
	if old == nil || wanted == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		was, below := old.Properties[name], path+"."+name
		is, isThere := wanted.Properties[name]
		switch {
		case isThere:
			fields = append(fields, missingFields(&was, &is, below)...)
		case !ptr.Deref(wanted.XPreserveUnknownFields, false):
			fields = append(fields, below)
		}
	}
	if old.Items != nil && wanted.Items != nil {
		fields = append(fields, missingFields(old.Items.Schema, wanted.Items.Schema, path+"[]")...)
	}
	if old.AdditionalProperties != nil && wanted.AdditionalProperties != nil {
		fields = append(fields, missingFields(old.AdditionalProperties.Schema, wanted.AdditionalProperties.Schema,
			path+"[]")...)
	}
	return fields
}
