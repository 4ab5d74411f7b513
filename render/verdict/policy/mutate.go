package policy

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"

	"example.com/gatehouse/render/manifest"
)

func init() { jsonpatch.AccumulatedCopySizeLimit = 3 << 20 } // as kube-apiserver does

// Mutation is the change of an object by the MutatingAdmissionPolicies of an environment.
type Mutation struct {
	// Before is the object as policies see it, After as they leave it. Both are nil if none changes it.
	Before, After *unstructured.Unstructured
	// Policies are the policies that change the object, in the order of their evaluation.
	Policies []manifest.Object
	// Doubts are the policies that match but are not evaluated.
	Doubts []Doubt
	// refusal is the error of a policy.
	refusal string
}

// Names lists the policies.
func (m Mutation) Names() string {
	names := make([]string, len(m.Policies))
	for i, p := range m.Policies {
		names[i] = p.String()
	}
	return strings.Join(names, ", ")
}

// Doubt is the reason why a policy is not evaluated for an object.
type Doubt struct {
	Policy manifest.Object
	Reason string
}

// Mutate returns the mutations of objects by the policies among them, nil without policies, and the problems of
// these: objects that they deny, and warnings of policies that are not evaluated.
func Mutate(objects []manifest.Object, kinds Kinds) ([]Mutation, []manifest.Problem) {
	e := newEvaluation(objects, kinds, "MutatingAdmissionPolicy")
	if len(e.policies) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(e.policies, func(a, b *policy) int { return strings.Compare(a.Name, b.Name) })
	matcher := matching.NewMatcher(e.namespaces, nil)
	m := mutator{e, generic.NewPolicyMatcher(matcher), mutating.NewDispatcher(unknownAuthorizer{}, matcher, types{e})}
	all := make([]Mutation, len(objects))
	problems := e.each(func(i int) { all[i] = m.mutate(objects[i]) })
	return all, append(problems, e.problems(all)...)
}

// problems returns the problems of mutations, with one doubt for each policy.
func (e *evaluation) problems(all []Mutation) (problems []manifest.Problem) {
	told := map[manifest.ID]bool{}
	for i, m := range all {
		if m.refusal != "" {
			problems = append(problems, manifest.NewProblem(e.objects[i], "", manifest.Value{},
				"denied by a MutatingAdmissionPolicy: "+m.refusal).As(manifest.PolicyDenied))
		}
		for _, d := range m.Doubts {
			if !told[d.Policy.ID()] {
				told[d.Policy.ID()] = true
				p := manifest.NewProblem(d.Policy, "", manifest.Value{},
					fmt.Sprintf("is not evaluated for objects such as %s: %s", e.objects[i], d.Reason)).
					As(manifest.PolicyNotEvaluated)
				p.Warning = true
				problems = append(problems, p)
			}
		}
	}
	return problems
}

// mutator runs mutating policies.
type mutator struct {
	*evaluation
	generic.PolicyMatcher
	dispatcher generic.Dispatcher[mutating.PolicyHook]
}

func (m mutator) mutate(o manifest.Object) (result Mutation) {
	r := m.newRequest(o, func() (runtime.Object, error) { return m.Mutable(o) })
	if r.isOfPolicy() {
		return result
	}
	hooks, policies := m.hooks(r, &result)
	if len(hooks) == 0 {
		return result
	}
	before, _ := m.run(o, nil)
	after, err := m.run(o, hooks)
	if err != nil {
		result.refusal = reasonOf(err)
		return result
	}
	reverse := slices.Clone(hooks)
	slices.Reverse(reverse)
	if reversed, err := m.run(o, reverse); err != nil || !reflect.DeepEqual(after, reversed) {
		for _, p := range policies {
			result.Doubts = append(result.Doubts,
				Doubt{p, "the API server evaluates policies in any order, and here the order matters"})
		}
		return result
	}
	if reflect.DeepEqual(before, after) {
		return result
	}
	result.Before = before
	result.After = after
	for i := range hooks {
		alone, _ := m.run(o, hooks[i:i+1])
		ofOthers, _ := m.run(o, slices.Delete(slices.Clone(hooks), i, i+1))
		if !reflect.DeepEqual(alone, before) || !reflect.DeepEqual(ofOthers, after) {
			result.Policies = append(result.Policies, policies[i])
		}
	}
	return result
}

// hooks returns the policies that match a request, with their matching bindings, and adds doubts about others to
// a mutation.
func (m mutator) hooks(r *request, result *Mutation) (hooks []mutating.PolicyHook, policies []manifest.Object) {
	for _, p := range m.policies {
		if matches, _, _, err := m.DefinitionMatches(r, r.kind.Conversion,
			validating.NewValidatingAdmissionPolicyAccessor(p.ValidatingAdmissionPolicy)); err == nil && !matches {
			continue
		}
		var bindings []*mutating.PolicyBinding
		for _, b := range p.bindings {
			if matches, err := m.BindingMatches(r, r.kind.Conversion,
				validating.NewValidatingAdmissionPolicyBindingAccessor(b)); err == nil && !matches {
				continue
			}
			if doubt := m.mutationDoubt(r, p, b); doubt != "" {
				result.Doubts = append(result.Doubts, Doubt{p.object, doubt})
				continue
			}
			bindings = append(bindings,
				&mutating.PolicyBinding{ObjectMeta: b.ObjectMeta, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{
					PolicyName: b.Spec.PolicyName, ParamRef: b.Spec.ParamRef, MatchResources: b.Spec.MatchResources,
				}})
		}
		if len(bindings) == 0 {
			continue
		}
		hooks, policies = append(hooks, hookOf(p, p.mutating, bindings, p.compiled().mutator)),
			append(policies, p.object)
	}
	return hooks, policies
}

// mutationDoubt explains why files do not tell the result of a policy; empty if they do.
func (m mutator) mutationDoubt(r *request, p *policy, binding *admissionv1.ValidatingAdmissionPolicyBinding) string {
	var expressions []string
	for _, mutation := range p.mutating.Spec.Mutations {
		switch {
		case mutation.ApplyConfiguration != nil:
			expressions = append(expressions, mutation.ApplyConfiguration.Expression)
		case mutation.JSONPatch != nil:
			expressions = append(expressions, mutation.JSONPatch.Expression)
		}
	}
	if m.readsUnknown(r, p, expressions) {
		return "its expressions read the user, or values of the cluster"
	}
	return m.doubt(r, p, binding)
}

// run returns an object after policies, reinvoked as the API server does.
func (m mutator) run(o manifest.Object, hooks []mutating.PolicyHook) (*unstructured.Unstructured, error) {
	r := m.newRequest(o, func() (runtime.Object, error) { return m.Mutable(o) })
	err := m.dispatcher.Dispatch(context.Background(), r, r.kind.Conversion, hooks)
	if again := r.GetReinvocationContext(); err == nil && again.ShouldReinvoke() {
		again.SetIsReinvoke()
		err = m.dispatcher.Dispatch(context.Background(), r, r.kind.Conversion, hooks)
	}
	values, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(r.GetObject()) // it is an object of the API server
	return &unstructured.Unstructured{Object: values}, err
}

// types has the types of all kinds.
type types struct{ Kinds }

// GetTypeConverter implements patch.TypeConverterManager.
func (t types) GetTypeConverter(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	if known := t.Kind(gvk).Types; known != nil {
		return known()
	}
	return nil
}

// Run implements patch.TypeConverterManager.
func (types) Run(context.Context) {}
