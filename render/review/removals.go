package review

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/diff"
)

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// removals are the objects that take others with them, or data.
func (w *world) removals() (effects []Effect) {
	for _, c := range w.Changes {
		if c.Action() != diff.Removed {
			continue
		}
		if e := w.removal(c.Before); e.Type != "" {
			e.Object = idOf(c.Before)
			effects = append(effects, e)
		}
	}
	return effects
}

func (w *world) removal(o *unstructured.Unstructured) Effect {
	switch o.GroupVersionKind().GroupKind() {
	case namespaceKind:
		inside := int64(0)
		for _, c := range w.Changes {
			if c.Action() == diff.Removed && c.Before.GetNamespace() == o.GetName() {
				inside++
			}
		}
		return Effect{Type: NamespaceRemoved, What: "is removed", Risk: say("everything in it is deleted: %s of this repository, and whatever else there is", count(inside, "object"))}
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return Effect{Type: DefinitionRemoved, What: "is removed", Risk: say("every %s of the cluster is deleted", quoted(text(o, "spec", "names", "kind")))}
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return Effect{Type: StorageRemoved, What: "is removed", Risk: "its data is lost, unless its volume is one that is retained"}
	case schema.GroupKind{Kind: "PersistentVolume"}:
		return Effect{Type: StorageRemoved, What: "is removed", Risk: "claims lose their data, unless it is retained"}
	}
	return Effect{}
}

// kept returns effects in which those objects stay that a GitOps tool is told not to prune.
func (w *world) kept(effects []Effect) []Effect {
	keptBy := map[Object]string{}
	for _, c := range w.Changes {
		if c.Action() == diff.Removed {
			keptBy[idOf(c.Before)] = pruneAnnotation(c.Before)
		}
	}
	for i, e := range effects {
		if by := keptBy[e.Object]; by != "" {
			effects[i] = Effect{Type: ObjectKept, Object: e.Object, What: say("stays in the cluster: %s keeps it from being pruned", quoted(by))}
		}
	}
	return effects
}

// pruneAnnotation is the annotation, or label, that keeps an object from being pruned; empty
// where there is none.
func pruneAnnotation(o *unstructured.Unstructured) string {
	const flux, argo = "kustomize.toolkit.fluxcd.io/prune", "argocd.argoproj.io/sync-options"
	for _, values := range []map[string]string{o.GetAnnotations(), o.GetLabels()} {
		if values[flux] == "disabled" {
			return flux
		}
	}
	if hasSyncOption(o, "Prune=false") {
		return argo
	}
	return ""
}

// hasSyncOption says whether an object has Argo CD sync it with an option.
func hasSyncOption(o *unstructured.Unstructured, option string) bool {
	options := strings.FieldsFunc(o.GetAnnotations()["argocd.argoproj.io/sync-options"], func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(options, option)
}

// withoutCovered are effects without those that others say already: of what goes with its
// Namespace, and that Pods are replaced which may do more.
func withoutCovered(effects []Effect) []Effect {
	gone, privileged := map[string]bool{}, map[Object]bool{}
	for _, e := range effects {
		switch e.Type {
		case NamespaceRemoved:
			gone[e.Object.Name] = true
		case PodPrivileged:
			privileged[e.Object] = true
		}
	}
	return slices.DeleteFunc(effects, func(e Effect) bool {
		switch e.Type {
		case CacheRemoved, WorkloadRemoved, AutoscalingChanged, RouteRemoved, StorageRemoved, RunCanceled, RunDone, GuardRemoved, ObjectRemoved:
			return gone[e.Object.Namespace]
		case ResourcesRequested:
			return gone[e.Object.Name]
		case WorkloadRolled:
			return privileged[e.Object] && e.Risk == ""
		}
		return false
	})
}
