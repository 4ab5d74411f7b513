// Package policy evaluates the admission policies of an environment for its objects, with the code of
// kube-apiserver.
package policy

import (
	"slices"
	"sync"
	"sync/atomic"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/watchdog"
)

// Kinds are the kinds of an environment.
type Kinds interface {
	// Kind returns a kind by its version.
	Kind(gvk schema.GroupVersionKind) Kind
	// Admit returns an object as policies of the API server see it.
	Admit(o manifest.Object) (*unstructured.Unstructured, error)
	// Mutable returns an object as mutating policies see it.
	Mutable(o manifest.Object) (runtime.Object, error)
}

// Kind is a kind of objects.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	// IsDefined reports whether the kind is built in or defined by the environment. If not, its
	// defaults are unknown.
	IsDefined bool
	// Conversion converts objects of the kind to other versions.
	Conversion admission.ObjectInterfaces
	// Types merges objects of the kind; nil if its schema is unknown.
	Types func() managedfields.TypeConverter
}

// evaluation evaluates the policies of an environment.
type evaluation struct {
	Kinds
	objects    []manifest.Object
	namespaces namespaces
	policies   []*policy
	dispatcher generic.Dispatcher[validating.PolicyHook]
	current    atomic.Pointer[policy] // the watchdog reads it
}

// Check returns the objections of the policies among valid objects to the others. Position returns
// the file and line of an object.
func Check(objects []manifest.Object, kinds Kinds,
	position func(manifest.Object) string) (problems []manifest.Problem) {
	e := newEvaluation(objects, kinds, "ValidatingAdmissionPolicy")
	if len(e.policies) == 0 {
		return nil
	}
	e.dispatcher = validating.NewDispatcher(unknownAuthorizer{},
		generic.NewPolicyMatcher(matching.NewMatcher(e.namespaces, nil)))
	found := make([][]objection, len(objects))
	problems = e.each(func(i int) { found[i] = e.judge(objects[i]) })
	for _, objection := range slices.Concat(found...) {
		problems = append(problems, objection.problem(position))
	}
	return problems
}

func newEvaluation(objects []manifest.Object, kinds Kinds, kind string) *evaluation {
	e := &evaluation{Kinds: kinds, objects: objects}
	if e.policies = e.boundPolicies(kind); len(e.policies) > 0 {
		e.namespaces = e.definedNamespaces()
	}
	return e
}

// each calls evaluate for the index of each object. It returns the problems of panics.
func (e *evaluation) each(evaluate func(i int)) []manifest.Problem {
	found := make([][]manifest.Problem, len(e.objects))
	parallel.For(len(e.objects), func(i int) {
		defer fault.Keep(&found[i], fault.In(e.objects[i]))
		defer watchdog.Part(func() manifest.Problem {
			p := manifest.Problem{Object: e.objects[i].String()}
			if current := e.current.Load(); current != nil {
				p.Object, p.Message = current.object.String(), "judging "+p.Object
			}
			return p
		})()
		evaluate(i)
	})
	return slices.Concat(found...)
}

// boundPolicies returns the policies of a kind that have bindings, in the order of objects.
func (e *evaluation) boundPolicies(kind string) (bound []*policy) {
	bindings := map[string][]*admissionv1.ValidatingAdmissionPolicyBinding{}
	for _, o := range e.ofKind(admissionv1.GroupName, kind+"Binding") {
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
		if e.readPolicy(o, binding) {
			bindings[binding.Spec.PolicyName] = append(bindings[binding.Spec.PolicyName], binding)
		}
	}
	if len(bindings) == 0 {
		return nil
	}
	for _, o := range e.ofKind(admissionv1.GroupName, kind) {
		decoded, changing := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.MutatingAdmissionPolicy{}
		if len(bindings[o.GetName()]) == 0 || !e.readPolicy(o, decoded) || !e.readPolicy(o, changing) {
			continue
		}
		p := &policy{ValidatingAdmissionPolicy: decoded, mutating: changing, object: o,
			bindings: bindings[decoded.Name]}
		p.compiled = sync.OnceValue(func() compiled { return compile(p) })
		if decoded.Spec.ParamKind != nil {
			p.params = e.newParams(decoded.Spec.ParamKind)
		}
		bound = append(bound, p)
	}
	return bound
}

// readPolicy reads a policy or a binding. All versions of the kinds have the same fields: one that the judge does not
// know has the defaults of v1. It reports whether it can.
func (e *evaluation) readPolicy(o manifest.Object, into any) bool {
	if !e.Kind(o.GroupVersionKind()).IsDefined {
		o = o.Copy()
		o.SetAPIVersion(admissionv1.SchemeGroupVersion.String())
	}
	return e.Kind(o.GroupVersionKind()).IsDefined && e.readAdmitted(o, into)
}

func (e *evaluation) ofKind(group, kind string) (found []manifest.Object) {
	for _, o := range e.objects {
		if o.GetKind() == kind && o.GroupVersionKind().Group == group {
			found = append(found, o)
		}
	}
	return found
}

// readAdmitted decodes an object with its defaults. It succeeds for valid objects.
func (e *evaluation) readAdmitted(o manifest.Object, into any) bool {
	admitted, err := e.Admit(o)
	return err == nil && runtime.DefaultUnstructuredConverter.FromUnstructured(admitted.Object, into) == nil
}

func (e *evaluation) definedNamespaces() namespaces {
	defined := namespaces{}
	for _, o := range e.ofKind(corev1.GroupName, "Namespace") {
		namespace := &corev1.Namespace{}
		if e.readAdmitted(o, namespace) {
			defined[namespace.Name] = namespace
		}
	}
	return defined
}
