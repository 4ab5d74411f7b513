package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// The controller knows what was rendered by labels, an annotation and a gate. They
// are on what was rendered, as it was rendered, and on nothing else: a person who could move
// them could have the controller take one Pod for another, or have none wait.

// reservedFields finds the parts of the contract on an object that nothing was rendered to.
func (c *Checker) reservedFields(o manifest.Object) []manifest.Problem {
	fields := c.contractFields(o, false)
	errs := make(field.ErrorList, 0, len(fields))
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		errs = append(errs, field.Forbidden(field.NewPath(path), "is only for what is rendered from "+c.written.String()+": remove it, and do not rename or move what was rendered"))
	}
	return problemsOf(o, errs)
}

// Overridden finds what overrides did to rendered objects and must not.
func (c *Checker) Overridden(rendered, overridden []manifest.Object) (problems []manifest.Problem) {
	before := map[manifest.ID]manifest.Object{}
	for _, o := range rendered {
		before[o.ID()] = o
	}
	for _, o := range overridden {
		was, ok := before[o.ID()]
		if !ok {
			problems = append(problems, append(c.addedSpec(o), c.reservedFields(o)...)...)
			continue
		}
		delete(before, o.ID())
		waits := c.isGated(was.Unstructured)
		problems = append(problems, changedFields(o, c.contractFields(was, waits), c.contractFields(o, waits))...)
	}
	for _, o := range rendered {
		if _, gone := before[o.ID()]; gone && c.isGated(o.Unstructured) {
			problems = append(problems, manifest.Problem{Message: "an override removes or renames " + o.String() + ": remove the " + c.written.RenderedFrom(o.Unstructured).GVK().Kind + " instead"})
		}
	}
	return problems
}

// addedSpec returns the problem of an object that an override adds and that nothing would be
// rendered to.
func (c *Checker) addedSpec(o manifest.Object) []manifest.Problem {
	for _, kind := range c.written.All {
		if o.GetKind() == kind.GVK().Kind && o.GroupVersionKind().Group == kind.GVK().Group {
			return []manifest.Problem{invalid(o, "an override adds it, and nothing would be rendered to it: write it in the environment itself")}
		}
	}
	return nil
}

// changedFields returns the problems of an object whose fields differ from those before.
func changedFields(o manifest.Object, before, after map[string]string) []manifest.Problem {
	all := maps.Clone(before)
	maps.Copy(all, after)
	var errs field.ErrorList
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if before[path] != after[path] {
			errs = append(errs, field.Forbidden(field.NewPath(path), "an override must not change this: the controller needs it"))
		}
	}
	return problemsOf(o, errs)
}

// syncTools are the domains of labels and annotations that tell Argo CD and Flux how to
// deploy an object. Argo CD
// obeys hooks of Helm; Flux reads labels as it reads annotations.
var syncTools = []string{"argocd.argoproj.io", "helm.sh", "kustomize.toolkit.fluxcd.io"}

// contractFields returns the parts of the contract that an object has, or a Pod template in
// it, by their paths; of one that waits, or should, also what a GitOps tool is told of
// it, and what the controller takes for the mark of another's Pod.
func (c *Checker) contractFields(o manifest.Object, waits bool) map[string]string {
	fields := map[string]string{}
	for name, values := range map[string]map[string]string{"annotations": o.GetAnnotations(), "labels": o.GetLabels()} {
		for key, value := range values {
			if tool, _, _ := strings.Cut(key, "/"); waits && slices.Contains(syncTools, tool) {
				fields[field.NewPath("metadata", name).Key(key).String()] = value
			}
		}
	}
	if waits {
		for _, name := range []string{"generateName", "ownerReferences"} {
			if value, ok, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", name); ok {
				fields["metadata."+name] = fmt.Sprint(value)
			}
		}
	}
	c.addContract(fields, nil, o.Object)
	return fields
}

// addContract adds the parts of the contract in a value at a path. What is, or may
// become, a Pod is anywhere: a JobSet has templates in a list, a FlinkDeployment in
// podTemplate, an Object of Crossplane has a whole manifest.
func (c *Checker) addContract(fields map[string]string, at []string, value any) {
	switch value := value.(type) {
	case map[string]any:
		at = append(at, "")
		for key, inner := range value {
			at[len(at)-1] = key
			switch {
			case strings.HasSuffix(strings.ToLower(key), "metadata"):
				c.addContractKeys(fields, at, inner)
			case key == "schedulingGates" && c.gateAmong(inner) != "":
				fields[manifest.JoinField(at)] = c.gateAmong(inner)
			}
			c.addContract(fields, at, inner)
		}
	case []any:
		at = append(at, "")
		for i, inner := range value {
			at[len(at)-1] = index(i)
			c.addContract(fields, at, inner)
		}
	}
}

// addContractKeys adds the labels and the annotation of the contract in metadata at a
// path.
func (c *Checker) addContractKeys(fields map[string]string, at []string, metadata any) {
	content, _ := metadata.(map[string]any)
	add := func(name, key string) {
		values, _ := content[name].(map[string]any)
		if value, ok := values[key]; ok && value != "" {
			fields[manifest.JoinField(append(at, name, key))] = fmt.Sprint(value)
		}
	}
	for _, kind := range c.written.All {
		add("labels", kind.Label())
	}
	add("annotations", kind.DigestAnnotation)
}

// gateAmong returns the scheduling gate that a controller opens; empty where there is none.
func (c *Checker) gateAmong(gates any) string {
	list, _ := gates.([]any)
	for _, item := range list {
		gate, _ := item.(map[string]any)
		if name, _ := gate["name"].(string); slices.Contains(c.written.Gates(), name) {
			return name
		}
	}
	return ""
}

// isGated reports whether an object is a Pod that waits for a controller.
func (c *Checker) isGated(u *unstructured.Unstructured) bool {
	gates, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "schedulingGates")
	return u.GetKind() == "Pod" && u.GetAPIVersion() == corev1.SchemeGroupVersion.String() && c.gateAmong(gates) != ""
}
