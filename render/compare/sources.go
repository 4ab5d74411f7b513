package compare

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
)

// isUnrendered reports whether the commit has the sources of an environment and no rendering of it.
func (b *previousRendering) isUnrendered(name string) bool {
	return b.commit != "" && b.listed[name] == nil && b.base.HasEnvironment(name)
}

// compareSources compares an environment with the rendering of its sources at the commit. Errors that are there as
// well are warnings, and hide no change.
func (b *previousRendering) compareSources(examined *render.Examination, rendering *render.Rendering,
	name string, problems []manifest.Problem, progress func(step string)) (EnvironmentDiff, []manifest.Problem) {
	was, before, known := b.base.ExamineOrGone(name, false, func(step string) { progress("base: " + step) })
	e := EnvironmentDiff{Name: name, Kinds: b.repository.Kinds()}
	problems = withoutKnown(problems, known)
	isComparable := (before != nil || was.IsBuilt()) && (rendering != nil || examined.IsBuilt())
	if manifest.HasErrors(problems) || !isComparable {
		return e, problems
	}
	old, current := sideOf(was, before, &problems), sideOf(examined, rendering, &problems)
	e = withInstalled(b.repository.Kinds(), name, old.objects, current.objects, old.installed, current.installed)
	if examined != nil {
		e.Checker = examined.Checker()
	}
	if rendering == nil {
		return e, problems
	}
	e.PostBuild = rendering.PostBuild
	e.OldCharts, e.Charts = b.charts(rendering), rendering.Charts
	e.Unread = append(e.Unread, b.unread(e.OldCharts, e.Charts)...)
	if before != nil && len(before.Objects) > 0 && len(rendering.Objects) > 0 &&
		before.Index.Kubernetes != rendering.Index.Kubernetes {
		e.Kubernetes = &KubernetesChange{before.Index.Kubernetes, rendering.Index.Kubernetes}
	}
	return e, problems
}

// side has the objects of an environment and those that tools make of them.
type side struct {
	objects   []manifest.Object
	installed []*release.Installed
}

// sideOf returns the objects of a rendering or, after an error, those that were judged.
func sideOf(examined *render.Examination, rendering *render.Rendering, problems *[]manifest.Problem) side {
	if rendering == nil {
		return side{objects: examined.Judged()}
	}
	return side{applied(rendering.PostBuild, rendering.Objects, problems), rendering.Installed}
}

// OldError is the code of an error that the base has as well. It is a warning.
const OldError metav1.CauseType = "OldError"

// withoutKnown returns problems without the warnings that are among known ones, and with their errors as warnings.
func withoutKnown(problems, known []manifest.Problem) []manifest.Problem {
	type key struct{ file, object, field, message string }
	keyOf := func(p manifest.Problem) key { return key{p.File, p.Object, p.Field, p.Message} }
	isKnown := map[key]bool{}
	for _, p := range known {
		isKnown[keyOf(p)] = true
	}
	var others []manifest.Problem
	for _, p := range problems {
		switch {
		case !isKnown[keyOf(p)]:
			others = append(others, p)
		case p.IsError():
			p.Warning, p.Code = true, OldError
			p.Message = fmt.Sprintf("the base has this error as well: %s", p.Message)
			others = append(others, p)
		}
	}
	return slices.Clip(others)
}
