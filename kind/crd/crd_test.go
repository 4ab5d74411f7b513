package crd

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

const widgets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {
  group: a.example, names: {kind: Widget, plural: widgets}, versions: [
    {name: v1beta1, served: false, storage: false, schema: {openAPIV3Schema: {type: object, description: old}}},
    {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}},
    {name: v1, served: true, storage: false}]}}`

func TestDefinitionsAreKnownByGroupAndKind(t *testing.T) {
	for text, want := range map[string]bool{
		widgets: true,
		`{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition}`: true, // a cluster knows it no more
		`{apiVersion: a.example/v1, kind: CustomResourceDefinition}`:                 false,
		`{apiVersion: apiextensions.k8s.io/v1, kind: ConversionReview}`:              false,
		`{}`: false,
	} {
		if got := Is(object(t, text)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

func TestVersionsAreInTheOrderOfTheDefinition(t *testing.T) {
	definition := object(t, widgets)
	want := []Version{
		{Name: "v1beta1", Schema: map[string]any{"type": "object", "description": "old"}},
		{Name: "v2", Served: true, Schema: map[string]any{"type": "object"}},
		{Name: "v1", Served: true},
	}
	versions := Versions(definition)
	if !reflect.DeepEqual(versions, want) {
		t.Errorf("%+v, want %+v", versions, want)
	}
	versions[1].Schema["type"] = "string"
	if Versions(definition)[1].Schema["type"] != "string" {
		t.Error("the schema is no part of the object")
	}
}

func TestServesReportsServedVersions(t *testing.T) {
	for version, want := range map[string]bool{"v1": true, "v2": true, "v1beta1": false, "v3": false, "": false} {
		if got := Serves(object(t, widgets), version); got != want {
			t.Errorf("%q: %t, want %t", version, got, want)
		}
	}
}

// A reader of a repository meets definitions that no API server has checked.
func TestMalformedDefinitionsAreReadAsFarAsTheyGo(t *testing.T) {
	for text, want := range map[string]struct {
		kind     schema.GroupKind
		versions []Version
	}{
		`{}`:             {schema.GroupKind{}, []Version{}},
		`{spec: [none]}`: {schema.GroupKind{}, []Version{}},
		`{spec: {group: a.example, names: Widget, versions: v1}}`:                          {schema.GroupKind{Group: "a.example"}, []Version{}},
		`{spec: {group: 1, names: {kind: Widget}, versions: [v1, {name: v2}]}}`:            {schema.GroupKind{Kind: "Widget"}, []Version{{}, {Name: "v2"}}},
		`{spec: {versions: [{name: 1, served: "true", schema: {openAPIV3Schema: none}}]}}`: {schema.GroupKind{}, []Version{{}}},
	} {
		definition := object(t, text)
		if got := Kind(definition); got != want.kind {
			t.Errorf("%s: kind %+v, want %+v", text, got, want.kind)
		}
		if got := Versions(definition); !reflect.DeepEqual(got, want.versions) {
			t.Errorf("%s: versions %+v, want %+v", text, got, want.versions)
		}
	}
	if got := Kind(object(t, widgets)); got != (schema.GroupKind{Group: "a.example", Kind: "Widget"}) {
		t.Errorf("kind %+v", got)
	}
}
