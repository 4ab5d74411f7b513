package manifest

import (
	"strings"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// PodTemplatePath returns the path of the Pod template in objects of a built-in kind. For a Pod,
// the path is empty.
func PodTemplatePath(kind string) (path []string, ok bool) {
	switch kind {
	case "Pod":
		return nil, true
	case "PodTemplate":
		return []string{"template"}, true
	case "CronJob":
		return []string{"spec", "jobTemplate", "spec", "template"}, true
	case "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet":
		return []string{"spec", "template"}, true
	}
	return nil, false
}

// MakesPods reports whether an object is a Pod, or of a built-in kind with a Pod template.
func MakesPods(o *unstructured.Unstructured) bool {
	_, ok := PodTemplatePath(o.GetKind())
	return ok && !strings.Contains(o.GroupVersionKind().Group, ".") // groups of custom resources have a dot
}

// CheckImage returns an error for an image that the kubelet cannot parse: Pods stay in InvalidImageName. Other tools
// replace an image with a variable, or with a path of ko.
func CheckImage(image string) error {
	if image == "" || strings.Contains(image, "${") || strings.HasPrefix(image, "ko://") {
		return nil
	}
	_, err := reference.ParseNormalizedNamed(image)
	return err
}
