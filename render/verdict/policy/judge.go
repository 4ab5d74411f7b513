package policy

import (
	"context"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"example.com/gatehouse/render/manifest"
)

// request is a request to create an object.
type request struct {
	admission.Attributes
	object   manifest.Object
	kind     Kind
	admitted func() runtime.Object
}

// someone is the unknown user who applies the objects: a GitOps tool or a person.
var someone = &user.DefaultInfo{Name: "someone", Groups: []string{user.AllAuthenticated}}

func (e *evaluation) newRequest(o manifest.Object, admit func() (runtime.Object, error)) *request {
	kind := e.Kind(o.GroupVersionKind())
	namespace := o.GetNamespace()
	switch {
	case kind.Resource.GroupResource() == corev1.Resource("namespaces"):
		namespace = o.GetName() // the API server does the same
	case !kind.Namespaced:
		namespace = ""
	case namespace == "" && kind.IsDefined:
		namespace = metav1.NamespaceDefault
	}
	return &request{
		Attributes: admission.NewAttributesRecord(nil, nil, o.GroupVersionKind(), namespace, o.GetName(), kind.Resource,
			"", admission.Create, &metav1.CreateOptions{}, false, someone),
		object: o,
		kind:   kind,
		admitted: sync.OnceValue(func() runtime.Object {
			admitted, err := admit()
			if err != nil {
				return o.Unstructured // valid objects can be read
			}
			return admitted
		}),
	}
}

// GetObject returns the admitted object. It is made on demand, as few objects match a policy.
func (r *request) GetObject() runtime.Object { return r.admitted() }

// isOfPolicy reports whether the object is a policy or a binding. The API server spares them, so that a policy can
// be undone.
func (r *request) isOfPolicy() bool {
	return r.kind.Resource.Group == admissionv1.GroupName &&
		strings.Contains(r.kind.Resource.Resource, "admissionpolic")
}

// AddAnnotation ignores annotations for the audit log.
func (r *request) AddAnnotation(string, string) error { return nil }

func (e *evaluation) judge(o manifest.Object) (objections []objection) {
	r := e.newRequest(o, func() (runtime.Object, error) { return e.Admit(o) })
	if r.isOfPolicy() {
		return nil
	}
	for _, p := range e.policies {
		for _, binding := range p.bindings {
			e.current.Store(p)
			objections = append(objections, e.dispatch(r, p, binding)...)
		}
	}
	return withoutRepeated(objections)
}

// dispatch evaluates a policy with one of its bindings for a request.
func (e *evaluation) dispatch(r *request, p *policy,
	binding *admissionv1.ValidatingAdmissionPolicyBinding) (objections []objection) {
	seen := &recorder{compiled: p.compiled}
	hooks := []validating.PolicyHook{hookOf[*validating.Policy, *validating.PolicyBinding, validating.Validator](p,
		p.ValidatingAdmissionPolicy, []*validating.PolicyBinding{binding}, seen)}
	err := e.dispatcher.Dispatch(context.Background(), r, r.kind.Conversion, hooks)
	object := func(message string, action admissionv1.ValidationAction) {
		objections = append(objections, objection{r.object, p, binding, message, action, e.doubt(r, p, binding)})
	}
	if err != nil && len(seen.results) == 0 { // the policy could not be evaluated
		object(reasonOf(err), admissionv1.Deny)
	}
	for _, result := range seen.results {
		for i, decision := range result.Decisions {
			if decision.Action == validating.ActionDeny && !e.isUnknowable(r, p, i, decision) {
				object(decision.Message, mostSevere(binding.Spec.ValidationActions))
			}
		}
		for _, annotation := range result.AuditAnnotations {
			if annotation.Action == validating.AuditAnnotationActionError {
				object(annotation.Error, admissionv1.Deny)
			}
		}
	}
	return objections
}

// reasonOf returns the reason in an error of the API server.
func reasonOf(err error) string {
	_, reason, found := strings.Cut(err.Error(), " denied request: ")
	if !found {
		return err.Error()
	}
	return reason
}

// recorder keeps all results of an evaluation. The API server reports only the first.
type recorder struct {
	compiled func() compiled
	results  []validating.ValidateResult
}

// Validate evaluates a policy.
func (r *recorder) Validate(ctx context.Context, resource schema.GroupVersionResource,
	attributes *admission.VersionedAttributes, params runtime.Object, namespace *corev1.Namespace, budget int64,
	authorizer authorizer.UnconditionalAuthorizer) validating.ValidateResult {
	result := r.compiled().Validate(ctx, resource, attributes, params, namespace, budget, authorizer)
	r.results = append(r.results, result)
	return result
}

// CompileError returns the compile error of the policy.
func (r *recorder) CompileError() error { return r.compiled().CompileError() }
