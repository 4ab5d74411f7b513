package manifest

import (
	"bytes"
	"encoding/base64"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// IsEncrypted reports whether SOPS encrypted an object, or a file in a generated Secret.
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

// applied matches annotations that hold a tool's last applied version of the object.
var applied = regexp.MustCompile(`last-applied|/(?:applied|original)$`)

// MayHoldSecret reports whether an annotation of a Secret may hold values of a Secret.
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

// ToYAML returns plain data as YAML.
func ToYAML(content any) []byte {
	encoded, err := yaml.Marshal(content)
	if err != nil {
		panic(err)
	}
	return encoded
}
