package render

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// Unchecked counts the objects of a kind without a definition.
type Unchecked struct {
	schema.GroupKind
	Objects int
	// First is a problem with the position of the first object.
	First manifest.Problem
}

// unchecked returns the kinds without a definition, in order.
func (p *pipeline) unchecked(objects []manifest.Object) (all []Unchecked) {
	byKind := map[schema.GroupKind]*Unchecked{}
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		if _, isKnown := p.checker.IsNamespaced(gvk); isKnown {
			continue
		}
		if byKind[gvk.GroupKind()] == nil {
			byKind[gvk.GroupKind()] = &Unchecked{gvk.GroupKind(), 0, p.locate(manifest.NewProblem(o, "", manifest.Value{}, ""))}
		}
		byKind[gvk.GroupKind()].Objects++
	}
	for _, u := range byKind {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b Unchecked) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// warnUnchecked adds one warning for each kind without a definition to the first environment that has
// objects of it.
func (u *Update) warnUnchecked() {
	type total struct {
		first        int // index of the environment
		problem      manifest.Problem
		objects      int
		environments []string
	}
	totals := map[schema.GroupKind]*total{}
	for i, e := range u.Environments {
		for _, unchecked := range e.Unchecked {
			t := totals[unchecked.GroupKind]
			if t == nil {
				t = &total{first: i, problem: unchecked.First}
				totals[unchecked.GroupKind] = t
			}
			t.objects, t.environments = t.objects+unchecked.Objects, append(t.environments, e.Name)
		}
	}
	for kind, t := range totals {
		t.problem.Warning, t.problem.Object = true, ""
		t.problem.Message = fmt.Sprintf("%s: objects without a CustomResourceDefinition are not checked (%d, in %s): run kubectl get crd $(kubectl api-resources --api-group=%s -o name) -o yaml > %s/%s/%[4]s.yaml",
			kind, t.objects, manifest.FirstOf(3, t.environments), kind.Group, tree.EnvironmentsFolder, definitionsFolder)
		first := &u.Environments[t.first]
		first.Problems = manifest.SortProblems(append(first.Problems, t.problem))
	}
}
