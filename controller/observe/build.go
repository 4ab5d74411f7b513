package observe

import (
	"slices"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// buildDifference names the older build of a kind, in a sentence for a message: the
// build that rendered an object, or the controller's. It is empty if both expand the object to the
// same objects.
type buildDifference string

const (
	sameBuild  buildDifference = ""
	otherBuild buildDifference = "Rendered by another build of the kind than the controller's: give render and " +
		"the controller one build, render the environment, commit and sync"
	olderRendering buildDifference = "The rendering is older than the controller's build of the kind: render the " +
		"environment with that build, commit and sync"
	olderController buildDifference = "The controller's build of the kind is older than the rendering: roll out the " +
		"controller of the build that rendered it"
)

// compareBuilds compares the committed rendering of the owner with this controller's expansion of
// it. The older of the two is the one unchanged since they last matched. A live spec that differs
// from the committed spec is an edit in the cluster, and no sign of another build.
func (s snapshot) compareBuilds(committed, expanded registry.Rendering) buildDifference {
	isOfSpec, isKnown := committed.Spec == expanded.Spec, s.lastMatch != ""
	switch {
	case committed == registry.Rendering{} || committed.Objects == expanded.Objects:
		return sameBuild
	case isKnown && s.lastMatch != committed.String():
		return olderController
	case isOfSpec && isKnown:
		return olderRendering
	case isOfSpec:
		return otherBuild
	}
	return sameBuild
}

// unobserved returns the child kinds that the status does not depend on, sorted.
func unobserved(k kind.Kind) (kinds []string) {
	for _, child := range k.Children() {
		if child.Unobserved {
			kinds = append(kinds, child.GVK.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}
