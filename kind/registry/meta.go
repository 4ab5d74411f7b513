package registry

import (
	"slices"
	"strings"
)

// deployTools are the domains of tools that apply, order, hook, replace or prune objects, or record
// an apply. Their labels and annotations are for one object and would be wrong on another: a hook or
// force of an At would run its Pod again. Flux and others read labels in the same way as annotations.
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
	"helm.sh", // Argo CD obeys its hooks
	"k14s.io",
	"kpt.dev",
	"kubectl.kubernetes.io",
	"objectset.rio.cattle.io",
	"pulumi.com",
	"skaffold.dev",
	"spinnaker.io",
	"werf.io",
}

// isForDeployTool reports whether the key of a label or annotation has the domain of a deploy tool, or
// a subdomain.
func isForDeployTool(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return slices.ContainsFunc(deployTools, func(tool string) bool {
		return domain == tool || strings.HasSuffix(domain, "."+tool)
	})
}

// copyShared copies the labels or annotations of an owner to a rendered object, except deploy tools'.
func copyShared(to, owner map[string]string) {
	for key, value := range owner {
		if !isForDeployTool(key) {
			to[key] = value
		}
	}
}
