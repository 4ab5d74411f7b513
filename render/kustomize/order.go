package kustomize

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Order returns the positions that the sortOptions of a folder's kustomization give
// objects: those that it was built to, and what came of them. Where there are none all
// have the same.
func Order(s *source.Sources, folder string, built, objects []manifest.Object) (positions map[*unstructured.Unstructured]int, problems []manifest.Problem) {
	k := s.Kustomizations[folder]
	switch {
	case k.SortOptions == nil:
		return nil, nil
	case isFIFO(k):
		return fifoOrder(built, objects), nil
	}
	var err error
	isolate(s, func() { positions, err = legacyOrder(s.FS, k.SortOptions, objects) })
	if err != nil {
		problems = []manifest.Problem{kustomizeProblem(s, k.File, err)}
	}
	return positions, problems
}

// isFIFO reports whether objects are to stay in the order in which they are built.
func isFIFO(k *source.Kustomization) bool {
	return k.SortOptions != nil && k.SortOptions.Order == types.FIFOSortOrder
}

// fifoOrder has what was rendered follow, at one position, what it was rendered from.
// What overrides added comes last.
func fifoOrder(built, objects []manifest.Object) map[*unstructured.Unstructured]int {
	positions := make(map[*unstructured.Unstructured]int, len(objects))
	for i, o := range built {
		positions[o.Unstructured] = 2 * i
	}
	for _, o := range objects {
		switch {
		case o.Written == nil:
			positions[o.Unstructured] = 2 * len(built)
		case o.IsRendered():
			positions[o.Unstructured] = positions[o.Written] + 1
		}
	}
	return positions
}

// legacyOrder returns that of kustomize: of kinds, and of the namespaces and names of a kind.
func legacyOrder(fs *source.FileSystem, options *types.SortOptions, objects []manifest.Object) (map[*unstructured.Unstructured]int, error) {
	kinds, err := legacyOrderOfKinds(fs, options, objects)
	if err != nil {
		return nil, err
	}
	name := func(o manifest.Object) string { return cmp.Or(o.GetNamespace(), "~X") + "|" + o.GetName() }
	sorted := slices.SortedFunc(slices.Values(objects), func(a, b manifest.Object) int {
		return cmp.Or(cmp.Compare(kinds[a.GroupVersionKind()], kinds[b.GroupVersionKind()]), cmp.Compare(name(a), name(b)))
	})
	positions := make(map[*unstructured.Unstructured]int, len(objects))
	for i, o := range sorted {
		positions[o.Unstructured] = i
	}
	return positions, nil
}

// legacyOrderOfKinds has kustomize put one object of each kind in order: of all objects it
// would compare each with every other.
func legacyOrderOfKinds(fs *source.FileSystem, options *types.SortOptions, objects []manifest.Object) (map[schema.GroupVersionKind]int, error) {
	var resources bytes.Buffer
	positions := map[schema.GroupVersionKind]int{}
	for _, o := range objects {
		if _, ok := positions[o.GroupVersionKind()]; !ok {
			positions[o.GroupVersionKind()] = 0
			fmt.Fprintf(&resources, "---\n{apiVersion: %q, kind: %q, metadata: {name: any}}\n", o.GetAPIVersion(), o.GetKind())
		}
	}
	k := types.Kustomization{Resources: []string{"kinds.yaml"}, SortOptions: options}
	kinds, err := buildVirtual(fs, k, map[string][]byte{"kinds.yaml": resources.Bytes()})
	for i, o := range kinds {
		positions[o.GroupVersionKind()] = i
	}
	return positions, err
}
