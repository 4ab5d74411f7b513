// Package policy has the verdict of an environment's ValidatingAdmissionPolicies on its
// objects, by kube-apiserver's own code.
package policy

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
)

// Kinds knows the kinds of an environment.
type Kinds interface {
	// Kind returns what is known of a kind.
	Kind(gvk schema.GroupVersionKind) Kind
	// Admit returns an object as the API server shows it to policies.
	Admit(o object.Object) (runtime.Object, error)
}

// Kind is a kind of objects.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	// IsDefined says whether it is built in or the environment defines it, so that the
	// defaults of its fields are known.
	IsDefined bool
	// Conversion converts its objects to other versions.
	Conversion admission.ObjectInterfaces
}

// evaluation is what policies are evaluated with.
type evaluation struct {
	Kinds
	objects    []object.Object
	namespaces namespaces
	policies   []*policy
	dispatcher generic.Dispatcher[validating.PolicyHook]
}

// Check finds what policies have against the creation of objects, all of which are
// otherwise valid. A position is where the user finds an object.
func Check(objects []object.Object, kinds Kinds, position func(object.Object) string) (problems []object.Problem) {
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

// boundPolicies are the policies that bindings put into effect, in the order of objects.
func (e *evaluation) boundPolicies() (bound []*policy) {
	bindings := map[string][]*admissionv1.ValidatingAdmissionPolicyBinding{}
	for _, o := range e.ofKind("ValidatingAdmissionPolicyBinding") {
		if binding, ok := e.versioned(o).(*admissionv1.ValidatingAdmissionPolicyBinding); ok {
			bindings[binding.Spec.PolicyName] = append(bindings[binding.Spec.PolicyName], binding)
		}
	}
	if len(bindings) == 0 {
		return nil
	}
	for _, o := range e.ofKind("ValidatingAdmissionPolicy") {
		if decoded, ok := e.versioned(o).(*admissionv1.ValidatingAdmissionPolicy); ok && len(bindings[decoded.Name]) > 0 {
			bound = append(bound, e.newPolicy(o, decoded, bindings[decoded.Name]))
		}
	}
	return bound
}

func (e *evaluation) ofKind(kind string) (found []object.Object) {
	for _, o := range e.objects {
		if o.GetKind() == kind && o.GetAPIVersion() == admissionv1.SchemeGroupVersion.String() {
			found = append(found, o)
		}
	}
	return found
}

// versioned is an object with its defaults in the version that it is written in; nil where
// it cannot be read.
func (e *evaluation) versioned(o object.Object) runtime.Object { return e.in(o, o.GroupVersionKind()) }

// in is an object with its defaults in a version of its kind; nil where it cannot be read.
func (e *evaluation) in(o object.Object, gvk schema.GroupVersionKind) runtime.Object {
	admitted, err := e.Admit(o)
	if err != nil {
		return nil
	}
	versioned, err := admission.ConvertToGVK(admitted, gvk, e.Kind(o.GroupVersionKind()).Conversion)
	if err != nil {
		return nil
	}
	return versioned
}

// broughtNamespaces are the Namespaces of the environment.
func (e *evaluation) broughtNamespaces() namespaces {
	brought := namespaces{}
	for _, o := range e.objects {
		if o.GetKind() == "Namespace" && o.GetAPIVersion() == corev1.SchemeGroupVersion.String() {
			if namespace, ok := e.versioned(o).(*corev1.Namespace); ok {
				brought[namespace.Name] = namespace
			}
		}
	}
	return brought
}
