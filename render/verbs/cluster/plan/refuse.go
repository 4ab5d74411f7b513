package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster/inventory"
	"example.com/gatehouse/render/verbs/cluster/owner"
)

// RefuseForeign returns the reason why an environment must not apply an object, if it belongs to
// another owner or to a newer version. Listed has the environments of the objects that other
// inventories list.
func RefuseForeign(environment string, listed map[manifest.ID]string, s *Step) string {
	manager := owner.Manager(environment)
	lister := listed[s.ID()] // a lister may not have applied it yet
	switch {
	case s.ID() == (manifest.ID{Kind: "ConfigMap", Namespace: inventory.Namespace, Name: manager}):
		return "has the name of the inventory of render apply: give it another name"
	case s.Live == nil && lister != "":
		return fmt.Sprintf("belongs to environment %s, whose inventory lists it: apply that again, or run render "+
			"delete --env %s", lister, lister)
	case s.Live == nil:
		return ""
	case s.Live.GetDeletionTimestamp() != nil:
		return "is being deleted: wait until it is gone, and run this again"
	}
	appliers := owner.Appliers(s.Live)
	other := ""
	for _, applier := range appliers {
		if environment, ok := owner.Environment(applier); ok && applier != manager {
			other = environment
			break
		}
	}
	if other == "" && !slices.Contains(appliers, manager) {
		other = lister
	}
	if other != "" {
		return fmt.Sprintf("belongs to environment %s: move objects that two environments need to a third; to move "+
			"one here, remove it from %s and apply that first, or, if %s is gone from git, run render delete --env %s",
			other, other, other, other)
	}
	if tool := owner.Of(s.Live); tool != "" {
		return fmt.Sprintf("belongs to %s: change it there, or have that give it up, or leave it out of this "+
			"environment", tool)
	}
	if ssautils.IsCRD(s.Live) {
		return refuseOlder(s.Live, s.Unstructured)
	}
	return ""
}

// refuseOlder refuses a CustomResourceDefinition that lacks versions or fields of the live one:
// objects may need them.
func refuseOlder(live, applied *unstructured.Unstructured) string {
	old := manifest.As[apiextensionsv1.CustomResourceDefinition](live)
	wanted := manifest.As[apiextensionsv1.CustomResourceDefinition](applied)
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
		was := old.Properties[name]
		below := path + "." + name
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
