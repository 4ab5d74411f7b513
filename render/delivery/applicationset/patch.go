package applicationset

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// patch applies a templatePatch, whose text is YAML unless it begins with a brace. An empty one changes nothing, and
// the project stays (applyTemplatePatch in applicationset/controllers/template).
func patch(application map[string]any, text string) (map[string]any, error) {
	content := []byte(text)
	var err error
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		content, err = yaml.YAMLToJSON(content)
	}
	var changes map[string]any
	if err == nil {
		err = json.Unmarshal(content, &changes)
	}
	if err != nil {
		return nil, err
	}
	project, isSet, _ := unstructured.NestedString(application, "spec", "project")
	metadata, err := strategicpatch.NewPatchMetaFromStruct(metav1.PartialObjectMetadata{})
	if err != nil {
		return nil, err
	}
	schema := fields{metadata, ""}
	patched, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(application, changes, schema)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(patched, "spec", "project")
	if isSet {
		err = unstructured.SetNestedField(patched, project, "spec", "project")
	}
	return patched, err
}

// fields are the fields of an Application, for a patch. Below metadata they are as in each object; no other list is
// merged, and no field of the values of a chart is known.
type fields struct {
	strategicpatch.PatchMetaFromStruct
	name string
}

// Name implements strategicpatch.LookupPatchMeta.
func (f fields) Name() string { return f.name }

// LookupPatchMetadataForStruct implements strategicpatch.LookupPatchMeta.
func (f fields) LookupPatchMetadataForStruct(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta,
	error) {
	switch {
	case f.name == "" && key == "metadata":
		return f.PatchMetaFromStruct.LookupPatchMetadataForStruct(key)
	case f.name == "valuesObject":
		return nil, strategicpatch.PatchMeta{}, fmt.Errorf("%s of valuesObject is in the template as well, and Argo "+
			"CD cannot merge it: write it in one of both", key)
	}
	return fields{f.PatchMetaFromStruct, key}, strategicpatch.PatchMeta{}, nil
}

// LookupPatchMetadataForSlice implements strategicpatch.LookupPatchMeta.
func (f fields) LookupPatchMetadataForSlice(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta,
	error) {
	return f.LookupPatchMetadataForStruct(key)
}
