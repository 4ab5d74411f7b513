package verdict

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/pod-security-admission/admission"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/apiserver"
)

// Pod Security is judged by the code of the API server's own admission plugin and the labels of
// the Namespaces in the environment. What a cluster exempts, and its defaults, are not known. https://kubernetes.io/docs/concepts/security/pod-security-admission/

// podSecurityRule is what a label of a Namespace asks of Pods.
type podSecurityRule struct {
	api.LevelVersion
	namespace manifest.Object
	label     string
	effect    string // what the Namespace does about a Pod that violates it
}

func (r podSecurityRule) isEnforced() bool { return r.label == api.EnforceLevelLabel }

// podSecurity finds the Pods, and templates of Pods, that the Namespaces among objects refuse
// or warn of. Position returns where a field is written.
func (c *Checker) podSecurity(objects []manifest.Object, position func(manifest.Problem) string) (problems []manifest.Problem) {
	rules := map[string][]podSecurityRule{} // by Namespace
	for _, o := range objects {
		if o.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Namespace") {
			asked, errs := podSecurityRules(o)
			rules[o.GetName()] = asked
			problems = append(problems, problemsOf(o, errs)...)
		}
	}
	found := make([][]manifest.Problem, len(objects))
	parallel.For(len(objects), func(i int) {
		found[i] = c.podViolations(objects[i], rules[objects[i].NamespaceOrDefault()], position)
	})
	return append(problems, slices.Concat(found...)...)
}

// podSecurityRules returns the rules of a Namespace, the most severe first, or the errors of its
// labels.
func podSecurityRules(namespace manifest.Object) (rules []podSecurityRule, errs field.ErrorList) {
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	labels := namespace.GetLabels()
	asked, errs := api.PolicyToEvaluate(labels, api.Policy{Enforce: privileged, Audit: privileged, Warn: privileged})
	if len(errs) > 0 {
		return nil, errs
	}
	for _, rule := range []podSecurityRule{
		{asked.Enforce, namespace, api.EnforceLevelLabel, "enforces"},
		{asked.Warn, namespace, api.WarnLevelLabel, "has the API server warn of what violates"},
		{asked.Audit, namespace, api.AuditLevelLabel, "has the audit log tell what violates"},
	} {
		if _, ok := labels[rule.label]; ok && rule.Level != api.LevelPrivileged {
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

func labelPath(label string) *field.Path { return field.NewPath("metadata", "labels").Key(label) }

// podViolations returns the problems of an object, each check by the most severe rule.
func (c *Checker) podViolations(o manifest.Object, rules []podSecurityRule, position func(manifest.Problem) string) (problems []manifest.Problem) {
	if len(rules) == 0 {
		return nil
	}
	template, ok := podTemplateOf(o)
	if !ok {
		return nil
	}
	known := map[string]bool{} // reasons
	for _, rule := range rules {
		for _, failed := range template.failedChecks(rule.LevelVersion, c.kubernetes) {
			if known[failed.ForbiddenReason] {
				continue
			}
			known[failed.ForbiddenReason] = true
			label := manifest.NewProblem(rule.namespace, labelPath(rule.label).String(), manifest.Value{}, "")
			p := problemOf(o, &field.Error{
				Type: field.ErrorTypeForbidden, Field: manifest.JoinField(template.fieldIn(failed.ForbiddenDetail)),
				Detail: fmt.Sprintf("%s (%s): %s (%s) %s Pod Security %q", failed.ForbiddenReason, failed.ForbiddenDetail,
					rule.namespace, position(label), rule.effect, rule.LevelVersion),
			})
			p.Warning = !rule.isEnforced()
			problems = append(problems, p)
		}
	}
	return problems
}

// podTemplate is what Pods are made of, or a Pod.
type podTemplate struct {
	path     []string // of the spec of the Pod
	written  any      // that spec
	metadata *metav1.ObjectMeta
	spec     *corev1.PodSpec // defaults filled in
}

// podTemplateOf returns that of an object, if it has one that can be read.
func podTemplateOf(o manifest.Object) (podTemplate, bool) {
	path, ok := manifest.PodTemplatePath(o.GetKind())
	if !ok {
		return podTemplate{}, false
	}
	kind, ok := apiserver.Newest.Lookup(o.GroupVersionKind())
	if !ok || len(decoding.Find(o.Object, kind.Type, decoding.Options{})) > 0 {
		return podTemplate{}, false
	}
	typed := reflect.New(kind.Type).Interface().(runtime.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return podTemplate{}, false
	}
	legacyscheme.Scheme.Default(typed)
	metadata, spec, err := admission.DefaultPodSpecExtractor{}.ExtractPodSpec(typed)
	path = append(path, "spec")
	return podTemplate{path, decoding.At(o.Object, path), metadata, spec}, err == nil && spec != nil
}

// podSecurityChecks are those of kube-apiserver.
var podSecurityChecks = sync.OnceValue(func() policy.Evaluator {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		panic(err) // they are constant
	}
	return evaluator
})

// failedChecks returns the checks of a level that the Pods do not pass. A version of Kubernetes
// knows its own version of a level as the latest one.
func (t podTemplate) failedChecks(level api.LevelVersion, kubernetes apiserver.Version) []policy.CheckResult {
	if latest := api.MajorMinorVersion(1, int(kubernetes)); latest.Older(level.Version) {
		level.Version = latest
	}
	results := podSecurityChecks().EvaluatePod(level, t.metadata, t.spec)
	return slices.DeleteFunc(results, func(r policy.CheckResult) bool { return r.Allowed })
}

var (
	namedItem    = regexp.MustCompile(`^(container|volume) "([^"]+)"`)
	namedContext = regexp.MustCompile(`\bsecurityContext(\.[A-Za-z]+)+`)
	namedHost    = regexp.MustCompile(`^(host[A-Z]+[A-Za-z]*)=true$`)
)

// fieldIn returns the path of the field that the detail of a check names, or of the spec of
// the Pod where it names none or several.
func (t podTemplate) fieldIn(detail string) []string {
	at := slices.Clone(t.path)
	if match := namedHost.FindStringSubmatch(detail); match != nil {
		return append(at, match[1])
	}
	if match := namedItem.FindStringSubmatch(detail); match != nil {
		item := itemNamed(t.written, match[1], match[2])
		if item == nil {
			return at
		}
		at = append(at, item...)
	} else if !strings.HasPrefix(detail, "pod ") {
		return at
	}
	return append(at, manifest.SplitField(namedContext.FindString(detail))...)
}

// itemNamed returns the path of a container or volume in the spec of a Pod; nil where there is
// none of the name.
func itemNamed(spec any, kind, name string) []string {
	lists := []string{"initContainers", "containers", "ephemeralContainers"}
	if kind == "volume" {
		lists = []string{"volumes"}
	}
	for _, list := range lists {
		if item := itemWith(decoding.At(spec, []string{list}), fmt.Sprintf("[name=%q]", name), 1); item != "" {
			return []string{list, item}
		}
	}
	return nil
}
