package registry

import (
	"slices"
	"strings"
)

// deployTools are the domains of tools that apply objects, order, hook, replace and
// prune them, or note down what they applied. Their labels and annotations are about
// one object and would be wrong on another: what hooks or forces an At would run its
// Pod again. Flux and others read labels as they read annotations.
var deployTools = []string{
	"argoproj.io",
	"carvel.dev",
	"cli-utils.sigs.k8s.io",
	"config.k8s.io",
	"config.kubernetes.io",
	"configmanagement.gke.io",
	"configsync.gke.io",
	"fleet.cattle.io",
	"fluxcd.io",
	"helm.sh", // Argo CD obeys its hooks, too
	"k14s.io",
	"kpt.dev",
	"kubectl.kubernetes.io",
	"objectset.rio.cattle.io",
	"pulumi.com",
	"skaffold.dev",
	"spinnaker.io",
	"werf.io",
}

// isForDeployTool reports whether the key of a label or annotation is of a domain of a
// tool that applies objects, or below it.
func isForDeployTool(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return slices.ContainsFunc(deployTools, func(tool string) bool {
		return domain == tool || strings.HasSuffix(domain, "."+tool)
	})
}

// copyShared copies the labels or annotations of an owner that what is rendered from it
// shares.
func copyShared(to, owner map[string]string) {
	for key, value := range owner {
		if !isForDeployTool(key) {
			to[key] = value
		}
	}
}
