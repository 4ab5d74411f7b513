package kind

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Default sets the fields that an object of the Go type leaves out to their defaults in CRD, as the
// API server does. It does not know the defaults that an environment changes.
func (k *Kind) Default(o Object) error {
	schema, err := k.schema()
	if err != nil {
		return fmt.Errorf("read CustomResourceDefinition of %s: %w", k.gvk.Kind, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return fmt.Errorf("write %T: %w", o, err)
	}
	defaulting.Default(content, schema)
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, o)
}

// Nested returns what an object of the kind is rendered to as a part of another: for Expand of the
// kind of that one, which lists these objects in its Children. It sets the defaults of the object,
// and gives its name to the objects that have none. Validate what the schema would refuse: a part
// is in no cluster by itself.
func (k *Kind) Nested(o Object) ([]Object, error) {
	if err := k.Default(o); err != nil {
		return nil, err
	}
	objects, err := k.Expand(o)
	for _, child := range objects {
		child.SetName(cmp.Or(child.GetName(), o.GetName()))
	}
	return objects, err
}

// readSchema returns the schema of a version in the YAML of a CustomResourceDefinition.
func readSchema(crd []byte, version string) (*structuralschema.Structural, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd, &definition); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil
	})
	if i < 0 {
		return nil, fmt.Errorf("it has no schema of version %s", version)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(definition.Spec.Versions[i].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return nil, err
	}
	return structuralschema.NewStructural(&internal)
}
