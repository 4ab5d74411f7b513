package manifest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// IsSecret reports whether an object without a CustomResourceDefinition is a Secret. An object of kind
// Secret with values of any group is one.
func IsSecret(u *unstructured.Unstructured) bool {
	group := u.GroupVersionKind().Group
	return u.GetKind() == "Secret" && (group == "" || group == "core" || HasSecretValues(u))
}

// HasSecretValues reports whether a Secret has values that are not empty.
func HasSecretValues(u *unstructured.Unstructured) bool {
	for _, name := range SecretFields {
		values, _ := u.Object[name].(map[string]any)
		for _, value := range values {
			if value != nil && value != "" {
				return true
			}
		}
	}
	return false
}

// SecretFields are the fields of a Secret that have its values.
var SecretFields = []string{"data", "stringData"}

// publicFields are the other fields of a Secret. A field that is none of these may be one of values, misspelled.
var publicFields = sets.New("apiVersion", "kind", "metadata", "type", "immutable", "sops")

// MaskSecrets returns copies of a Secret before and after a change, with stars in place of its values, and other
// objects unchanged. An object whose kind is misspelled may be a Secret.
func MaskSecrets(before, after *unstructured.Unstructured) (was, is *unstructured.Unstructured) {
	was = before
	is = after
	if maySecret(before) {
		was = before.DeepCopy()
	}
	if maySecret(after) {
		is = after.DeepCopy()
	}
	maskFields(was, is, func(key string, value any) bool {
		_, isMap := value.(map[string]any)
		hasValues := isMap && slices.Contains(SecretFields, key)
		return !publicFields.Has(key) && value != nil && !hasValues
	})
	for _, name := range SecretFields {
		maskFields(was, is, func(string, any) bool { return true }, name)
	}
	maskFields(was, is, func(key string, value any) bool {
		_, isMap := value.(map[string]any)
		return key == "annotations" && value != nil && !isMap
	}, "metadata")
	maskFields(was, is, func(key string, value any) bool {
		return MayHoldSecret(key, fmt.Sprint(value))
	}, "metadata", "annotations")
	return was, is
}

func maySecret(u *unstructured.Unstructured) bool {
	return u != nil && (IsSecret(u) || strings.EqualFold(u.GetKind(), "Secret") || u.Object["stringData"] != nil)
}

// maskFields replaces the masked values of a field of Secrets with stars that show whether a value changes.
func maskFields(was, is *unstructured.Unstructured, isMasked func(key string, value any) bool, path ...string) {
	old := fieldOfSecret(was, path)
	current := fieldOfSecret(is, path)
	for key, value := range old {
		other, stays := current[key]
		switch {
		case !isMasked(key, value) && (!stays || !isMasked(key, other)):
		case !stays:
			old[key] = "***"
		case reflect.DeepEqual(value, other):
			old[key] = "***"
			current[key] = "***"
		default:
			old[key] = "*** (before)"
			current[key] = "*** (after)"
		}
	}
	for key, value := range current {
		if _, was := old[key]; !was && isMasked(key, value) {
			current[key] = "***"
		}
	}
}

func fieldOfSecret(u *unstructured.Unstructured, path []string) map[string]any {
	if !maySecret(u) {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	values, _ := value.(map[string]any)
	return values
}

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
