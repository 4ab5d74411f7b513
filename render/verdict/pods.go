package verdict

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/pod-security-admission/api"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// PodTemplate returns the template from which a built-in object makes Pods, with defaults; of a
// Pod that is itself.
func PodTemplate(o manifest.Object) (*corev1.PodTemplateSpec, bool) {
	template, ok := podTemplateOf(o)
	if !ok {
		return nil, false
	}
	pod := &corev1.Pod{Spec: *template.spec} // which has defaults that templates have not
	legacyscheme.Scheme.Default(pod)
	return &corev1.PodTemplateSpec{ObjectMeta: *template.metadata, Spec: pod.Spec}, true
}

// PrivilegedFields returns what lets the Pods of an object do what the level baseline of Pod
// Security does not allow, like to use the files of their node: the field where it is one
// alone, or the name of the check.
func PrivilegedFields(o manifest.Object) (fields []string) {
	template, ok := podTemplateOf(o)
	if !ok {
		return nil
	}
	for _, failed := range template.failedChecks(api.LevelVersion{Level: api.LevelBaseline, Version: api.LatestVersion()}, apiserver.Newest) {
		if field := template.fieldIn(failed.ForbiddenDetail); len(field) > len(template.path) {
			fields = append(fields, manifest.JoinField(field))
		} else {
			fields = append(fields, failed.ForbiddenReason)
		}
	}
	return fields
}
