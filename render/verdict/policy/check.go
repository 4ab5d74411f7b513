// Package policy judges the objects of an environment by its ValidatingAdmissionPolicies, with
// the code of kube-apiserver.
package policy

import (
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
)

// Kinds knows the kinds of an environment.
type Kinds interface {
	// Kind returns what is known of a kind.
	Kind(gvk schema.GroupVersionKind) Kind
	// Admit returns an object as the API server shows it to policies.
	Admit(o manifest.Object) (*unstructured.Unstructured, error)
}

// Kind is a kind of objects.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	// IsDefined reports whether it is built in or the environment defines it, so that the
	// defaults of its fields are known.
	IsDefined bool
	// Conversion converts its objects to other versions.
	Conversion admission.ObjectInterfaces
}

// evaluation is what policies are evaluated with.
type evaluation struct {
	Kinds
	objects    []manifest.Object
	namespaces namespaces
	policies   []*policy
	dispatcher generic.Dispatcher[validating.PolicyHook]
}

// Check returns what the policies among valid objects object to in the creation of the others.
// Position returns where the user finds an object.
func Check(objects []manifest.Object, kinds Kinds, position func(manifest.Object) string) (problems []manifest.Problem) {
	e := &evaluation{Kinds: kinds, objects: objects}
	if e.policies = e.boundPolicies(); len(e.policies) == 0 {
		return nil
	}
	e.namespaces = e.broughtNamespaces()
	e.dispatcher = validating.NewDispatcher(unknownAuthorizer{}, generic.NewPolicyMatcher(matching.NewMatcher(e.namespaces, nil)))
	found := make([][]objection, len(objects))
	parallel.For(len(objects), func(i int) { found[i] = e.judge(objects[i]) })
	for _, objection := range slices.Concat(found...) {
		problems = append(problems, objection.problem(position))
	}
	return problems
}

// boundPolicies returns the policies that bindings put into effect, in the order of objects.
func (e *evaluation) boundPolicies() (bound []*policy) {
	bindings := map[string][]*admissionv1.ValidatingAdmissionPolicyBinding{}
	for _, o := range e.ofKind(admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding")) {
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
		if e.readAdmitted(o, binding) {
			bindings[binding.Spec.PolicyName] = append(bindings[binding.Spec.PolicyName], binding)
		}
	}
	if len(bindings) == 0 {
		return nil
	}
	for _, o := range e.ofKind(admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy")) {
		decoded := &admissionv1.ValidatingAdmissionPolicy{}
		if len(bindings[o.GetName()]) == 0 || !e.readAdmitted(o, decoded) {
			continue
		}
		p := &policy{
			ValidatingAdmissionPolicy: decoded, object: o, bindings: bindings[decoded.Name],
			compiled: sync.OnceValue(func() validating.Validator { return compile(decoded) }),
		}
		if decoded.Spec.ParamKind != nil {
			p.params = e.newParams(decoded.Spec.ParamKind)
		}
		bound = append(bound, p)
	}
	return bound
}

// ofKind returns the objects of a kind in a version.
func (e *evaluation) ofKind(gvk schema.GroupVersionKind) (found []manifest.Object) {
	for _, o := range e.objects {
		if o.GroupVersionKind() == gvk {
			found = append(found, o)
		}
	}
	return found
}

// readAdmitted reads an object with its defaults. All objects are valid, so none is left out.
func (e *evaluation) readAdmitted(o manifest.Object, into any) bool {
	admitted, err := e.Admit(o)
	return err == nil && runtime.DefaultUnstructuredConverter.FromUnstructured(admitted.Object, into) == nil
}

// broughtNamespaces returns the Namespaces of the environment.
func (e *evaluation) broughtNamespaces() namespaces {
	brought := namespaces{}
	for _, o := range e.ofKind(corev1.SchemeGroupVersion.WithKind("Namespace")) {
		namespace := &corev1.Namespace{}
		if e.readAdmitted(o, namespace) {
			brought[namespace.Name] = namespace
		}
	}
	return brought
}
