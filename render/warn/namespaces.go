package warn

import (
	"cmp"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
)

// missingNamespaces warns once of each undefined namespace, at its first object, in an environment
// that defines any: a cluster without the Namespace refuses the whole sync.
func missingNamespaces(in Input) (warnings []manifest.Problem) {
	var defined []string
	isKnown := map[string]bool{}
	for _, o := range in.Objects {
		if o.GroupVersionKind().Group == "" && o.GetKind() == "Namespace" {
			defined = append(defined, o.GetName())
			isKnown[o.GetName()] = true
		}
	}
	if len(defined) == 0 {
		return nil
	}
	for _, o := range in.Objects {
		isKnown[createdNamespace(o)] = true
	}
	for _, o := range in.sources {
		id := manifest.ID{Kind: "Namespace", Name: o.GetNamespace()}
		if id.Name == "" || isKnown[id.Name] || isInEveryCluster(id.Name) || in.Elsewhere.Has(id) {
			continue
		}
		if namespaced, isDefined := in.IsNamespaced(o.GroupVersionKind()); isDefined && !namespaced {
			continue
		}
		isKnown[id.Name] = true
		remedy := ": add it"
		if hint := manifest.DidYouMean(id.Name, defined); hint != "" {
			remedy = hint + " Otherwise add it"
		}
		warnings = append(warnings, warning(o, "metadata.namespace", "%s is not defined here%s, %s", id, remedy,
			in.orAnnotate(id)).Because("missing Namespaces"))
	}
	return warnings
}

// createdNamespace returns the namespace that Argo CD or Helm creates for an Application or a HelmRelease, if any.
func createdNamespace(o manifest.Object) string {
	var spec struct {
		deliverySpec
		Destination struct{ Namespace string }
	}
	_ = manifest.Decode(o.Object["spec"], &spec) // a wrong type is an error of the definition
	switch {
	case o.GetKind() == "Application" && slices.Contains(spec.SyncPolicy.SyncOptions, "CreateNamespace=true"):
		return spec.Destination.Namespace
	case o.GetKind() == "HelmRelease" && spec.Install.CreateNamespace:
		return cmp.Or(spec.TargetNamespace, o.GetNamespace())
	}
	return ""
}

// isInEveryCluster reports whether Kubernetes or OpenShift creates the namespace: default, or one
// with a reserved prefix.
func isInEveryCluster(namespace string) bool {
	return namespace == "default" || strings.HasPrefix(namespace, "kube-") || strings.HasPrefix(namespace, "openshift-")
}
