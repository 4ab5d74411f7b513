package policy

import (
	"context"
	"sync"

	requestv1 "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"example.com/gatehouse/render/manifest"
)

// policy is a ValidatingAdmissionPolicy with bindings, or a MutatingAdmissionPolicy: with the fields that both
// have, and its mutations.
type policy struct {
	*admissionv1.ValidatingAdmissionPolicy
	mutating *admissionv1.MutatingAdmissionPolicy // without mutations for a ValidatingAdmissionPolicy
	object   manifest.Object
	bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	compiled func() compiled
	params   params // if it has a paramKind
}

// hookOf returns a policy of either kind with its bindings for the dispatcher of the API server.
func hookOf[P, B runtime.Object, E generic.Evaluator](p *policy, object P, bindings []B,
	evaluator E) generic.PolicyHook[P, B, E] {
	hook := generic.PolicyHook[P, B, E]{Policy: object, Bindings: bindings, Evaluator: evaluator}
	if p.Spec.ParamKind != nil {
		hook.ParamInformer = p.params
		hook.ParamScope = p.params.scope
		hook.ConfigurationError = p.params.err
	}
	return hook
}

// compiled is a policy that is ready to validate or to mutate.
type compiled struct {
	validating.Validator
	mutator mutating.PolicyEvaluator
}

// compile is compilePolicy of k8s.io/apiserver, for both kinds, which is private. It compiles conditions on
// demand: most policies match few objects, and many match conditions exclude all of them.
func compile(p *policy) compiled {
	spec := p.Spec
	failurePolicy := p.Spec.FailurePolicy
	compiler, err := cel.NewCompositedCompiler(baseEnvironment())
	if err != nil {
		return compiled{validating.NewValidator(nil, nil, nil, nil, failurePolicy, err),
			mutating.PolicyEvaluator{Error: err}}
	}
	declared := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	forMessages := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil}
	forPatches := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true,
		HasPatchTypes: true}

	variables := make([]cel.NamedExpressionAccessor, len(spec.Variables))
	for i, variable := range spec.Variables {
		variables[i] = &validating.Variable{Name: variable.Name, Expression: variable.Expression}
	}
	compiler.CompileAndStoreVariables(variables, declared, environment.StoredExpressions)

	later := func(expressions []cel.ExpressionAccessor,
		declared cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
		return lazyEvaluator{sync.OnceValue(func() cel.ConditionEvaluator {
			return compiler.CompileCondition(expressions, declared, environment.StoredExpressions)
		})}
	}
	validations := make([]cel.ExpressionAccessor, len(spec.Validations))
	messages := make([]cel.ExpressionAccessor, len(spec.Validations))
	for i, validation := range spec.Validations {
		validations[i] = &validating.ValidationCondition{Expression: validation.Expression, Message: validation.Message,
			Reason: validation.Reason}
		if validation.MessageExpression != "" {
			messages[i] = &validating.MessageExpressionCondition{MessageExpression: validation.MessageExpression}
		}
	}
	annotations := make([]cel.ExpressionAccessor, len(spec.AuditAnnotations))
	for i, annotation := range spec.AuditAnnotations {
		annotations[i] = &validating.AuditAnnotationCondition{Key: annotation.Key,
			ValueExpression: annotation.ValueExpression}
	}
	var patchers []patch.Patcher
	for _, mutation := range p.mutating.Spec.Mutations {
		evaluator := func(expression cel.ExpressionAccessor) cel.MutatingEvaluator {
			return compiler.CompileMutatingEvaluator(expression, forPatches, environment.StoredExpressions)
		}
		if mutation.PatchType == admissionv1.PatchTypeJSONPatch {
			patchers = append(patchers,
				patch.NewJSONPatcher(evaluator(&patch.JSONPatchCondition{Expression: mutation.JSONPatch.Expression})))
		} else {
			patchers = append(patchers,
				patch.NewApplyConfigurationPatcher(evaluator(&patch.ApplyConfigurationCondition{
					Expression: mutation.ApplyConfiguration.Expression,
				})))
		}
	}
	var matcher matchconditions.Matcher
	if len(spec.MatchConditions) > 0 {
		conditions := make([]cel.ExpressionAccessor, len(spec.MatchConditions))
		for i := range spec.MatchConditions {
			conditions[i] = (*matchconditions.MatchCondition)(&spec.MatchConditions[i])
		}
		matcher = matchconditions.NewMatcher(later(conditions, declared), failurePolicy, "policy", "validate", p.Name)
	}
	return compiled{
		validating.NewValidator(later(validations, declared), matcher, later(annotations, declared),
			later(messages, forMessages), failurePolicy, nil),
		mutating.PolicyEvaluator{Matcher: matcher, Mutators: patchers, CompositedCompiler: compiler},
	}
}

// baseEnvironment is the environment of all expressions.
var baseEnvironment = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// lazyEvaluator compiles expressions on the first evaluation.
type lazyEvaluator struct{ compiled func() cel.ConditionEvaluator }

// ForInput evaluates the expressions.
func (l lazyEvaluator) ForInput(ctx context.Context, attributes *admission.VersionedAttributes,
	request *requestv1.AdmissionRequest, variables cel.OptionalVariableBindings, namespace *corev1.Namespace,
	budget int64) ([]cel.EvaluationResult, int64, error) {
	return l.compiled().ForInput(ctx, attributes, request, variables, namespace, budget)
}

// CompilationErrors returns the errors of the expressions.
func (l lazyEvaluator) CompilationErrors() []error { return l.compiled().CompilationErrors() }
