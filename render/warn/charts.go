package warn

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/render/manifest"
)

// definitionsOfCharts warns of custom resources without a CustomResourceDefinition in an environment
// that has charts, which may bring it: a sync would be refused until they are installed. It warns once
// of each kind, at its first object.
func definitionsOfCharts(e Environment) (warnings []manifest.Problem) {
	var charts []string
	for _, o := range e.Objects {
		if isChart(o) {
			charts = append(charts, o.String())
		}
	}
	if len(charts) == 0 {
		return nil
	}
	warned := map[schema.GroupKind]bool{}
	for _, o := range e.Objects {
		gvk := o.GroupVersionKind()
		if _, isKnown := e.IsNamespaced(gvk); isKnown || warned[gvk.GroupKind()] || scheme.Scheme.IsGroupRegistered(gvk.Group) || isOfTool(gvk.Group) {
			continue
		}
		warned[gvk.GroupKind()] = true
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		definition := manifest.ID{Kind: "CustomResourceDefinition", Name: plural.GroupResource().String()}
		if !e.isElsewhere(definition) {
			warnings = append(warnings, warning(o, "kind", gvk.Kind,
				"no %s in the environment: if %s brings it, the cluster refuses a whole sync until that is installed: write this in an environment of its own, and print that by render sync flux --depends-on; or, where the cluster has it before, annotate the kustomization with %s: %[1]s",
				definition, manifest.FirstOf(3, charts), ElsewhereAnnotation))
		}
	}
	return warnings
}

// isChart reports whether an object has Flux, Argo CD or k3s install a Helm chart.
func isChart(o manifest.Object) bool {
	switch gvk := o.GroupVersionKind(); gvk.Group {
	case "helm.toolkit.fluxcd.io":
		return gvk.Kind == "HelmRelease"
	case "helm.cattle.io":
		return gvk.Kind == "HelmChart"
	case "argoproj.io":
		return strings.HasPrefix(gvk.Kind, "Application") && manifest.Contains(o.Object["spec"], func(key string, _ any) bool { return key == "chart" })
	}
	return false
}

// isOfTool reports whether a group is of a tool that installs charts, and so there before them.
func isOfTool(group string) bool {
	return strings.HasSuffix(group, ".toolkit.fluxcd.io") || group == "argoproj.io" || group == "helm.cattle.io"
}
