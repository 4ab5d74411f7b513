package render

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The values of a Secret are for the cluster, not for git: only encrypted ones
// are rendered.

func isSecret(u *unstructured.Unstructured) bool {
	return u.GetKind() == "Secret" && u.GetAPIVersion() == corev1.SchemeGroupVersion.String()
}

// hasPlainValues says whether an object is a Secret with values that anybody can
// read.
func hasPlainValues(u *unstructured.Unstructured) bool {
	return isSecret(u) && len(secretFields(u)) > 0 && !isEncrypted(u)
}

// secretFields are the fields of a Secret that hold values.
func secretFields(secret *unstructured.Unstructured) []string {
	return slices.DeleteFunc([]string{"data", "stringData"}, func(field string) bool {
		values, isMap := secret.Object[field].(map[string]any)
		return secret.Object[field] == nil || isMap && len(values) == 0
	})
}

// isEncrypted says whether an object is a Secret whose values SOPS encrypted, every
// one of them. Metadata of SOPS alone proves nothing.
func isEncrypted(u *unstructured.Unstructured) bool {
	if _, ok := u.Object["sops"].(map[string]any); !ok || !isSecret(u) {
		return false
	}
	for _, field := range secretFields(u) {
		values, _ := u.Object[field].(map[string]any)
		if len(values) == 0 {
			return false
		}
		for _, value := range values {
			if s, ok := value.(string); !ok || !strings.HasPrefix(s, "ENC[") || !strings.HasSuffix(s, "]") {
				return false
			}
		}
	}
	return true
}
