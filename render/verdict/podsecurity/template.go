package podsecurity

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
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/pod-security-admission/admission"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// template is a Pod, or the Pod template of an object.
type template struct {
	path     []string // of the Pod spec in the object
	written  any      // the Pod spec without defaults
	metadata *metav1.ObjectMeta
	spec     *corev1.PodSpec
}

// templateOf returns the template of an object of a built-in kind, if it has one that decodes.
func templateOf(o manifest.Object) (template, bool) {
	path, ok := manifest.PodTemplatePath(o.GetKind())
	if !ok {
		return template{}, false
	}
	kind, ok := apiserver.Newest.Lookup(o.GroupVersionKind())
	if !ok || len(decoding.Find(o.Object, kind.Type, decoding.Options{})) > 0 {
		return template{}, false
	}
	typed := reflect.New(kind.Type).Interface().(runtime.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return template{}, false
	}
	legacyscheme.Scheme.Default(typed)
	metadata, spec, err := admission.DefaultPodSpecExtractor{}.ExtractPodSpec(typed)
	path = append(path, "spec")
	return template{path, decoding.At(o.Object, path), metadata, spec}, err == nil && spec != nil
}

// Template returns the Pod template of a built-in object, with the defaults of its Pods. The
// template of a Pod is the Pod itself.
func Template(o manifest.Object) (*corev1.PodTemplateSpec, bool) {
	t, ok := templateOf(o)
	if !ok {
		return nil, false
	}
	pod := &corev1.Pod{Spec: *t.spec} // some defaults are for Pods only
	legacyscheme.Scheme.Default(pod)
	return &corev1.PodTemplateSpec{ObjectMeta: *t.metadata, Spec: pod.Spec}, true
}

// PrivilegedFields returns the fields of an object that violate the level baseline, such as a volume
// from its node. A check that fails for several fields has its name here.
func PrivilegedFields(o manifest.Object) (fields []string) {
	t, ok := templateOf(o)
	if !ok {
		return nil
	}
	for _, failed := range t.failedChecks(api.LevelVersion{Level: api.LevelBaseline, Version: api.LatestVersion()}, apiserver.Newest) {
		if field := t.fieldOf(failed.ForbiddenDetail); len(field) > len(t.path) {
			fields = append(fields, manifest.JoinField(field))
		} else {
			fields = append(fields, failed.ForbiddenReason)
		}
	}
	return fields
}

// checks are the default checks of kube-apiserver.
var checks = sync.OnceValue(func() policy.Evaluator {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		panic(err) // the checks are constant
	}
	return evaluator
})

// failedChecks returns the checks of a level that Pods fail. The latest version of a level is the
// version of Kubernetes.
func (t template) failedChecks(level api.LevelVersion, kubernetes apiserver.Version) []policy.CheckResult {
	if latest := api.MajorMinorVersion(1, int(kubernetes)); latest.Older(level.Version) {
		level.Version = latest
	}
	results := checks().EvaluatePod(level, t.metadata, t.spec)
	return slices.DeleteFunc(results, func(r policy.CheckResult) bool { return r.Allowed })
}

var (
	namedItem    = regexp.MustCompile(`^(container|volume) "([^"]+)"`)
	namedContext = regexp.MustCompile(`\bsecurityContext(\.[A-Za-z]+)+`)
	namedHost    = regexp.MustCompile(`^(host[A-Z]+[A-Za-z]*)=true$`)
)

// fieldOf returns the path of the field in the detail of a check. It is the path of the Pod spec if
// the detail names no field, or several.
func (t template) fieldOf(detail string) []string {
	path := slices.Clone(t.path)
	if match := namedHost.FindStringSubmatch(detail); match != nil {
		return append(path, match[1])
	}
	if match := namedItem.FindStringSubmatch(detail); match != nil {
		item := itemPath(t.written, match[1], match[2])
		if item == nil {
			return path
		}
		path = append(path, item...)
	} else if !strings.HasPrefix(detail, "pod ") {
		return path
	}
	return append(path, manifest.SplitField(namedContext.FindString(detail))...)
}

// itemPath returns the path of a named container or volume in a Pod spec; nil if it is missing.
func itemPath(spec any, kind, name string) []string {
	lists := []string{"initContainers", "containers", "ephemeralContainers"}
	if kind == "volume" {
		lists = []string{"volumes"}
	}
	for _, list := range lists {
		items, _ := decoding.At(spec, []string{list}).([]any)
		for i, item := range items {
			if decoding.At(item, []string{"name"}) == name {
				return []string{list, fmt.Sprintf("[%d]", i)}
			}
		}
	}
	return nil
}
