package policy

import (
	"context"
	"sync"
	"sync/atomic"

	requestv1 "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"example.com/gatehouse/render/manifest"
)

// policy is a ValidatingAdmissionPolicy with bindings.
type policy struct {
	*admissionv1.ValidatingAdmissionPolicy
	object   manifest.Object
	bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	compiled func() validating.Validator
	params   params       // if it has a paramKind
	spent    atomic.Int64 // the cost of its evaluations
}

// hook returns the policy with one binding for the dispatcher of the API server.
func (p *policy) hook(binding *admissionv1.ValidatingAdmissionPolicyBinding, evaluator validating.Validator) validating.PolicyHook {
	hook := validating.PolicyHook{
		Policy:    p.ValidatingAdmissionPolicy,
		Bindings:  []*admissionv1.ValidatingAdmissionPolicyBinding{binding},
		Evaluator: evaluator,
	}
	if p.Spec.ParamKind != nil {
		hook.ParamInformer, hook.ParamScope, hook.ConfigurationError = p.params, p.params.scope, p.params.err
	}
	return hook
}

// compile is compilePolicy of k8s.io/apiserver, which is private, but compiles expressions on demand:
// most policies match few objects, and many match conditions exclude all of them.
// It adds the cost of evaluations to the spent costs.
func compile(policy *admissionv1.ValidatingAdmissionPolicy, spent ...*atomic.Int64) validating.Validator {
	spec, failurePolicy := policy.Spec, policy.Spec.FailurePolicy
	compiler, err := cel.NewCompositedCompiler(baseEnvironment())
	if err != nil {
		return validating.NewValidator(nil, nil, nil, nil, failurePolicy, err)
	}
	declared := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	forMessages := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil}

	variables := make([]cel.NamedExpressionAccessor, len(spec.Variables))
	for i, variable := range spec.Variables {
		variables[i] = &validating.Variable{Name: variable.Name, Expression: variable.Expression}
	}
	compiler.CompileAndStoreVariables(variables, declared, environment.StoredExpressions)

	later := func(expressions []cel.ExpressionAccessor, declared cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
		return lazyEvaluator{sync.OnceValue(func() cel.ConditionEvaluator {
			return compiler.CompileCondition(expressions, declared, environment.StoredExpressions)
		}), spent}
	}
	validations, messages := make([]cel.ExpressionAccessor, len(spec.Validations)), make([]cel.ExpressionAccessor, len(spec.Validations))
	for i, validation := range spec.Validations {
		validations[i] = &validating.ValidationCondition{Expression: validation.Expression, Message: validation.Message, Reason: validation.Reason}
		if validation.MessageExpression != "" {
			messages[i] = &validating.MessageExpressionCondition{MessageExpression: validation.MessageExpression}
		}
	}
	annotations := make([]cel.ExpressionAccessor, len(spec.AuditAnnotations))
	for i, annotation := range spec.AuditAnnotations {
		annotations[i] = &validating.AuditAnnotationCondition{Key: annotation.Key, ValueExpression: annotation.ValueExpression}
	}
	var matcher matchconditions.Matcher
	if len(spec.MatchConditions) > 0 {
		conditions := make([]cel.ExpressionAccessor, len(spec.MatchConditions))
		for i := range spec.MatchConditions {
			conditions[i] = (*matchconditions.MatchCondition)(&spec.MatchConditions[i])
		}
		matcher = matchconditions.NewMatcher(later(conditions, declared), failurePolicy, "policy", "validate", policy.Name)
	}
	return validating.NewValidator(later(validations, declared), matcher, later(annotations, declared), later(messages, forMessages), failurePolicy, nil)
}

// baseEnvironment is the environment of all expressions.
var baseEnvironment = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// lazyEvaluator compiles expressions on the first evaluation, and adds the costs of evaluations.
type lazyEvaluator struct {
	compiled func() cel.ConditionEvaluator
	spent    []*atomic.Int64
}

// ForInput evaluates the expressions.
func (l lazyEvaluator) ForInput(ctx context.Context, attributes *admission.VersionedAttributes, request *requestv1.AdmissionRequest, variables cel.OptionalVariableBindings, namespace *corev1.Namespace, budget int64) ([]cel.EvaluationResult, int64, error) {
	results, remaining, err := l.compiled().ForInput(ctx, attributes, request, variables, namespace, budget)
	for _, spent := range l.spent {
		spent.Add(budget - max(remaining, 0))
	}
	return results, remaining, err
}

// CompilationErrors returns the errors of the expressions.
func (l lazyEvaluator) CompilationErrors() []error { return l.compiled().CompilationErrors() }
