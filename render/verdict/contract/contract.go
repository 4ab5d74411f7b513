// Package contract guards the labels, the annotation and the scheduling gates of rendered objects. The
// controller recognizes the objects by them. No other object may have them, and overrides must not change them:
// otherwise the controller may take one Pod for another, or a Pod may start at once.
package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/problem"
)

// ReservedFields returns the problems of a source object with parts of the contract.
func ReservedFields(kinds *registry.Kinds, o manifest.Object) []manifest.Problem {
	fields := contractFields(kinds, o, false)
	errs := make(field.ErrorList, 0, len(fields))
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		errs = append(errs, field.Forbidden(field.NewPath(path), "is only for rendered objects of "+kinds.String()+
			": remove it, and do not rename or move rendered objects"))
	}
	return problem.FromErrors(o, errs)
}

// Overridden returns the problems of overrides that break the contract.
func Overridden(kinds *registry.Kinds, rendered, overridden []manifest.Object) (problems []manifest.Problem) {
	missing := map[manifest.ID]manifest.Object{}
	for _, o := range rendered {
		missing[o.ID()] = o
	}
	for _, o := range overridden {
		original, ok := missing[o.ID()]
		if !ok {
			problems = append(problems, append(addedSource(kinds, o), ReservedFields(kinds, o)...)...)
			continue
		}
		delete(missing, o.ID())
		gated := isGated(kinds, original.Unstructured)
		problems = append(problems, changedFields(o, contractFields(kinds, original, gated),
			contractFields(kinds, o, gated))...)
	}
	for _, o := range rendered {
		if _, isMissing := missing[o.ID()]; isMissing && isGated(kinds, o.Unstructured) {
			problems = append(problems, manifest.Problem{Code: manifest.InvalidOverride,
				Message: "an override removes or renames " + o.String() +
					": remove the " + kinds.RenderedFrom(o.Unstructured).GVK().Kind + " instead"})
		}
	}
	return problems
}

// addedSource returns the problem of a source object that an override adds: it is too late to render
// it.
func addedSource(kinds *registry.Kinds, o manifest.Object) []manifest.Problem {
	for _, kind := range kinds.All {
		if kind.GVK().GroupKind() == o.GroupVersionKind().GroupKind() {
			return []manifest.Problem{problem.OfObject(o,
				"an override adds it, too late to be rendered: write it in the environment itself")}
		}
	}
	return nil
}

// changedFields returns the problems of an object with other contract fields than before.
func changedFields(o manifest.Object, before, after map[string]string) []manifest.Problem {
	all := maps.Clone(before)
	maps.Copy(all, after)
	var errs field.ErrorList
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if before[path] != after[path] {
			errs = append(errs,
				field.Forbidden(field.NewPath(path), "an override must not change this: the controller needs it"))
		}
	}
	return problem.FromErrors(o, errs)
}

// syncTools are the domains of the labels and annotations that tell Argo CD and Flux how to deploy
// an object. Argo CD obeys hooks of Helm, and Flux reads labels like annotations.
var syncTools = []string{"argocd.argoproj.io", "helm.sh", "kustomize.toolkit.fluxcd.io"}

// contractFields returns the parts of the contract in an object, by their paths. For a gated Pod,
// options of GitOps tools and marks of another owner are parts, too.
func contractFields(kinds *registry.Kinds, o manifest.Object, gated bool) map[string]string {
	fields := map[string]string{}
	for name, values := range map[string]map[string]string{"annotations": o.GetAnnotations(), "labels": o.GetLabels()} {
		for key, value := range values {
			if tool, _, _ := strings.Cut(key, "/"); gated && slices.Contains(syncTools, tool) {
				fields[field.NewPath("metadata", name).Key(key).String()] = value
			}
		}
	}
	if gated {
		for _, name := range []string{"generateName", "ownerReferences"} {
			if value, ok, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", name); ok {
				fields["metadata."+name] = fmt.Sprint(value)
			}
		}
	}
	addFields(fields, kinds, o.Object)
	return fields
}

// addFields adds the parts of the contract in an object. Pod templates are anywhere: in a
// list of a JobSet, in podTemplate of a FlinkDeployment, in the manifest of an Object of Crossplane.
func addFields(fields map[string]string, kinds *registry.Kinds, object map[string]any) {
	decoding.Walk(object, func(path []string, value any) bool {
		key := strings.Join(path[max(0, len(path)-1):], "")
		switch {
		case strings.HasSuffix(strings.ToLower(key), "metadata"):
			addKeys(fields, kinds, path, value)
		case key == "schedulingGates" && knownGate(kinds, value) != "":
			fields[manifest.JoinField(path)] = knownGate(kinds, value)
		}
		return true
	})
}

// addKeys adds the labels and the annotation of the contract in metadata at a path.
func addKeys(fields map[string]string, kinds *registry.Kinds, path []string, metadata any) {
	content, _ := metadata.(map[string]any)
	add := func(name, key string) {
		values, _ := content[name].(map[string]any)
		if value, ok := values[key]; ok && value != "" {
			fields[manifest.JoinField(append(path, name, key))] = fmt.Sprint(value)
		}
	}
	for _, kind := range kinds.All {
		add("labels", kind.Label())
	}
	add("annotations", kind.DigestAnnotation)
}

// knownGate returns the scheduling gate that a controller opens; empty for none.
func knownGate(kinds *registry.Kinds, gates any) string {
	list, _ := gates.([]any)
	for _, item := range list {
		gate, _ := item.(map[string]any)
		if name, _ := gate["name"].(string); slices.Contains(kinds.Gates(), name) {
			return name
		}
	}
	return ""
}

// isGated reports whether an object is a Pod with a gate that a controller opens.
func isGated(kinds *registry.Kinds, u *unstructured.Unstructured) bool {
	gates, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "schedulingGates")
	return u.GetKind() == "Pod" && u.GetAPIVersion() == corev1.SchemeGroupVersion.String() &&
		knownGate(kinds, gates) != ""
}
