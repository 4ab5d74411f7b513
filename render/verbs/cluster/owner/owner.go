// Package owner names the tools and environments that manage a live object, from its managed
// fields, labels and annotations.
package owner

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The domains of the labels and annotations of Flux and Argo CD.
const (
	FluxDomain = "kustomize.toolkit.fluxcd.io"
	ArgoDomain = "argocd.argoproj.io"
)

// The field managers of tools that apply the objects of a repository.
const (
	Flux    = "kustomize-controller"
	Argo    = "argocd-controller"
	Kubectl = "kubectl"
	// clientSide is the manager of kubectl apply without --server-side.
	clientSide = "kubectl-client-side-apply"
)

const prefix = "gatehouse-"

// Manager returns the field manager of render apply for an environment. The inventory has the
// same name.
func Manager(environment string) string { return prefix + environment }

// Environment returns the environment of a field manager or an inventory.
func Environment(manager string) (environment string, ok bool) {
	return strings.CutPrefix(manager, prefix)
}

// Appliers returns the field managers that applied a live object as a whole. An autoscaler, for
// example, only updates a field.
func Appliers(live *unstructured.Unstructured) (managers []string) {
	for _, entry := range live.GetManagedFields() {
		isApply := entry.Operation == metav1.ManagedFieldsOperationApply || entry.Manager == clientSide
		if isApply && entry.Subresource == "" && !slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	return managers
}

// tools lists the other tools that apply whole objects. A tool marks its objects with a label or
// annotation, or is known by its field manager.
var tools = []struct{ name, key, manager string }{
	{"Flux's Kustomization", FluxDomain + "/name", Flux},
	{"Flux's HelmRelease", "helm.toolkit.fluxcd.io/name", "helm-controller"},
	{"the Helm release", "meta.helm.sh/release-name", "helm"},
	{"Argo CD", ArgoDomain + "/tracking-id", Argo},
	{"the Argo CD Application", ArgoDomain + "/instance", ""},
	{"the ApplySet", "applyset.kubernetes.io/part-of", ""},
}

// Of names the controller or tool that owns a live object, if any.
func Of(live *unstructured.Unstructured) string {
	if controller := metav1.GetControllerOf(live); controller != nil {
		return controller.Kind + " " + controller.Name
	}
	labels := live.GetLabels()
	annotations := live.GetAnnotations()
	for _, t := range tools {
		if name := cmp.Or(labels[t.key], annotations[t.key]); name != "" {
			return t.name + " " + name
		}
	}
	for _, entry := range live.GetManagedFields() {
		for _, t := range tools {
			if entry.Manager == t.manager && entry.Manager != "" && entry.Subresource == "" {
				return t.name
			}
		}
	}
	return ""
}
