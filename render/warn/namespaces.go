package warn

import (
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
)

// missingNamespaces warns once of each undefined namespace, at its first object, in an environment
// that defines any: a cluster without the Namespace refuses the whole sync.
func missingNamespaces(e Environment) (warnings []manifest.Problem) {
	var defined []string
	for _, o := range e.Objects {
		if o.GroupVersionKind().Group == "" && o.GetKind() == "Namespace" {
			defined = append(defined, o.GetName())
		}
	}
	known := slices.Clone(defined)
	for _, o := range e.Objects {
		id := manifest.ID{Kind: "Namespace", Name: o.GetNamespace()}
		if len(defined) == 0 || id.Name == "" || o.IsRendered() || slices.Contains(known, id.Name) || isInEveryCluster(id.Name) || e.isElsewhere(id) {
			continue
		}
		if namespaced, isKind := e.IsNamespaced(o.GroupVersionKind()); isKind && !namespaced {
			continue
		}
		known = append(known, id.Name)
		remedy := ": add it"
		if hint := manifest.DidYouMean(id.Name, defined); hint != "" {
			remedy = hint + " Otherwise add it"
		}
		warnings = append(warnings, warning(o, "metadata.namespace", id.Name,
			"%s is not defined here%s, or, if it exists elsewhere, annotate the kustomization with %s: %[1]s", id, remedy, ElsewhereAnnotation))
	}
	return warnings
}

// isInEveryCluster reports whether Kubernetes or OpenShift creates the namespace: default, or one
// with a reserved prefix.
func isInEveryCluster(namespace string) bool {
	return namespace == "default" || strings.HasPrefix(namespace, "kube-") || strings.HasPrefix(namespace, "openshift-")
}
