package kustomize

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Order returns the position of each object by the sortOptions of the environment's kustomization. Without
// sortOptions all have the same position.
func Order(paths *Paths, built, objects []manifest.Object) (positions []int, problems []manifest.Problem) {
	s := paths.Sources
	k := paths.Loaded[paths.Folder]
	switch {
	case k.SortOptions == nil:
		return make([]int, len(objects)), nil
	case k.SortOptions.Order == types.FIFOSortOrder:
		return fifoOrder(built, objects), nil
	}
	var err error
	isolate(s, func() { positions, err = legacyOrder(s.FS, k.SortOptions, objects) })
	if err != nil {
		problems = []manifest.Problem{kustomizeProblem(s, k.File, err)}
	}
	return positions, problems
}

// fifoOrder keeps the order of the build. All rendered objects of a source object share the position after
// it, and objects that overrides add come last.
func fifoOrder(built, objects []manifest.Object) []int {
	nth := make(map[manifest.ID]int, len(built))
	for i, o := range built {
		nth[o.ID()] = i
	}
	positions := make([]int, len(objects))
	for i, o := range objects {
		switch {
		case o.Written == nil:
			positions[i] = 2 * len(built)
		case o.IsRendered():
			positions[i] = 2*nth[o.Source().ID()] + 1
		default:
			positions[i] = 2 * nth[o.ID()]
		}
	}
	return positions
}

// legacyOrder is kustomize's legacy order: by kind, and within a kind by namespace and name.
func legacyOrder(fs *source.FileSystem, options *types.SortOptions, objects []manifest.Object) ([]int, error) {
	kinds, err := legacyOrderOfKinds(fs, options, objects)
	if err != nil {
		return nil, err
	}
	name := func(o manifest.Object) string { return cmp.Or(o.GetNamespace(), "~X") + "|" + o.GetName() }
	sorted := make([]int, len(objects))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(i, j int) int {
		a := objects[i]
		b := objects[j]
		return cmp.Or(cmp.Compare(kinds[a.GroupVersionKind()], kinds[b.GroupVersionKind()]),
			cmp.Compare(name(a), name(b)))
	})
	positions := make([]int, len(objects))
	for position, i := range sorted {
		positions[i] = position
	}
	return positions, nil
}

// legacyOrderOfKinds sorts one object of each kind with kustomize, since kustomize compares every object
// with every other.
func legacyOrderOfKinds(fs *source.FileSystem, options *types.SortOptions,
	objects []manifest.Object) (map[schema.GroupVersionKind]int, error) {
	var resources bytes.Buffer
	positions := map[schema.GroupVersionKind]int{}
	for _, o := range objects {
		if _, ok := positions[o.GroupVersionKind()]; !ok {
			positions[o.GroupVersionKind()] = 0
			fmt.Fprintf(&resources, "---\n{apiVersion: %q, kind: %q, metadata: {name: any}}\n", o.GetAPIVersion(),
				o.GetKind())
		}
	}
	k := types.Kustomization{Resources: []string{"kinds.yaml"}, SortOptions: options}
	kinds, err := buildVirtual(fs, k, map[string][]byte{"kinds.yaml": resources.Bytes()})
	for i, o := range kinds {
		positions[o.GroupVersionKind()] = i
	}
	return positions, err
}
