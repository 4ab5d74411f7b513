package object

import (
	"regexp"

	"sigs.k8s.io/yaml"
)

// applied is the name of an annotation in which a tool keeps the object that it applied.
var applied = regexp.MustCompile(`last-applied|/(?:applied|original)$`)

// MayHoldSecret says whether an annotation of a Secret holds an object like the one that it
// is on.
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
