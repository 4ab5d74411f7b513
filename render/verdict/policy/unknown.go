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

// The user who creates an object, the rights of that user and the rest of the cluster are unknown.
// Validations that read them are not evaluated. If only the match of a policy may depend on them, an
// objection is a warning.

// namespaces are the Namespaces of the environment, by name.
type namespaces map[string]*corev1.Namespace

// List is never called: a policy sees one namespace.
func (n namespaces) List(labels.Selector) ([]*corev1.Namespace, error) { return nil, nil }

// Get returns a Namespace. Of an unknown one only the name is known.
func (n namespaces) Get(name string) (*corev1.Namespace, error) {
	if namespace, ok := n[name]; ok {
		return namespace, nil
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{corev1.LabelMetadataName: name}}}, nil
}

// unknownAuthorizer knows no rights.
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
	// ofKubernetes matches users and groups of Kubernetes itself. They apply no environment.
	ofKubernetes = regexp.MustCompile(`^.system:(apiserver|kube-|nodes?\b|serviceaccounts?:kube-system\b)`)
)

// isUnknowable reports whether a validation reads data that is not in files.
func (e *evaluation) isUnknowable(r *request, p *policy, validation int, decision validating.PolicyDecision) bool {
	var expressions []string
	if decision.Evaluation == validating.EvalDeny {
		expressions = []string{p.Spec.Validations[validation].Expression}
	} else { // any of them may have failed
		for _, v := range p.Spec.Validations {
			expressions = append(expressions, v.Expression, v.MessageExpression)
		}
		if p.exemptsUsers() {
			return true
		}
	}
	return e.readsUnknown(r, p, expressions)
}

// readsUnknown reports whether expressions read data that is not in files.
func (e *evaluation) readsUnknown(r *request, p *policy, expressions []string) bool {
	return p.mentions(expressions, readsUser) ||
		e.isNamespaceUnknown(r) && p.mentions(expressions, readsNamespace) ||
		r.GetKind().Kind == "Secret" && p.mentions(expressions, readsData) || // encrypted
		p.Spec.ParamKind != nil && p.Spec.ParamKind.Kind == "Secret" && p.mentions(expressions, readsParams)
}

// mentions reports whether one of a policy's expressions matches a pattern, itself or by a variable.
func (p *policy) mentions(expressions []string, pattern *regexp.Regexp) bool {
	for _, variable := range p.Spec.Variables {
		if pattern.MatchString(variable.Expression) {
			pattern = regexp.MustCompile(pattern.String() + `|\bvariables\s*\.\s*` + variable.Name + `\b`)
		}
	}
	return slices.ContainsFunc(expressions, pattern.MatchString)
}

// exemptsUsers reports whether the match conditions of the policy read the user. Exemptions for users
// of Kubernetes itself do not count.
func (p *policy) exemptsUsers() bool {
	return slices.ContainsFunc(p.Spec.MatchConditions, func(condition admissionv1.MatchCondition) bool {
		if !p.mentions([]string{condition.Expression}, readsUser) {
			return false
		}
		names := quoted.FindAllString(condition.Expression, -1)
		return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
			return !ofKubernetes.MatchString(name)
		})
	})
}

func (e *evaluation) isNamespaceUnknown(r *request) bool {
	if r.GetNamespace() == "" || r.kind.Resource.GroupResource() == corev1.Resource("namespaces") {
		return false
	}
	_, ok := e.namespaces[r.GetNamespace()]
	return !ok
}

// doubt explains why the API server may not object; empty if it does.
func (e *evaluation) doubt(r *request, p *policy, binding *admissionv1.ValidatingAdmissionPolicyBinding) string {
	switch {
	case !r.kind.IsDefined:
		return fmt.Sprintf("the environment has no CustomResourceDefinition of %s, so its defaults are unknown",
			r.GetKind().Kind)
	case p.Spec.ParamKind != nil && !p.params.isDefined:
		return fmt.Sprintf("the environment has no CustomResourceDefinition of %s, the kind of its parameters",
			p.Spec.ParamKind.Kind)
	case p.exemptsUsers():
		return "unless its match conditions exempt the user who creates the object"
	case e.isNamespaceUnknown(r) &&
		(selectsLabels(p.Spec.MatchConstraints) || selectsLabels(binding.Spec.MatchResources)):
		return fmt.Sprintf("the environment has no Namespace %s, so its labels are unknown", r.GetNamespace())
	}
	return ""
}

// selectsLabels reports whether a match selects namespaces by labels other than their name.
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
