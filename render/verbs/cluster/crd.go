package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// refuseOlder returns what a CustomResourceDefinition of the cluster has that the one to apply
// lacks, and objects may need; empty where it lacks nothing.
func refuseOlder(live, applied *unstructured.Unstructured) string {
	old, wanted := crdVersions(live), crdVersions(applied)
	var missing []string
	stored, _, _ := unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
	for _, name := range slices.Sorted(maps.Keys(old)) {
		switch {
		case wanted[name] == nil && slices.Contains(stored, name):
			missing = append(missing, "version "+name+", in which objects may be stored")
		case wanted[name] == nil:
			missing = append(missing, "version "+name)
		default:
			for _, field := range missingFields(schemaOf(old[name]), schemaOf(wanted[name])) {
				missing = append(missing, strings.TrimPrefix(field, ".")+" of "+name)
			}
		}
	}
	if len(missing) == 0 {
		return ""
	}
	const most = 5
	if more := len(missing) - most; more > 0 {
		missing = append(missing[:most], fmt.Sprintf("%d more fields", more))
	}
	return fmt.Sprintf("is newer in the cluster, where it has %s: render the environment with the newer one, or, if you mean to go back, apply this file with kubectl first", strings.Join(missing, ", "))
}

// crdVersions returns the versions of a CustomResourceDefinition, by name.
func crdVersions(crd *unstructured.Unstructured) map[string]map[string]any {
	list, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	versions := map[string]map[string]any{}
	for _, v := range list {
		if version, ok := v.(map[string]any); ok {
			name, _ := version["name"].(string)
			versions[name] = version
		}
	}
	return versions
}

func schemaOf(version map[string]any) map[string]any {
	schema, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
	return schema
}

// missingFields returns the paths of the fields that one schema has and another lacks, in order.
func missingFields(old, wanted map[string]any) (fields []string) {
	before, _ := old["properties"].(map[string]any)
	after, _ := wanted["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, _ := before[name].(map[string]any)
		is, ok := after[name].(map[string]any)
		if !ok {
			if wanted["x-kubernetes-preserve-unknown-fields"] != true {
				fields = append(fields, "."+name)
			}
			continue
		}
		for _, below := range missingFields(was, is) {
			fields = append(fields, "."+name+below)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		was, _ := old[key].(map[string]any)
		is, _ := wanted[key].(map[string]any)
		if was != nil && is != nil {
			for _, below := range missingFields(was, is) {
				fields = append(fields, "[]"+below)
			}
		}
	}
	return fields
}
