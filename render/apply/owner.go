package apply

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// clientSide is the manager of what kubectl apply applies without --server-side.
const clientSide = "kubectl-client-side-apply"

// appliers are who applied an object: the managers of its fields that keep a set of them as
// they want it, and not those that change some, as an autoscaler does. Statuses do not count.
func appliers(u *unstructured.Unstructured) (managers []string) {
	for _, entry := range u.GetManagedFields() {
		isApply := entry.Operation == metav1.ManagedFieldsOperationApply || entry.Manager == clientSide
		if isApply && entry.Subresource == "" && !slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	return managers
}

// trackers are the labels and annotations by which tools know what they apply.
var trackers = []struct{ key, owner string }{
	{"kustomize.toolkit.fluxcd.io/name", "Flux's Kustomization"},
	{"helm.toolkit.fluxcd.io/name", "Flux's HelmRelease"},
	{"meta.helm.sh/release-name", "the Helm release"},
	{"argocd.argoproj.io/tracking-id", "Argo CD as"},
	{"argocd.argoproj.io/instance", "the Argo CD Application"},
	{"applyset.kubernetes.io/part-of", "the ApplySet"},
}

// tools are the managers of fields that those leave who apply whole objects.
var tools = map[string]string{
	"argocd-controller":    "Argo CD",
	"helm":                 "Helm",
	"helm-controller":      "Flux",
	"kustomize-controller": "Flux",
}

// ownerOf says who else an object of the cluster belongs to; empty where nobody is known to
// apply it or to have made it.
func ownerOf(live *unstructured.Unstructured) string {
	if controller := metav1.GetControllerOf(live); controller != nil {
		return controller.Kind + " " + controller.Name
	}
	labels, annotations := live.GetLabels(), live.GetAnnotations()
	for _, t := range trackers {
		name := labels[t.key]
		if name == "" {
			name = annotations[t.key]
		}
		if name != "" {
			return t.owner + " " + name
		}
	}
	for _, entry := range live.GetManagedFields() {
		if tool := tools[entry.Manager]; tool != "" && entry.Subresource == "" {
			return tool
		}
	}
	return ""
}

// otherEnvironment is the environment of another name that applied an object; empty where none
// did.
func otherEnvironment(live *unstructured.Unstructured, manager string) string {
	for _, other := range appliers(live) {
		if environment, ok := strings.CutPrefix(other, prefix); ok && other != manager {
			return environment
		}
	}
	return ""
}

// refuseOwned says why an object that the cluster has is not this environment's to apply, and
// the way out; empty where it is. Another environment may have listed it that has not yet
// applied it.
func refuseOwned(live *unstructured.Unstructured, manager, listedBy string) string {
	environment := otherEnvironment(live, manager)
	if environment == "" && !slices.Contains(appliers(live), manager) {
		environment = listedBy
	}
	if environment != "" {
		return fmt.Sprintf("belongs to environment %s: what two environments need, give to a third alone; one that moves here, take out of %s and apply that first, or, if %s is gone from git, run render delete --env %s", environment, environment, environment, environment)
	}
	if owner := ownerOf(live); owner != "" {
		return fmt.Sprintf("belongs to %s: change it there, or have that give it up, or leave it out of this environment", owner)
	}
	return ""
}

const pruneAnnotation = "kustomize.toolkit.fluxcd.io/prune"

// refuseDelete says why an object that the environment has no more is not deleted; empty where
// it is.
func refuseDelete(live *unstructured.Unstructured, manager string) string {
	by := appliers(live)
	others := slices.DeleteFunc(slices.Clone(by), func(other string) bool { return other == manager })
	switch {
	case len(others) == len(by) && !isBare(live):
		return "this environment did not apply it"
	case len(others) > 0:
		return strings.Join(others, " and ") + " applied it, too"
	}
	if owner := ownerOf(live); owner != "" {
		return "it belongs to " + owner
	}
	if live.GetAnnotations()[pruneAnnotation] == "disabled" || live.GetLabels()[pruneAnnotation] == "disabled" {
		return pruneAnnotation + " is disabled"
	}
	return ""
}

// isBare says whether nobody wrote a field of an object, as of a ServiceAccount that has a name
// and nothing else: the cluster does not note who applied one.
func isBare(live *unstructured.Unstructured) bool {
	return !slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Subresource == "" })
}
