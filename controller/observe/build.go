package observe

import (
	"slices"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// build says how the code of the kind by which an object was rendered compares with that of this
// controller, for a sentence; empty where both render the object to the same.
type build string

const (
	sameBuild       build = ""
	otherBuild      build = "Rendered by another build of the kind than the controller's: give render and the controller one build, render the environment, commit and sync"
	olderRendering  build = "The rendering is older than the controller's build of the kind: render the environment with that build, commit and sync"
	olderController build = "The controller's build of the kind is older than the rendering: roll out the controller of the build that rendered it"
)

// compare compares what the object was rendered to with what this controller renders it to. It
// takes for older what stayed since the status last said that both are the same. An object whose
// spec somebody changed in the cluster is no sign of another build.
func (s snapshot) compare(carried, own registry.Rendering) build {
	isOfSpec, isKnown := carried.Spec == own.Spec, s.agreed != ""
	switch {
	case carried == registry.Rendering{} || carried.Objects == own.Objects:
		return sameBuild
	case isKnown && s.agreed != carried.String():
		return olderController
	case isOfSpec && isKnown:
		return olderRendering
	case isOfSpec:
		return otherBuild
	}
	return sameBuild
}

// unobserved returns the kinds of what is rendered that the status does not depend on, sorted.
func unobserved(k kind.Kind) (kinds []string) {
	for _, child := range k.Children() {
		if child.Unobserved {
			kinds = append(kinds, child.GVK.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}
