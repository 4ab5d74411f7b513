package registry

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
)

// ReadCRD reads the YAML of the CustomResourceDefinition of a kind.
func ReadCRD(text []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return nil, fmt.Errorf("embed the file that controller-gen writes: %w", err)
	}
	if gvk := crd.GroupVersionKind(); gvk != apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
		return nil, fmt.Errorf("it is %q, not %s CustomResourceDefinition: embed the file that controller-gen writes",
			strings.TrimSpace(written(gvk)), apiextensionsv1.SchemeGroupVersion)
	}
	return crd, nil
}

// checkCRD finds what is wrong with the CustomResourceDefinition, beside what the API server
// refuses: rendering has its own code say that. It returns nil where the CustomResourceDefinition is
// not one of the kind.
func (e *entry) checkCRD() *apiextensionsv1.CustomResourceDefinition {
	crd, err := ReadCRD(e.CRD())
	if err != nil {
		e.add("CRD: %v", err)
		return nil
	}
	if crd.Spec.Group != e.GVK().Group || crd.Spec.Names.Kind != e.GVK().Kind {
		e.add("CRD is that of %s in group %q, not of %s in group %q: embed the file of this kind",
			crd.Spec.Names.Kind, crd.Spec.Group, e.GVK().Kind, e.GVK().Group)
		return nil
	}
	e.addIf(crd.Spec.Scope != apiextensionsv1.NamespaceScoped,
		"CRD: spec.scope is %q: what a kind is rendered to is in its namespace, so write // +kubebuilder:resource:scope=Namespaced and run controller-gen", crd.Spec.Scope)
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == e.GVK().Version })
	if i < 0 {
		e.add("CRD has no version %s: run controller-gen, or change the version of GVK", e.GVK().Version)
		return nil
	}
	version := crd.Spec.Versions[i]
	e.addIf(!version.Served, "CRD: version %s is not served: leave out // +kubebuilder:unservedversion and run controller-gen", version.Name)
	e.addIf(version.Subresources == nil || version.Subresources.Status == nil,
		"CRD: version %s has no status subresource, and the controller writes nothing else: write // +kubebuilder:subresource:status above the Go type and run controller-gen", version.Name)
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		e.add("CRD: version %s has no schema: run controller-gen", version.Name)
		return nil
	}
	if !e.IsConverted() {
		e.checkStatus(version.Schema.OpenAPIV3Schema)
	}
	e.checkFields(version.Schema.OpenAPIV3Schema)
	e.checkPaths(version.Schema.OpenAPIV3Schema)
	return crd
}

// checkStatus finds whether the schema of a status has what kstatus goes by.
func (e *entry) checkStatus(root *apiextensionsv1.JSONSchemaProps) {
	status, ok := root.Properties["status"]
	if !ok {
		e.add("status: the CustomResourceDefinition has none: give the Go type a field Status and run controller-gen")
		return
	}
	e.addIf(slices.Contains(root.Required, "status"),
		"status: it is required, and the API server drops the status of an object that is created: write // +optional above the field Status and run controller-gen")
	e.addIf(!isNotObserved(status.Default),
		`status: without a default, kubectl wait, Flux and Argo CD take a new object for ready: write // +kubebuilder:default:={"observedGeneration":-1} above the field Status and run controller-gen`)
	e.addIf(status.Properties["observedGeneration"].Type != "integer",
		`status: observedGeneration is no integer in the CustomResourceDefinition: give the type of Status a field ObservedGeneration int64 and run controller-gen`)
	_, hasRendering := status.Properties["rendering"]
	hasRendering = hasRendering || ptr.Deref(status.XPreserveUnknownFields, false)
	e.addIf(embedsStatus(e.StatusType()) && !hasRendering, "status: the CustomResourceDefinition has no rendering: run controller-gen")
}

// embedsStatus reports whether the type of a status is kind.Status, or embeds it.
func embedsStatus(t reflect.Type) bool {
	free := reflect.TypeFor[kind.Status]()
	if t == free || t.Kind() != reflect.Struct {
		return t == free
	}
	field, ok := t.FieldByName(free.Name())
	return ok && field.Anonymous && field.Type == free
}

// isNotObserved reports whether a default says that nobody has written the status yet.
func isNotObserved(value *apiextensionsv1.JSON) bool {
	var status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
	}
	return value != nil && json.Unmarshal(value.Raw, &status) == nil && status.ObservedGeneration == -1
}
