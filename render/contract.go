package render

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/manifests"
)

// The controller knows what was rendered by labels, an annotation and a gate. They
// are on what was rendered, as it was rendered, and on nothing else: whoever could
// move them could have the controller take one Pod for another, or none wait.

// contractFields are the parts of the contract that an object has, by their paths;
// of one that waits, or should, also what a GitOps tool is told of it.
func contractFields(o object, waits bool) map[string]string {
	fields := map[string]string{}
	add := func(path *field.Path, value string) {
		if value != "" {
			fields[path.String()] = value
		}
	}
	for _, label := range []string{manifests.AtLabel, manifests.MemcachedLabel} {
		add(field.NewPath("metadata", "labels").Key(label), o.GetLabels()[label])
	}
	annotations := field.NewPath("metadata", "annotations")
	add(annotations.Key(manifests.DigestAnnotation), o.GetAnnotations()[manifests.DigestAnnotation])
	if isGated(o.Unstructured) {
		add(field.NewPath("spec", "schedulingGates"), manifests.ScheduleGate)
	}
	for key, value := range o.GetAnnotations() {
		if tool, _, _ := strings.Cut(key, "/"); waits && (tool == "argocd.argoproj.io" || tool == "kustomize.toolkit.fluxcd.io") {
			add(annotations.Key(key), value)
		}
	}
	return fields
}

// posing are the errors of an object that nothing was rendered to and that has a
// part of the contract.
func posing(o object) (errs field.ErrorList) {
	for _, path := range slices.Sorted(maps.Keys(contractFields(o, false))) {
		errs = append(errs, field.Forbidden(field.NewPath(path), "is only for what is rendered from an At or a Memcached: remove it, and do not rename or move what was rendered"))
	}
	return errs
}

// contractErrors are what an override did to rendered objects and must not, by the
// index of the object; those of a Pod that it removed are of index -1.
func contractErrors(rendered, overridden []object) map[int]field.ErrorList {
	errs := map[int]field.ErrorList{}
	before := map[string]object{}
	for _, o := range rendered {
		before[o.id()] = o
	}
	for i, o := range overridden {
		was, ok := before[o.id()]
		if !ok {
			errs[i] = posing(o)
			continue
		}
		delete(before, o.id())
		waits := isGated(was.Unstructured)
		errs[i] = changed(contractFields(was, waits), contractFields(o, waits))
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if o := before[id]; isGated(o.Unstructured) {
			errs[-1] = append(errs[-1], field.Forbidden(nil, "an override removes or renames "+o.String()+": remove the At instead"))
		}
	}
	return errs
}

// changed are the errors of the fields that differ.
func changed(before, after map[string]string) (errs field.ErrorList) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if before[path] != after[path] {
			errs = append(errs, field.Forbidden(field.NewPath(path), "an override must not change this: the controller needs it"))
		}
	}
	return errs
}
