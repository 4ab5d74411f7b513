package render

import (
	"bytes"
	"errors"
	"path"
	"reflect"
	"regexp"
	"slices"

	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// overrideFolder is the folder of a build in which rendered objects meet the
// component that overrides them. It is nowhere on disk.
const overrideFolder = "/.gatehouse"

// override has kustomize build rendered objects with the component in the folder
// dir. It is handed only those that the component may change: it compares every
// object with every other.
func override(t *tree, dir string, rendered []object) ([]object, error) {
	mayChange := changedBy(t, dir)
	var resources bytes.Buffer
	var handed, others []object
	for _, o := range rendered {
		if !mayChange(o) {
			others = append(others, o)
			continue
		}
		handed = append(handed, o)
		content, err := marshal(o.Unstructured)
		if err != nil {
			return nil, err
		}
		resources.WriteString("---\n")
		resources.Write(content)
	}
	kustomization := types.Kustomization{Components: []string{path.Join("..", dir)}}
	if len(handed) > 0 {
		kustomization.Resources = []string{"rendered.yaml"}
		t.with(path.Join(overrideFolder, "rendered.yaml"), resources.Bytes())
	}
	content, err := yaml.Marshal(kustomization)
	if err != nil {
		return nil, err
	}
	file := path.Join(overrideFolder, "kustomization.yaml")
	t.with(file, content)
	overridden, err := build(t, overrideFolder, file)
	if err != nil {
		return nil, err
	}
	return append(others, withOrigins(overridden, handed)...), nil
}

// changedBy returns what says whether the component in a folder may change an
// object: where it does nothing but patch, those that its patches select.
func changedBy(t *tree, dir string) func(object) bool {
	targets, err := patchTargets(t, dir)
	if err != nil { // it does more, or kustomize is about to say what is wrong with it
		return func(object) bool { return true }
	}
	return func(o object) bool {
		gvk := resid.Gvk{Group: o.group(), Version: o.GroupVersionKind().Version, Kind: o.kind()}
		return slices.ContainsFunc(targets, func(target *types.SelectorRegex) bool {
			return target.MatchGvk(gvk) && target.MatchName(o.name())
		})
	}
}

// patchTargets returns what the patches of a component select. It is an error if
// there is more than patches in it.
func patchTargets(t *tree, dir string) ([]*types.SelectorRegex, error) {
	content, err := t.ReadFile(t.kustomizationFile(dir))
	if err != nil {
		return nil, err
	}
	var component types.Kustomization
	if err := component.Unmarshal(content); err != nil {
		return nil, err
	}
	patches := component.Patches
	component.TypeMeta, component.MetaData, component.Patches = types.TypeMeta{}, nil, nil
	if !reflect.DeepEqual(component, types.Kustomization{}) {
		return nil, errors.New("not only patches")
	}
	var targets []*types.SelectorRegex
	for _, patch := range patches {
		selectors, err := selectorsOf(t, dir, patch)
		if err != nil {
			return nil, err
		}
		for _, selector := range selectors {
			target, err := types.NewSelectorRegex(&selector)
			if err != nil {
				return nil, err
			}
			targets = append(targets, target)
		}
	}
	return targets, nil
}

// selectorsOf are what a patch selects: its target or, without one, the objects
// that its documents name.
func selectorsOf(t *tree, dir string, patch types.Patch) ([]types.Selector, error) {
	if patch.Target != nil {
		return []types.Selector{*patch.Target}, nil
	}
	content := []byte(patch.Patch)
	if patch.Path != "" {
		var err error
		if content, err = t.ReadFile(path.Join(dir, patch.Path)); err != nil {
			return nil, err
		}
	}
	documents, err := provider.NewDefaultDepProvider().GetResourceFactory().SliceFromBytes(content)
	if err != nil {
		return nil, err
	}
	var selectors []types.Selector
	for _, document := range documents {
		selectors = append(selectors, types.Selector{ResId: resid.ResId{
			Gvk:  resid.Gvk{Kind: regexp.QuoteMeta(document.GetKind())},
			Name: regexp.QuoteMeta(document.GetName()),
		}})
	}
	return selectors, nil
}

// withOrigins gives overridden objects the origin of the rendered ones that they
// were.
func withOrigins(overridden, rendered []object) []object {
	origins := map[string]string{}
	for _, o := range rendered {
		origins[o.id()] = o.origin
	}
	for i, o := range overridden {
		if origin, ok := origins[o.id()]; ok {
			overridden[i].origin = origin
		}
	}
	return overridden
}
