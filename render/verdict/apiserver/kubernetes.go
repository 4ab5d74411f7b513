package apiserver

import "regexp"

// This file has all data that another minor version of Kubernetes changes, beside the versions of modules:
// the code that is compiled in, the versions that it emulates, and the differences that no feature gate
// knows. CONTRIBUTING.md has the steps.

// Release is the release of the code of Kubernetes. It is a constant because build information depends
// on the way of the build.
const Release = "v1.37.1"

const (
	// Newest is the version of Release.
	Newest Version = 37
	// Oldest stays when Newest changes, and changes in a commit of its own. The feature gates of Release know
	// the versions from Newest-3 on; an earlier one needs a row here for each gate that is gone.
	Oldest Version = 34
)

// later has the errors and warnings that kube-apiserver has since a version, without a feature gate:
// it has them in all versions that it emulates. Each is tested with an object, so that a message cannot
// change unseen. Paths are in github.com/kubernetes/kubernetes.
var later = []struct {
	since Version
	text  *regexp.Regexp
}{
	// pkg/apis/core/validation/validation.go, validateInitContainers; kubernetes/kubernetes#137458
	{36,
		regexp.MustCompile(
			`\binitContainers\[\d+\]\.resizePolicy\[\d+\]\.restartPolicy: .* for non-sidecar initContainers$`)},
	// pkg/apis/core/validation/validation.go, validateImageVolumeSource: before, only in Pods
	{37, regexp.MustCompile(`\btemplate\.spec\.volumes\[\d+\]\.image\.reference: Required value$`)},
	// pkg/api/service/warnings.go
	{35, regexp.MustCompile(`^spec\.trafficDistribution: .* is deprecated; use `)},
	{36, regexp.MustCompile(`^spec\.externalIPs is deprecated`)},
	// pkg/registry/core/resourcequota/strategy.go
	{35, regexp.MustCompile(`^ResourceQuota .* should be less than `)},
	// pkg/registry/resource/resourceslice/strategy.go
	{35, regexp.MustCompile(`^spec\.driver: driver names should be lowercase`)},
	// pkg/apis/admissionregistration/validation/static_suffix.go
	{36, regexp.MustCompile(`^metadata\.name: names ending with "\.static\.k8s\.io" are reserved`)},
	// staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go
	{37, regexp.MustCompile(`^x-kubernetes-list-type: set for items of type `)},
}

// former has the fields that one version drops, as their feature gates are off, and that the newest
// version does not know: PodSpec and Device in staging/src/k8s.io/api of each version.
var former = map[string]Version{
	"k8s.io/api/core/v1.PodSpec workloadRef":                        35,
	"k8s.io/api/resource/v1.Device nodeAllocatableResourceMappings": 36,
}

// formerGroups are groups of Kubernetes that left its code.
var formerGroups = []string{"auditregistration.k8s.io", "extensions", "settings.k8s.io"}
