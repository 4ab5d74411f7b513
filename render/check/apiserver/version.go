package apiserver

import (
	"strings"

	"k8s.io/apimachinery/pkg/version"
)

// Release is that of Kubernetes whose code this is. What a build says of itself depends on
// how it was made, and the verdict must not.
const Release = "v1.36.3"

// Version is the release in its parts.
func Version() version.Info {
	parts := strings.Split(strings.TrimPrefix(Release, "v"), ".")
	return version.Info{Major: parts[0], Minor: parts[1], GitVersion: Release}
}
