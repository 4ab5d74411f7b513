package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	"k8s.io/kubernetes/pkg/apis/admissionregistration/validation"
)

// kube-apiserver emulates one version for its lifetime, and so caches two compilers of expressions:
// getStrictStatelessCELCompiler of k8s.io/kubernetes/pkg/apis/admissionregistration/validation, and
// GetCompiler of k8s.io/dynamic-resource-allocation/cel. Here the version changes.

// makeCompiler makes kube-apiserver create the compiler for policies and webhooks as Newest, whose
// expressions include the expressions of earlier versions.
var makeCompiler = sync.OnceFunc(func() {
	validation.ValidateValidatingAdmissionPolicy(probe([]admissionregistration.Validation{{Expression: "true"}}, nil))
})

// forgetDeviceCompiler makes kube-apiserver create the compiler for devices again.
func forgetDeviceCompiler() {
	// the cache holds one, and no version has these features
	cel.GetCompiler(cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
}

// probe returns a policy. The compiler for a policy with variables is not cached.
func probe(validations []admissionregistration.Validation,
	variables []admissionregistration.Variable) *admissionregistration.ValidatingAdmissionPolicy {
	return &admissionregistration.ValidatingAdmissionPolicy{
		Spec: admissionregistration.ValidatingAdmissionPolicySpec{Validations: validations, Variables: variables},
	}
}

// addExpressionErrors adds the errors of expressions in policies and webhooks that need a newer
// version.
func (v Version) addExpressionErrors(errs field.ErrorList, decoded runtime.Object) field.ErrorList {
	if v == Newest {
		return errs
	}
	conditions := matchConditions(decoded)
	if conditions == nil {
		return errs
	}
	policy := probe(nil, nil)
	if object, ok := decoded.(*admissionregistration.ValidatingAdmissionPolicy); ok {
		policy = object.DeepCopy()
	}
	if len(policy.Spec.Variables) == 0 {
		policy.Spec.Variables = []admissionregistration.Variable{{Name: "probe", Expression: "true"}}
	}
	fields := map[string]string{} // of conditions, by the field of the validation in the probe
	for path, of := range conditions {
		for i, condition := range of {
			fields[fmt.Sprintf("spec.validations[%d].expression",
				len(policy.Spec.Validations))] = fmt.Sprintf("%s[%d].expression", path, i)
			policy.Spec.Validations = append(policy.Spec.Validations,
				admissionregistration.Validation{Expression: condition.Expression})
		}
	}
	for _, err := range validation.ValidateValidatingAdmissionPolicy(policy) {
		err.Field = cmp.Or(fields[err.Field], err.Field)
		isFound := slices.ContainsFunc(errs, func(found *field.Error) bool { return found.Field == err.Field })
		if !isFound && strings.Contains(err.Detail, "undeclared reference") {
			errs = append(errs, err)
		}
	}
	return errs
}

// matchConditions returns the conditions of a policy or of webhooks, by field; nil for any other
// object.
func matchConditions(decoded runtime.Object) map[string][]admissionregistration.MatchCondition {
	ofWebhooks := map[string][]admissionregistration.MatchCondition{}
	switch object := decoded.(type) {
	case *admissionregistration.ValidatingAdmissionPolicy:
		return map[string][]admissionregistration.MatchCondition{"spec.matchConditions": object.Spec.MatchConditions}
	case *admissionregistration.MutatingAdmissionPolicy:
		return map[string][]admissionregistration.MatchCondition{"spec.matchConditions": object.Spec.MatchConditions}
	case *admissionregistration.ValidatingWebhookConfiguration:
		for i, webhook := range object.Webhooks {
			ofWebhooks[fmt.Sprintf("webhooks[%d].matchConditions", i)] = webhook.MatchConditions
		}
	case *admissionregistration.MutatingWebhookConfiguration:
		for i, webhook := range object.Webhooks {
			ofWebhooks[fmt.Sprintf("webhooks[%d].matchConditions", i)] = webhook.MatchConditions
		}
	default:
		return nil
	}
	return ofWebhooks
}
