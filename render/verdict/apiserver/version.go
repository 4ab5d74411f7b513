package apiserver

import (
	"strings"

	"k8s.io/apimachinery/pkg/version"
)

// Release is the release of Kubernetes whose code is used. It is a constant, as what a build
// reports of its dependencies depends on how it was made, and the verdict must not.
const Release = "v1.36.3"

// Version returns the parts of the release.
func Version() version.Info {
	parts := strings.Split(strings.TrimPrefix(Release, "v"), ".")
	return version.Info{Major: parts[0], Minor: parts[1], GitVersion: Release}
}
