package compare

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
)

// ignoreDrift is ignore for a Kustomization of Flux: spec.ignore keeps the fields of an object that is there (ApplyAll
// in ssa/manager_apply.go of fluxcd/pkg).
func ignoreDrift(c *Change, by manifest.Object) *delivery.Setting {
	if c.Action() != Changed || by.Unstructured == nil || !folder.IsKustomization(by) {
		return nil
	}
	var spec struct {
		Ignore []struct {
			Paths  []string
			Target types.Selector
		}
	}
	_ = manifest.Decode(by.Object["spec"], &spec) // a wrong type is an error of the definition
	applied := c.After.DeepCopy()
	isIgnored := false
	for _, rule := range spec.Ignore {
		if selects(rule.Target, c.After) {
			isIgnored = ignored{JSONPointers: rule.Paths}.restore(applied.Object, c.Before.Object) || isIgnored
		}
	}
	switch {
	case !isIgnored:
	case Equal(c.Before, applied):
		return &delivery.Setting{Tool: delivery.Flux, Treatment: delivery.Ignored, Key: "spec.ignore of " + by.String(),
			Value: "respected"}
	default:
		c.After = applied
	}
	return nil
}

// selects reports whether a selector of Flux matches an object (SelectorRegex in ssa/jsondiff of fluxcd/pkg).
func selects(s types.Selector, o *unstructured.Unstructured) bool {
	pattern, err := types.NewSelectorRegex(&s)
	if err != nil {
		return false
	}
	gvk := o.GroupVersionKind()
	matches := func(selector string, entries map[string]string) bool {
		parsed, err := labels.Parse(selector)
		return err == nil && parsed.Matches(labels.Set(entries))
	}
	return pattern.MatchGvk(resid.Gvk{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}) &&
		pattern.MatchName(o.GetName()) && pattern.MatchNamespace(o.GetNamespace()) &&
		matches(s.LabelSelector, o.GetLabels()) && matches(s.AnnotationSelector, o.GetAnnotations())
}
