package podsecurity

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// template is a Pod, or the Pod template of an object.
type template struct {
	path    []string // of the Pod spec in the object
	written any      // the Pod spec without defaults
	misfits []string // fields of the wrong type, which are unset in the template
	corev1.PodTemplateSpec
}

// templateOf returns the template of an object of a built-in kind, if it has one.
func templateOf(o manifest.Object) (template, bool) {
	path, ok := manifest.PodTemplatePath(o.GetKind())
	if !ok || !isBuiltIn(o) {
		return template{}, false
	}
	return decode(o, path), true
}

// decode returns the template at a path of an object. It decodes the template alone: a variable of Flux
// in a field such as spec.replicas does not hide the Pods.
func decode(o manifest.Object, path []string) template {
	content := decoding.At(o.Object, path)
	t := template{path: slices.Concat(path, []string{"spec"}), written: decoding.At(content, []string{"spec"})}
	if content == nil {
		t.misfits = []string{manifest.JoinField(path)}
	}
	for _, misfit := range decoding.Find(content, reflect.TypeFor[corev1.PodTemplateSpec](), decoding.Options{}) {
		switch {
		case misfit.Unknown:
			continue
		case len(misfit.Path) == 0:
			content = nil
		case len(t.misfits) == 0:
			content = runtime.DeepCopyJSONValue(content)
			fallthrough
		default:
			decoding.Replace(content, misfit.Path, nil)
		}
		t.misfits = append(t.misfits, manifest.JoinField(slices.Concat(path, misfit.Path)))
	}
	fields, _ := content.(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &t.PodTemplateSpec); err != nil {
		t.misfits = append(t.misfits, manifest.JoinField(t.path))
		t.PodTemplateSpec = corev1.PodTemplateSpec{}
	}
	if len(path) == 0 {
		t.Spec = defaulted(t.Spec)
		return t
	}
	typed := &corev1.PodTemplate{Template: t.PodTemplateSpec}
	legacyscheme.Scheme.Default(typed)
	t.PodTemplateSpec = typed.Template
	return t
}

// defaulted returns the spec with the defaults of a Pod; a template has some of them only.
func defaulted(spec corev1.PodSpec) corev1.PodSpec {
	pod := &corev1.Pod{Spec: spec}
	legacyscheme.Scheme.Default(pod)
	return pod.Spec
}

// Template is a Pod template in an object, with the defaults of its Pods. The template of a Pod is the
// Pod itself.
type Template struct {
	corev1.PodTemplateSpec
	Field   string         // the field of the Pod spec: spec.template.spec
	Misfits []string       // fields that are unreadable, and unset in the template
	Written map[string]any // the Pod spec without defaults
}

// Paths returns the paths of the Pod templates of an object. In an object of a custom kind, each field template or
// jobTemplate with containers is one.
func Paths(o manifest.Object) [][]string {
	path, ok := manifest.PodTemplatePath(o.GetKind())
	switch {
	case !isBuiltIn(o):
		return search(o.Object)
	case ok:
		return [][]string{path}
	}
	return nil
}

// Templates returns the Pod templates of an object.
func Templates(o manifest.Object) (templates []Template) {
	for _, path := range Paths(o) {
		t := decode(o, path)
		found := Template{corev1.PodTemplateSpec{ObjectMeta: t.ObjectMeta, Spec: defaulted(t.Spec)},
			manifest.JoinField(t.path), t.misfits, nil}
		found.Written, _ = t.written.(map[string]any)
		// Comparing containers takes time in the square of their number. Real Pods have fewer.
		const most = 100
		if all := len(found.Spec.InitContainers) + len(found.Spec.Containers) +
			len(found.Spec.EphemeralContainers); all > most {
			found.Misfits = append(found.Misfits, found.Field+".containers")
			found.Spec.InitContainers = found.Spec.InitContainers[:min(most, len(found.Spec.InitContainers))]
			found.Spec.Containers = found.Spec.Containers[:min(most, len(found.Spec.Containers))]
			found.Spec.EphemeralContainers = nil
		}
		templates = append(templates, found)
	}
	return templates
}

func isBuiltIn(o manifest.Object) bool {
	_, ok := apiserver.Newest.Lookup(o.GroupVersionKind())
	return ok
}

// search returns the paths of fields that look like Pod templates.
func search(content any) (found [][]string) {
	const deepest = 20
	decoding.Walk(content, func(path []string, value any) bool {
		_, hasContainers := decoding.At(value, []string{"spec", "containers"}).([]any)
		isFound := len(path) <= deepest && hasContainers && isTemplate(path)
		if isFound {
			found = append(found, path)
		}
		return len(path) <= deepest && !isFound
	})
	return found
}

// isTemplate reports whether a field is a template by its name, or an item of templates.
func isTemplate(path []string) bool {
	for _, key := range slices.Backward(path) {
		if !strings.HasPrefix(key, "[") {
			return strings.HasSuffix(strings.TrimSuffix(strings.ToLower(key), "s"), "template")
		}
	}
	return false
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
	results := checks().EvaluatePod(level, &t.ObjectMeta, &t.Spec)
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
