package kind

import (
	"cmp"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Default sets the missing fields of an object of the Go type to their defaults in CRD, as the API server
// does. It does not know the defaults that an environment changes.
func (k *Kind) Default(o Object) error {
	schema, err := k.schema()
	if err != nil {
		return fmt.Errorf("read CustomResourceDefinition of %s: %w", k.GVK().Kind, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return fmt.Errorf("write %T: %w", o, err)
	}
	setDefaults(content, schema)
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, o)
}

// setDefaults sets the defaults of a schema in content. With the code of the API server, every program
// that imports the Go type of a kind would depend on CEL.
func setDefaults(content any, s *apiextensionsv1.JSONSchemaProps) {
	switch content := content.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			value, isSet := content[name]
			if property.Default != nil && (!isSet || value == nil && !property.Nullable) {
				_ = utiljson.Unmarshal(property.Default.Raw, &value) // it was valid JSON
				content[name] = value
			}
			setDefaults(value, &property)
		}
		for name, value := range content {
			if _, ok := s.Properties[name]; !ok && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				setDefaults(value, s.AdditionalProperties.Schema)
			}
		}
	case []any:
		for i := 0; s.Items != nil && s.Items.Schema != nil && i < len(content); i++ {
			setDefaults(content[i], s.Items.Schema)
		}
	}
}

// Nested expands an object that is a part of an object of another kind. Expand of the other kind calls
// it, and the other kind lists the children of both. Nested sets the defaults of the object, and gives
// its name to children without one. It does not validate the object by the schema.
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

// ReadCRD returns the CustomResourceDefinition and the version of the kind in it, or nil if it lacks
// that version.
func (k *Kind) ReadCRD() (*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.CustomResourceDefinitionVersion, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(k.CRD(), crd); err != nil {
		return nil, nil, fmt.Errorf("embed the file that controller-gen writes: %w", err)
	}
	if want := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"); crd.GroupVersionKind() != want {
		return nil, nil, fmt.Errorf("it is %q, not %s: embed the file that controller-gen writes", crd.GroupVersionKind(), want)
	}
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == k.GVK().Version {
			return crd, &crd.Spec.Versions[i], nil
		}
	}
	return crd, nil, nil
}

func (k *Kind) readSchema() (*apiextensionsv1.JSONSchemaProps, error) {
	_, version, err := k.ReadCRD()
	if err == nil && (version == nil || version.Schema == nil || version.Schema.OpenAPIV3Schema == nil) {
		err = fmt.Errorf("it has no schema of version %s", k.GVK().Version)
	}
	if err != nil {
		return nil, err
	}
	return version.Schema.OpenAPIV3Schema, nil
}
