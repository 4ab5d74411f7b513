// Package podsecurity judges Pods by the Pod Security labels of the Namespaces in an environment,
// with the checks of the API server's admission plugin. The defaults and exemptions of a cluster are
// unknown. https://kubernetes.io/docs/concepts/security/pod-security-admission/
package podsecurity

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/pod-security-admission/api"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/problem"
)

// rule is a Pod Security label of a Namespace.
type rule struct {
	api.LevelVersion
	namespace manifest.Object
	label     string
	effect    string // of the label on a Pod that violates it
}

// Check returns the problems of the Pods and Pod templates that violate the labels of the Namespaces
// among objects. Position returns where the field of a problem is written.
func Check(objects []manifest.Object, kubernetes apiserver.Version,
	position func(manifest.Problem) string) (problems []manifest.Problem) {
	rules := map[string][]rule{} // by Namespace
	for _, o := range objects {
		if o.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Namespace") {
			ofNamespace, errs := rulesOf(o)
			rules[o.GetName()] = ofNamespace
			problems = append(problems, problem.FromErrors(o, errs)...)
		}
	}
	found := make([][]manifest.Problem, len(objects))
	parallel.For(len(objects), func(i int) {
		defer fault.Keep(&found[i], fault.In(objects[i]))
		found[i] = violations(objects[i], rules[objects[i].NamespaceOrDefault()], kubernetes, position)
	})
	return append(problems, slices.Concat(found...)...)
}

// rulesOf returns the rules of a Namespace, most severe first, or the errors of its labels.
func rulesOf(namespace manifest.Object) (rules []rule, errs field.ErrorList) {
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	labels := namespace.GetLabels()
	policy, errs := api.PolicyToEvaluate(labels, api.Policy{Enforce: privileged, Audit: privileged, Warn: privileged})
	if len(errs) > 0 {
		return nil, errs
	}
	for _, r := range []rule{
		{policy.Enforce, namespace, api.EnforceLevelLabel, "enforces"},
		{policy.Warn, namespace, api.WarnLevelLabel, "warns about violations of"},
		{policy.Audit, namespace, api.AuditLevelLabel, "audits violations of"},
	} {
		if _, ok := labels[r.label]; ok && r.Level != api.LevelPrivileged {
			rules = append(rules, r)
		}
	}
	return rules, nil
}

// violations returns the problems of an object, one for each failed check, by the most severe rule.
func violations(o manifest.Object, rules []rule, kubernetes apiserver.Version,
	position func(manifest.Problem) string) (problems []manifest.Problem) {
	if len(rules) == 0 {
		return nil
	}
	t, ok := templateOf(o)
	if !ok || len(t.misfits) > 0 { // a check of the rest may be wrong
		return nil
	}
	reported := map[string]bool{} // by reason
	for _, r := range rules {
		for _, failed := range t.failedChecks(r.LevelVersion, kubernetes) {
			if reported[failed.ForbiddenReason] {
				continue
			}
			reported[failed.ForbiddenReason] = true
			label := manifest.NewProblem(r.namespace, field.NewPath("metadata", "labels").Key(r.label).String(),
				manifest.Value{}, "")
			p := problem.FromError(o, &field.Error{
				Type: field.ErrorTypeForbidden, Field: manifest.JoinField(t.fieldOf(failed.ForbiddenDetail)),
				Detail: fmt.Sprintf("%s (%s): %s (%s) %s Pod Security %q", failed.ForbiddenReason,
					failed.ForbiddenDetail,
					r.namespace, position(label), r.effect, r.LevelVersion),
			})
			p.Cause = "Pod Security of " + o.String()
			p.Warning = r.label != api.EnforceLevelLabel
			problems = append(problems, p)
		}
	}
	return problems
}
