package registry

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// checkCRD checks that the CustomResourceDefinition, the Go type and the Definition fit together.
func (e *entry) checkCRD() {
	crd, version, err := e.ReadCRD()
	switch {
	case err != nil:
		e.add("CRD: %v", err)
	case crd.Spec.Group != e.GVK().Group || crd.Spec.Names.Kind != e.GVK().Kind:
		e.add("CRD defines %s in group %q, not %s in group %q: embed the file of this kind, or correct GVK",
			crd.Spec.Names.Kind, crd.Spec.Group, e.GVK().Kind, e.GVK().Group)
	case version == nil || version.Schema == nil || version.Schema.OpenAPIV3Schema == nil:
		e.add("CRD has no schema of version %s: run controller-gen, or correct the version of GVK", e.GVK().Version)
	default:
		e.addIf(crd.Spec.Scope != apiextensionsv1.NamespaceScoped,
			"CRD: spec.scope is %q, but rendered objects are in a namespace: write // "+
				"+kubebuilder:resource:scope=Namespaced and run controller-gen", crd.Spec.Scope)
		e.addIf(!version.Served,
			"CRD: version %s is not served: leave out // +kubebuilder:unservedversion and run controller-gen",
			version.Name)
		e.addIf(version.Subresources == nil || version.Subresources.Status == nil,
			"CRD: version %s has no status subresource, the only part that the controller writes: write // "+
				"+kubebuilder:subresource:status above the Go type and run controller-gen", version.Name)
		if !e.IsConverted() {
			e.checkStatus(version.Schema.OpenAPIV3Schema)
		}
		e.checkPaths(version.Schema.OpenAPIV3Schema)
	}
}

// checkStatus checks that the status type and its schema have the fields that kstatus needs.
func (e *entry) checkStatus(root *apiextensionsv1.JSONSchemaProps) {
	status := root.Properties["status"]
	var unobserved struct{ ObservedGeneration int64 }
	_ = json.Unmarshal(ptr.Deref(status.Default, apiextensionsv1.JSON{}).Raw, &unobserved) // fails without a default
	e.addIf(slices.Contains(root.Required, "status"),
		"status: it is required, and the API server drops the status of an object that is created: write // "+
			"+optional above the field Status and run controller-gen")
	e.addIf(unobserved.ObservedGeneration != -1,
		`status: without a default, kubectl wait, Flux and Argo CD take a new object for ready: write // `+
			`+kubebuilder:default:={"observedGeneration":-1} above the field Status and run controller-gen`)
	e.addIf(status.Properties["observedGeneration"].Type != "integer",
		"status: the CustomResourceDefinition has no integer observedGeneration: give the Go type a field Status, "+
			"which embeds kind.Status, and run controller-gen")

	field, ok := reflect.TypeOf(e.New()).Elem().FieldByName("Status")
	if !ok || field.Type.Kind() != reflect.Struct {
		return // the schema has no status either
	}
	conditions, ok := field.Type.FieldByName("Conditions")
	e.addIf(!ok || conditions.Type != reflect.TypeFor[[]metav1.Condition](),
		"the type %s of its status has no conditions: embed kind.Status, or give it a field Conditions "+
			"[]metav1.Condition", field.Type)
	e.addIf(field.Type != e.StatusType(), "S of its Definition is %s: write %s, the type of the field Status of %s",
		e.StatusType(), field.Type, e.GVK().Kind)
	_, inType := field.Type.FieldByName("Rendering")
	_, inSchema := status.Properties["rendering"]
	e.addIf(inType && !inSchema && !ptr.Deref(status.XPreserveUnknownFields, false),
		"status: the CustomResourceDefinition has no rendering: run controller-gen")
}

// checkPaths checks that the paths of the Definition lead to fields of the right type.
func (e *entry) checkPaths(root *apiextensionsv1.JSONSchemaProps) {
	check := func(name, path, want string, throughLists bool) {
		if throughLists && strings.HasPrefix(path, "metadata.") {
			return // no schema describes metadata
		}
		field := fieldAt(root, strings.Split(path, "."), throughLists)
		e.addIf(field == nil || !isOfType(field.Type, want, throughLists),
			"%s: the CustomResourceDefinition has no %s %q: write the path of one", name,
			strings.TrimSpace(want+" field"), path)
	}
	for i, path := range e.Fields().Images {
		check(fmt.Sprintf("Fields.Images[%d]", i), path, "string", true)
	}
	for i, path := range e.Fields().Replicas {
		check(fmt.Sprintf("Fields.Replicas[%d]", i), path, "integer", true)
	}
	for i, path := range e.KeepDefaults() {
		check(fmt.Sprintf("KeepDefaults[%d]", i), path, "", false)
	}
	if e.TimeField() != "" {
		check("TimeField", e.TimeField(), "string", false)
	}
	for i, r := range e.Fields().References {
		name := fmt.Sprintf("Fields.References[%d]", i)
		if r.In.Empty() || r.In == e.GVK().GroupKind() {
			check(name, r.Field, "", true)
			e.addIf(r.To.Empty(), "%s: set To to the kind that the field names, like v1 ConfigMap", name)
			continue
		}
		isTo := r.To.Empty() || e.Child(r.To.GroupKind()) != nil || e.isSource(r.To.GroupKind())
		e.addIf(r.Field == "", "%s has no path: write the path of a field, like spec.service.name", name)
		e.addIf(!isTo, "%s is neither a field of %s nor names one: leave out In, or To", name, e.GVK().Kind)
	}
}

// isOfType reports whether a type fits. An empty wanted type fits any; orAny accepts untyped fields.
func isOfType(is, want string, orAny bool) bool { return want == "" || is == want || orAny && is == "" }

// fieldAt returns the schema of the field at a path, or nil. With throughLists, a path goes on in the
// items of a list.
func fieldAt(s *apiextensionsv1.JSONSchemaProps, path []string, throughLists bool) *apiextensionsv1.JSONSchemaProps {
	if len(path) == 0 {
		return s
	}
	for throughLists && s.Type == "array" && s.Items != nil && s.Items.Schema != nil {
		s = s.Items.Schema
	}
	if property, ok := s.Properties[path[0]]; ok {
		return fieldAt(&property, path[1:], throughLists)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		return fieldAt(s.AdditionalProperties.Schema, path[1:], throughLists)
	}
	if s.Type == "" && !s.XIntOrString || ptr.Deref(s.XPreserveUnknownFields, false) {
		return s // it takes anything
	}
	return nil
}
