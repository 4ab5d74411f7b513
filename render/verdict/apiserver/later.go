package apiserver

import (
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/resource"

	"example.com/gatehouse/kind"
)

// reports reports whether the version has an error or a warning of the newest version.
func (v Version) reports(text string) bool {
	for _, l := range later {
		if v < l.since && l.text.MatchString(text) {
			return false
		}
	}
	return true
}

// errors drops the errors that the version does not have.
func (v Version) errors(errs field.ErrorList) field.ErrorList {
	if v == Newest {
		return errs
	}
	return slices.DeleteFunc(errs, func(err *field.Error) bool { return !v.reports(err.Error()) })
}

// warnings drops the warnings that the version does not have, and words the others as it does.
func (v Version) warnings(decoded runtime.Object, warnings []string) []string {
	if v == Newest {
		return warnings
	}
	definition, isDefinition := decoded.(*apiextensions.CustomResourceDefinition)
	warnings = slices.DeleteFunc(warnings, func(text string) bool {
		format, isFormat := strings.CutPrefix(text, "unrecognized format ")
		return !v.reports(text) ||
			isFormat && isDefinition && v < 36 && !isFormatOfText(definition, strings.Trim(format, `"`))
	})
	if v < 36 { // staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go
		for i, text := range warnings {
			if strings.Contains(text, ": non-standard ") {
				warnings[i] = strings.Replace(text, " is invalid: use ",
					" will be considered invalid in a future Kubernetes release: use ", 1)
			}
		}
	}
	return warnings
}

// isFormatOfText reports whether a definition has a text field with a format. Before 1.36 only text
// fields have unrecognized formats:
// staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go.
func isFormatOfText(definition *apiextensions.CustomResourceDefinition, format string) bool {
	isOfText := func(s *apiextensions.JSONSchemaProps) bool { return s.Type == "string" && s.Format == format }
	return slices.ContainsFunc(definition.Spec.Versions,
		func(version apiextensions.CustomResourceDefinitionVersion) bool {
			schema, err := apiextensions.GetSchemaForVersion(definition, version.Name)
			return err == nil && schema != nil && validation.SchemaHas(schema.OpenAPIV3Schema, isOfText)
		})
}

// WithoutFormats returns a definition without the formats that the version does not check. Before 1.36 it checks
// only formats of text: see isFormatOfText. A default beyond its format would hide the errors of rules. Other objects
// stay as they are.
func (v Version) WithoutFormats(decoded kind.Object) kind.Object {
	definition, isDefinition := decoded.(*apiextensions.CustomResourceDefinition)
	if v >= 36 || !isDefinition {
		return decoded
	}
	definition = definition.DeepCopy()
	if definition.Spec.Validation != nil {
		dropNumberFormats(definition.Spec.Validation.OpenAPIV3Schema)
	}
	for _, version := range definition.Spec.Versions {
		if version.Schema != nil {
			dropNumberFormats(version.Schema.OpenAPIV3Schema)
		}
	}
	return definition
}

func dropNumberFormats(s *apiextensions.JSONSchemaProps) {
	if s == nil {
		return
	}
	if s.Type == "integer" || s.Type == "number" {
		s.Format = ""
	}
	for name, property := range s.Properties {
		dropNumberFormats(&property)
		s.Properties[name] = property
	}
	if s.AdditionalProperties != nil {
		dropNumberFormats(s.AdditionalProperties.Schema)
	}
	if s.Items != nil {
		dropNumberFormats(s.Items.Schema)
	}
}

// keep returns a function that restores fields that only later versions clear or set.
func (v Version) keep(decoded runtime.Object) (restore func()) {
	var spec *resource.ResourceClaimSpec
	switch object := decoded.(type) {
	case *resource.ResourceClaim:
		spec = &object.Spec
	case *resource.ResourceClaimTemplate:
		spec = &object.Spec.Spec
	case *core.Pod: // pkg/registry/core/pod/strategy.go
		if class := object.Status.QOSClass; v < 37 && class != "" {
			return func() { object.Status.QOSClass = class }
		}
	}
	if v > 34 || spec == nil {
		return func() {}
	}
	// 1.34 keeps fields of claims of devices, although their feature gates are off:
	// pkg/registry/resource/resourceclaim/strategy.go.
	before := spec.DeepCopy().Devices
	return func() {
		for i := range spec.Devices.Constraints {
			spec.Devices.Constraints[i].DistinctAttribute = before.Constraints[i].DistinctAttribute
		}
		for i, request := range spec.Devices.Requests {
			if request.Exactly != nil {
				request.Exactly.Tolerations = before.Requests[i].Exactly.Tolerations
			}
			for j := range request.FirstAvailable {
				request.FirstAvailable[j].Tolerations = before.Requests[i].FirstAvailable[j].Tolerations
			}
		}
	}
}
