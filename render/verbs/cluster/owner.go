package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
)

// The domains of the labels and annotations of Flux and Argo CD.
const (
	fluxDomain = "kustomize.toolkit.fluxcd.io"
	argoDomain = "argocd.argoproj.io"
)

// The field managers of tools that apply what git has.
const (
	fluxManager    = "kustomize-controller"
	argoManager    = "argocd-controller"
	kubectlManager = "kubectl"
	// clientSide is that of kubectl apply without --server-side.
	clientSide = "kubectl-client-side-apply"
)

// appliers returns the field managers that applied an object: those that keep a set of fields
// as they want it, and not those that change some, as an autoscaler does.
func appliers(u *unstructured.Unstructured) (managers []string) {
	for _, entry := range u.GetManagedFields() {
		isApply := entry.Operation == metav1.ManagedFieldsOperationApply || entry.Manager == clientSide
		if isApply && entry.Subresource == "" && !slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	return managers
}

// tools lists who else applies whole objects: the labels or annotations by which they know what they
// apply, and their field managers.
var tools = []struct{ owner, key, manager string }{
	{"Flux's Kustomization", fluxDomain + "/name", fluxManager},
	{"Flux's HelmRelease", "helm.toolkit.fluxcd.io/name", "helm-controller"},
	{"the Helm release", "meta.helm.sh/release-name", "helm"},
	{"Argo CD", argoDomain + "/tracking-id", argoManager},
	{"the Argo CD Application", argoDomain + "/instance", ""},
	{"the ApplySet", "applyset.kubernetes.io/part-of", ""},
}

// ownerOf names who else an object of the cluster belongs to; empty where nobody is known to
// apply it or to have made it.
func ownerOf(live *unstructured.Unstructured) string {
	if controller := metav1.GetControllerOf(live); controller != nil {
		return controller.Kind + " " + controller.Name
	}
	labels, annotations := live.GetLabels(), live.GetAnnotations()
	for _, t := range tools {
		if name := cmp.Or(labels[t.key], annotations[t.key]); name != "" {
			return t.owner + " " + name
		}
	}
	for _, entry := range live.GetManagedFields() {
		for _, t := range tools {
			if entry.Manager == t.manager && entry.Manager != "" && entry.Subresource == "" {
				return t.owner
			}
		}
	}
	return ""
}

// refuse returns why an object must not be applied, and the way out; empty where it may.
func (a *applier) refuse(s *step) string {
	listedBy := a.others[s.ID()] // may have yet to apply it
	switch {
	case s.ID() == (manifest.ID{Kind: "ConfigMap", Namespace: homeNamespace, Name: a.name}):
		return "is where render apply keeps its inventory: give it another name"
	case s.live == nil && listedBy != "":
		return fmt.Sprintf("belongs to environment %s, whose inventory has it: apply that again, or run render delete --env %s", listedBy, listedBy)
	case s.live == nil:
		return ""
	case s.live.GetDeletionTimestamp() != nil:
		return "is being deleted: wait until it is gone, and run this again"
	}
	by := appliers(s.live)
	environment := ""
	if i := slices.IndexFunc(by, func(m string) bool { return m != a.name && strings.HasPrefix(m, prefix) }); i >= 0 {
		environment = strings.TrimPrefix(by[i], prefix)
	} else if !slices.Contains(by, a.name) {
		environment = listedBy
	}
	if environment != "" {
		return fmt.Sprintf("belongs to environment %s: what two environments need, give to a third alone; one that moves here, take out of %s and apply that first, or, if %s is gone from git, run render delete --env %s", environment, environment, environment, environment)
	}
	if owner := ownerOf(s.live); owner != "" {
		return fmt.Sprintf("belongs to %s: change it there, or have that give it up, or leave it out of this environment", owner)
	}
	if ssautils.IsCRD(s.live) {
		return refuseOlder(s.live, s.Unstructured)
	}
	return ""
}

const pruneAnnotation = fluxDomain + "/prune"

// refuseDelete returns why an object that the environment no longer has is not deleted; empty
// where it is. A later run may delete what is refused for now.
func (a *applier) refuseDelete(live *unstructured.Unstructured) (why string, isForNow bool) {
	by := appliers(live)
	others := slices.DeleteFunc(slices.Clone(by), func(other string) bool { return other == a.name })
	owner := ownerOf(live)
	switch {
	case len(others) == len(by) && !isWithoutFields(live):
		return "this environment did not apply it", false
	case len(others) > 0:
		return strings.Join(others, " and ") + " applied it, too", false
	case owner != "":
		return "it belongs to " + owner, false
	case ssautils.AnyInMetadata(live, map[string]string{pruneAnnotation: "disabled"}):
		return pruneAnnotation + " is disabled", false
	case a.spares && runs(a.Kinds, live):
		return "it runs; apply again when it has ended, or delete it with kubectl to stop it", true
	}
	return "", false
}

// isWithoutFields reports whether nobody wrote a field of an object, as of a ServiceAccount that
// has a name and nothing else: the cluster does not note who applied such an object.
func isWithoutFields(live *unstructured.Unstructured) bool {
	return !slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Subresource == "" })
}
