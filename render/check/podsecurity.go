package check

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/pod-security-admission/admission"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
)

// Pod Security is judged by the code of the API server's own admission plugin, by the
// labels of the Namespaces that are known. What a cluster exempts and its defaults are
// not. https://kubernetes.io/docs/concepts/security/pod-security-admission/

// podSecurityRule is what a label of a Namespace asks of Pods.
type podSecurityRule struct {
	api.LevelVersion
	namespace object.Object
	label     string
	effect    string // what comes of a Pod that does not obey
}

func (r podSecurityRule) isEnforced() bool { return r.label == api.EnforceLevelLabel }

// PodSecurity finds the Pods, and templates of Pods, that the Namespaces among objects do
// not let in, or that the API server warns of. Position says where a field is written.
func PodSecurity(objects []object.Object, position func(object.Problem) string) (problems []object.Problem) {
	rules := map[string][]podSecurityRule{} // by Namespace
	for _, o := range objects {
		if o.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Namespace") {
			asked, errs := podSecurityRules(o)
			rules[o.GetName()] = asked
			problems = append(problems, problemsOf(o, errs)...)
		}
	}
	found := make([][]podViolation, len(objects))
	parallel.For(len(objects), func(i int) { found[i] = podViolations(objects[i], rules) })
	for i, violations := range found {
		for _, v := range violations {
			problems = append(problems, v.problem(objects[i], position))
		}
	}
	return problems
}

// podSecurityRules are those of a Namespace, the most severe first, and what is wrong with
// its labels. Of a label that is wrong nobody knows what it asks.
func podSecurityRules(namespace object.Object) (rules []podSecurityRule, errs field.ErrorList) {
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	labels := namespace.GetLabels()
	asked, errs := api.PolicyToEvaluate(labels, api.Policy{Enforce: privileged, Audit: privileged, Warn: privileged})
	isWrong := func(label string) bool {
		path := labelPath(label).String()
		return slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Field == path })
	}
	for _, mode := range []struct {
		level, version string
		asked          api.LevelVersion
		effect         string
	}{
		{api.EnforceLevelLabel, api.EnforceVersionLabel, asked.Enforce, "enforces"},
		{api.WarnLevelLabel, api.WarnVersionLabel, asked.Warn, "has the API server warn of what violates"},
		{api.AuditLevelLabel, api.AuditVersionLabel, asked.Audit, "has the audit log tell what violates"},
	} {
		if _, ok := labels[mode.level]; ok && mode.asked.Level != api.LevelPrivileged && !isWrong(mode.level) && !isWrong(mode.version) {
			rules = append(rules, podSecurityRule{mode.asked, namespace, mode.level, mode.effect})
		}
	}
	return rules, errs
}

func labelPath(label string) *field.Path { return field.NewPath("metadata", "labels").Key(label) }

// podViolation is a field of a Pod, or of a template of Pods, that does not obey a rule.
type podViolation struct {
	err  *field.Error
	rule podSecurityRule
}

func (v podViolation) problem(o object.Object, position func(object.Problem) string) object.Problem {
	label := object.NewProblem(v.rule.namespace, labelPath(v.rule.label).String(), object.Value{}, "")
	v.err.Detail += fmt.Sprintf(": %s (%s) %s Pod Security %q", v.rule.namespace, position(label), v.rule.effect, v.rule.LevelVersion)
	p := problemOf(o, v.err)
	p.Warning = !v.rule.isEnforced()
	return p
}

// podViolations are those of an object, each by the most severe rule.
func podViolations(o object.Object, rules map[string][]podSecurityRule) (violations []podViolation) {
	asked := rules[o.NamespaceOrDefault()]
	if len(asked) == 0 {
		return nil
	}
	template, ok := podTemplateOf(o)
	if !ok {
		return nil
	}
	known := map[string]bool{} // fields
	for _, rule := range asked {
		for _, err := range template.violations(rule.LevelVersion) {
			if !known[err.Field] {
				known[err.Field] = true
				violations = append(violations, podViolation{err, rule})
			}
		}
	}
	return violations
}

// podTemplate is what Pods are made of, or a Pod.
type podTemplate struct {
	path     []string
	written  map[string]any // its metadata and spec
	metadata *metav1.ObjectMeta
	spec     *corev1.PodSpec // defaults filled in
}

// podTemplateOf returns that of an object, if it has one that can be read. The scheme has
// the kinds of package apiserver.
func podTemplateOf(o object.Object) (podTemplate, bool) {
	path, ok := object.PodTemplatePath(o.GetKind())
	if !ok {
		return podTemplate{}, false
	}
	typed, err := legacyscheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return podTemplate{}, false
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.WithoutEndless(o.Object), typed); err != nil {
		return podTemplate{}, false
	}
	legacyscheme.Scheme.Default(typed)
	metadata, spec, err := admission.DefaultPodSpecExtractor{}.ExtractPodSpec(typed)
	if err != nil || spec == nil {
		return podTemplate{}, false
	}
	written := o.Object
	for _, key := range path {
		written, _ = written[key].(map[string]any)
	}
	return podTemplate{path, written, metadata, spec}, true
}

// podSecurityChecks are those of kube-apiserver. The reason of each is its name.
var podSecurityChecks = sync.OnceValue(func() policy.Evaluator {
	checks := policy.DefaultChecks()
	for _, check := range checks {
		for i, version := range check.Versions {
			check.Versions[i].CheckPod = func(metadata *metav1.ObjectMeta, spec *corev1.PodSpec) policy.CheckResult {
				result := version.CheckPod(metadata, spec)
				result.ForbiddenReason = string(check.ID)
				return result
			}
		}
	}
	evaluator, err := policy.NewEvaluator(checks, nil)
	if err != nil {
		panic(err) // they are constant
	}
	return evaluator
})

// failedChecks are the checks that a Pod does not pass.
func failedChecks(level api.LevelVersion, metadata *metav1.ObjectMeta, spec *corev1.PodSpec) []policy.CheckResult {
	results := podSecurityChecks().EvaluatePod(level, metadata, spec)
	return slices.DeleteFunc(results, func(r policy.CheckResult) bool { return r.Allowed })
}

// violations are the values that a level does not allow. A check that does not pass
// because of a default, like a hostPort of a Pod in the network of its host, is
// told only where nothing else is.
func (t podTemplate) violations(level api.LevelVersion) (errs field.ErrorList) {
	failed := failedChecks(level, t.metadata, t.spec)
	for _, result := range failed {
		errs = append(errs, t.restrictedValues(level, policy.CheckID(result.ForbiddenReason))...)
	}
	if len(errs) == 0 && len(failed) > 0 {
		errs = append(errs, &field.Error{Type: field.ErrorTypeForbidden, Field: t.fieldOf([]string{"spec"}, nil), Detail: failed[0].ForbiddenDetail})
	}
	return errs
}
