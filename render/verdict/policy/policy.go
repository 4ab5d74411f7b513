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
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"example.com/gatehouse/render/manifest"
)

// policy is a ValidatingAdmissionPolicy with bindings, or a MutatingAdmissionPolicy: with the fields that both
// have, and its mutations.
type policy struct {
	*admissionv1.ValidatingAdmissionPolicy
	mutating *admissionv1.MutatingAdmissionPolicy // nil for a ValidatingAdmissionPolicy
	mutator  func() mutating.PolicyEvaluator
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

// expressions compiles the expressions of a policy.
type expressions struct {
	*cel.CompositedCompiler
	policy   *admissionv1.ValidatingAdmissionPolicy
	declared cel.OptionalVariableDeclarations
	spent    []*atomic.Int64 // gets the cost of evaluations
}

func newExpressions(policy *admissionv1.ValidatingAdmissionPolicy, spent ...*atomic.Int64) (expressions, error) {
	compiler, err := cel.NewCompositedCompiler(baseEnvironment())
	if err != nil {
		return expressions{}, err
	}
	x := expressions{compiler, policy, cel.OptionalVariableDeclarations{HasParams: policy.Spec.ParamKind != nil, HasAuthorizer: true}, spent}
	variables := make([]cel.NamedExpressionAccessor, len(policy.Spec.Variables))
	for i, variable := range policy.Spec.Variables {
		variables[i] = &validating.Variable{Name: variable.Name, Expression: variable.Expression}
	}
	x.CompileAndStoreVariables(variables, x.declared, environment.StoredExpressions)
	return x, nil
}

// later compiles conditions on the first evaluation.
func (x expressions) later(conditions []cel.ExpressionAccessor, declared cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
	return lazyEvaluator{sync.OnceValue(func() cel.ConditionEvaluator {
		return x.CompileCondition(conditions, declared, environment.StoredExpressions)
	}), x.spent}
}

// matcher returns the match conditions; nil without any.
func (x expressions) matcher() matchconditions.Matcher {
	spec := x.policy.Spec
	if len(spec.MatchConditions) == 0 {
		return nil
	}
	conditions := make([]cel.ExpressionAccessor, len(spec.MatchConditions))
	for i := range spec.MatchConditions {
		conditions[i] = (*matchconditions.MatchCondition)(&spec.MatchConditions[i])
	}
	return matchconditions.NewMatcher(x.later(conditions, x.declared), spec.FailurePolicy, "policy", "validate", x.policy.Name)
}

// compile is compilePolicy of k8s.io/apiserver, which is private, but compiles expressions on demand:
// most policies match few objects, and many match conditions exclude all of them.
func compile(policy *admissionv1.ValidatingAdmissionPolicy, spent ...*atomic.Int64) validating.Validator {
	spec := policy.Spec
	x, err := newExpressions(policy, spent...)
	if err != nil {
		return validating.NewValidator(nil, nil, nil, nil, spec.FailurePolicy, err)
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
	forMessages := cel.OptionalVariableDeclarations{HasParams: x.declared.HasParams}
	return validating.NewValidator(x.later(validations, x.declared), x.matcher(), x.later(annotations, x.declared), x.later(messages, forMessages), spec.FailurePolicy, nil)
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
