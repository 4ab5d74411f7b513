package manifest

import (
	"bytes"
	"encoding/base64"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// IsEncrypted reports whether SOPS encrypted an object, or a file that a Secret was generated
// from.
func IsEncrypted(u *unstructured.Unstructured) bool {
	if u.Object["sops"] != nil {
		return true
	}
	if u.GetKind() != "Secret" || u.GetAPIVersion() != "v1" {
		return false
	}
	data, _ := u.Object["data"].(map[string]any)
	for _, value := range data {
		encoded, _ := value.(string)
		content, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil && bytes.Contains(content, []byte("ENC[AES256_GCM,")) {
			return true
		}
	}
	return false
}

// applied matches the name of an annotation in which a tool keeps the object that it applied.
var applied = regexp.MustCompile(`last-applied|/(?:applied|original)$`)

// MayHoldSecret reports whether an annotation of a Secret may hold the values of a Secret.
func MayHoldSecret(key, value string) bool {
	if value == "" {
		return false
	}
	var content struct {
		Kind             any
		Data, StringData map[string]any
	}
	err := yaml.Unmarshal([]byte(value), &content)
	isObject := err == nil && (content.Kind == "Secret" || len(content.Data) > 0 || len(content.StringData) > 0)
	return isObject || applied.MatchString(key)
}
