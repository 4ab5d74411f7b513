package apiserver

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/resource"
)

// later has the errors and warnings that the code of kube-apiserver has only since a version, and
// gives in all versions that it judges as. The paths are those of github.com/kubernetes/kubernetes.
var later = []struct {
	since Version
	said  *regexp.Regexp
}{
	// pkg/apis/core/validation/validation.go, validateInitContainers; kubernetes/kubernetes#137458
	{36, regexp.MustCompile(`\binitContainers\[\d+\]\.resizePolicy\[\d+\]\.restartPolicy: .* for non-sidecar initContainers$`)},
	// pkg/apis/core/validation/validation.go, validateImageVolumeSource: before, Pods alone had to name an image
	{37, regexp.MustCompile(`\btemplate\.spec\.volumes\[\d+\]\.image\.reference: Required value$`)},
	// pkg/api/service/warnings.go
	{35, regexp.MustCompile(`^spec\.trafficDistribution: .* is deprecated; use `)},
	{36, regexp.MustCompile(`^spec\.externalIPs is deprecated`)},
	// pkg/registry/core/resourcequota/strategy.go
	{35, regexp.MustCompile(`^ResourceQuota .* should be less than `)},
	// pkg/registry/resource/resourceslice/strategy.go
	{35, regexp.MustCompile(`^spec\.driver: driver names should be lowercase`)},
	// pkg/apis/admissionregistration/validation/static_suffix.go
	{36, regexp.MustCompile(`^metadata\.name: names ending with "\.static\.k8s\.io" are reserved`)},
	// staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go
	{37, regexp.MustCompile(`^x-kubernetes-list-type: set for items of type `)},
}

// says reports whether a version has an error or a warning that the newest one has.
func (v Version) says(text string) bool {
	for _, l := range later {
		if v < l.since && l.said.MatchString(text) {
			return false
		}
	}
	return true
}

// errors returns those errors that a version has.
func (v Version) errors(errs field.ErrorList) field.ErrorList {
	if v == Newest {
		return errs
	}
	return slices.DeleteFunc(errs, func(err *field.Error) bool { return !v.says(err.Error()) })
}

// warnings returns those warnings about an object that a version has, in its words.
func (v Version) warnings(decoded runtime.Object, warnings []string) []string {
	if v == Newest {
		return warnings
	}
	definition, isDefinition := decoded.(*apiextensions.CustomResourceDefinition)
	warnings = slices.DeleteFunc(warnings, func(text string) bool {
		format, isFormat := strings.CutPrefix(text, "unrecognized format ")
		return !v.says(text) || isFormat && isDefinition && v < 36 && !isFormatOfText(definition, strings.Trim(format, `"`))
	})
	if v < 36 { // staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go
		for i, text := range warnings {
			if strings.Contains(text, ": non-standard ") {
				warnings[i] = strings.Replace(text, " is invalid: use ", " will be considered invalid in a future Kubernetes release: use ", 1)
			}
		}
	}
	return warnings
}

// isFormatOfText reports whether a definition has a text field of a format. Before 1.36 no other
// fields had formats that are unrecognized:
// staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go.
func isFormatOfText(definition *apiextensions.CustomResourceDefinition, format string) bool {
	isOfText := func(s *apiextensions.JSONSchemaProps) bool { return s.Type == "string" && s.Format == format }
	return slices.ContainsFunc(definition.Spec.Versions, func(version apiextensions.CustomResourceDefinitionVersion) bool {
		schema, err := apiextensions.GetSchemaForVersion(definition, version.Name)
		return err == nil && schema != nil && validation.SchemaHas(schema.OpenAPIV3Schema, isOfText)
	})
}

// keepClaims returns a function that puts back what Kubernetes 1.34 forgets to drop from claims of
// devices, though its feature gates are off: pkg/registry/resource/resourceclaim/strategy.go.
func (v Version) keepClaims(decoded runtime.Object) (putBack func()) {
	var spec *resource.ResourceClaimSpec
	switch object := decoded.(type) {
	case *resource.ResourceClaim:
		spec = &object.Spec
	case *resource.ResourceClaimTemplate:
		spec = &object.Spec.Spec
	}
	if v > 34 || spec == nil {
		return func() {}
	}
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
