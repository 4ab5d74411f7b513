package policy

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Files do not say which user will create an object, what that user may do, nor what is in a
// cluster already. A validation that depends on that alone is not judged; where it may depend on
// it, an objection is a warning.

// namespaces are those of the environment. Any other is one whose labels are unknown, but
// for that which the API server gives it.
type namespaces map[string]*corev1.Namespace

// List is never called: policies are evaluated with one namespace.
func (n namespaces) List(labels.Selector) ([]*corev1.Namespace, error) { return nil, nil }

// Get returns a Namespace.
func (n namespaces) Get(name string) (*corev1.Namespace, error) {
	if namespace, ok := n[name]; ok {
		return namespace, nil
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}, nil
}

// unknownAuthorizer knows nothing of what anybody may do.
type unknownAuthorizer struct{}

// Authorize has no opinion.
func (unknownAuthorizer) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

var (
	readsUser      = regexp.MustCompile(`\b(userInfo|authorizer|managedFields)\b`)
	readsNamespace = regexp.MustCompile(`\bnamespaceObject\b`)
	readsParams    = regexp.MustCompile(`\bparams\b`)
	readsData      = regexp.MustCompile(`\b(data|stringData)\b`)
	quoted         = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	// ofKubernetes are users and groups of Kubernetes itself, which create none of the
	// objects of an environment.
	ofKubernetes = regexp.MustCompile(`^.system:(apiserver|kube-|nodes?\b|serviceaccounts?:kube-system\b)`)
)

// isUnknowable reports whether a validation depends on what files do not say.
func (e *evaluation) isUnknowable(r *request, p *policy, validation int, decision validating.PolicyDecision) bool {
	var expressions []string
	if decision.Evaluation == validating.EvalDeny {
		expressions = []string{p.Spec.Validations[validation].Expression}
	} else { // which of them failed is not told
		for _, v := range p.Spec.Validations {
			expressions = append(expressions, v.Expression, v.MessageExpression)
		}
		if p.sparesUsers() {
			return true
		}
	}
	return p.mentions(expressions, readsUser) ||
		e.isNamespaceUnknown(r) && p.mentions(expressions, readsNamespace) ||
		r.GetKind().Kind == "Secret" && p.mentions(expressions, readsData) || // which is encrypted
		p.Spec.ParamKind != nil && p.Spec.ParamKind.Kind == "Secret" && p.mentions(expressions, readsParams)
}

// mentions reports whether any of a policy's expressions mentions something, itself or by a variable.
func (p *policy) mentions(expressions []string, something *regexp.Regexp) bool {
	for _, variable := range p.Spec.Variables {
		if something.MatchString(variable.Expression) {
			something = regexp.MustCompile(something.String() + `|\bvariables\s*\.\s*` + variable.Name + `\b`)
		}
	}
	return slices.ContainsFunc(expressions, something.MatchString)
}

// sparesUsers reports whether the policy applies only to objects that some users create. Users
// of Kubernetes itself, which it may spare, do not count.
func (p *policy) sparesUsers() bool {
	return slices.ContainsFunc(p.Spec.MatchConditions, func(condition admissionv1.MatchCondition) bool {
		if !p.mentions([]string{condition.Expression}, readsUser) {
			return false
		}
		names := quoted.FindAllString(condition.Expression, -1)
		return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return !ofKubernetes.MatchString(name) })
	})
}

func (e *evaluation) isNamespaceUnknown(r *request) bool {
	if r.GetNamespace() == "" || r.kind.Resource.GroupResource() == corev1.Resource("namespaces") {
		return false
	}
	_, ok := e.namespaces[r.GetNamespace()]
	return !ok
}

// doubt returns why a verdict may differ from that of the API server; empty where it does not.
func (e *evaluation) doubt(r *request, p *policy, binding *admissionv1.ValidatingAdmissionPolicyBinding) string {
	switch {
	case !r.kind.IsDefined:
		return fmt.Sprintf("the environment does not bring the CustomResourceDefinition of %s, so its defaults are unknown", r.GetKind().Kind)
	case p.Spec.ParamKind != nil && !p.params.isDefined:
		return fmt.Sprintf("the environment does not bring the CustomResourceDefinition of %s, the kind of its parameters", p.Spec.ParamKind.Kind)
	case p.sparesUsers():
		return "unless its match conditions spare the user who creates the object"
	case e.isNamespaceUnknown(r) && (selectsLabels(p.Spec.MatchConstraints) || selectsLabels(binding.Spec.MatchResources)):
		return fmt.Sprintf("the environment does not bring Namespace %s, so its labels are unknown", r.GetNamespace())
	}
	return ""
}

// selectsLabels reports whether namespaces are selected by anything but their names.
func selectsLabels(match *admissionv1.MatchResources) bool {
	if match == nil || match.NamespaceSelector == nil {
		return false
	}
	for key := range match.NamespaceSelector.MatchLabels {
		if key != corev1.LabelMetadataName {
			return true
		}
	}
	return slices.ContainsFunc(match.NamespaceSelector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key != corev1.LabelMetadataName
	})
}
