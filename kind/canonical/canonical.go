// Package canonical gives values of a spec one spelling for each meaning, so that digests do not depend
// on the spelling. It is the usual spelling, so that recorded digests stay valid.
package canonical

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// Quantity returns a quantity in its canonical spelling: 1Gi for 1073741824, 500m for 0.5, 1k for 1E3.
// That is the spelling with the fewest digits.
func Quantity(q resource.Quantity) (canonical resource.Quantity) {
	fewest := math.MaxInt
	for _, family := range []resource.Format{resource.BinarySI, resource.DecimalSI, resource.DecimalExponent} {
		spelled := q
		spelled.Format = family
		digits, suffix := spelled.CanonicalizeBytes(nil)
		read, err := resource.ParseQuantity(string(digits) + string(suffix))
		if err == nil && read.Cmp(q) == 0 && len(digits) < fewest {
			canonical = read
			fewest = len(digits)
		}
	}
	return canonical
}

// Resources returns compute resources in their canonical spelling, without empty fields.
func Resources(resources corev1.ResourceRequirements) corev1.ResourceRequirements {
	canonical := corev1.ResourceRequirements{
		Limits:   resourceList(resources.Limits),
		Requests: resourceList(resources.Requests),
	}
	if len(resources.Claims) > 0 { // an empty list means no list
		canonical.Claims = resources.Claims
	}
	return canonical
}

func resourceList(list corev1.ResourceList) corev1.ResourceList {
	if len(list) == 0 {
		return nil
	}
	canonical := corev1.ResourceList{}
	for name, quantity := range list {
		canonical[name] = Quantity(quantity)
	}
	return canonical
}

// Env returns environment variables without fields that have their default.
func Env(env []corev1.EnvVar) []corev1.EnvVar {
	canonical := make([]corev1.EnvVar, len(env))
	for i := range env {
		canonical[i] = *env[i].DeepCopy()
		from := ptr.Deref(canonical[i].ValueFrom, corev1.EnvVarSource{})
		if field := from.FieldRef; field != nil && field.APIVersion == "v1" {
			field.APIVersion = ""
		}
		if field := from.ResourceFieldRef; field != nil {
			field.Divisor = divisorOrNone(field.Divisor)
		}
		if key := from.ConfigMapKeyRef; key != nil {
			key.Optional = optionalOrNil(key.Optional)
		}
		if key := from.SecretKeyRef; key != nil {
			key.Optional = optionalOrNil(key.Optional)
		}
		if key := from.FileKeyRef; key != nil {
			key.Optional = optionalOrNil(key.Optional)
		}
	}
	return canonical
}

// EnvFrom returns sources of environment variables without fields that have their default.
func EnvFrom(sources []corev1.EnvFromSource) []corev1.EnvFromSource {
	canonical := make([]corev1.EnvFromSource, len(sources))
	for i := range sources {
		canonical[i] = *sources[i].DeepCopy()
		if ref := canonical[i].ConfigMapRef; ref != nil {
			ref.Optional = optionalOrNil(ref.Optional)
		}
		if ref := canonical[i].SecretRef; ref != nil {
			ref.Optional = optionalOrNil(ref.Optional)
		}
	}
	return canonical
}

// divisorOrNone returns a divisor, or zero for the default of 1.
func divisorOrNone(divisor resource.Quantity) resource.Quantity {
	if divisor.CmpInt64(1) == 0 {
		return resource.Quantity{}
	}
	return Quantity(divisor)
}

// optionalOrNil returns nil for the default of false.
func optionalOrNil(optional *bool) *bool {
	if ptr.Deref(optional, false) {
		return optional
	}
	return nil
}
