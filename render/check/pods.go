package check

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/pod-security-admission/api"

	"example.com/gatehouse/render/object"
)

// PodTemplate is what a built-in object makes Pods of, or a Pod is, defaults filled in.
func PodTemplate(o object.Object) (*corev1.PodTemplateSpec, bool) {
	template, ok := podTemplateOf(o)
	if !ok {
		return nil, false
	}
	pod := &corev1.Pod{Spec: *template.spec} // which has defaults that templates have not
	legacyscheme.Scheme.Default(pod)
	return &corev1.PodTemplateSpec{ObjectMeta: *template.metadata, Spec: pod.Spec}, true
}

// PrivilegedFields are the fields of an object that let its Pods do what the level baseline
// of Pod Security does not allow, like to use the files of their node.
func PrivilegedFields(o object.Object) (fields []string) {
	template, ok := podTemplateOf(o)
	if !ok {
		return nil
	}
	for _, err := range template.violations(api.LevelVersion{Level: api.LevelBaseline, Version: api.LatestVersion()}) {
		fields = append(fields, err.Field)
	}
	return fields
}
