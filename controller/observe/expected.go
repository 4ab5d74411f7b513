package observe

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// matchKey matches an expected object with live objects: its kind and name. The name of an
// immutable object is without its hash.
type matchKey struct {
	schema.GroupKind
	name string
}

// expandObserved returns the rendered objects that the owner's status depends on, sorted.
func expandObserved(k kind.Kind, owner kind.Object) ([]registry.Child, registry.Rendering, error) {
	rendered, err := registry.Expand(&k, owner)
	slices.SortFunc(rendered.Observed, byName)
	return rendered.Observed, rendered.Rendering, err
}

func byName(a, b registry.Child) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
}

// presentChildren returns the live rendered objects that are not being deleted, in the form of
// expected objects, sorted.
func presentChildren(k kind.Kind, children []kind.Object) (all []registry.Child) {
	for _, o := range renderedOf(children) {
		if o.GetDeletionTimestamp() == nil {
			key := keyOf(k, o)
			all = append(all, registry.Child{GroupKind: key.GroupKind, Name: key.name,
				Digest: o.GetAnnotations()[kind.DigestAnnotation]})
		}
	}
	slices.SortFunc(all, byName)
	return all
}

// renderedOf returns the rendered objects among the children. Other children, like the Pods of a
// Deployment, have a controller as owner.
func renderedOf(children []kind.Object) []kind.Object {
	return slices.DeleteFunc(slices.Clone(children), func(o kind.Object) bool {
		return metav1.GetControllerOf(o) != nil
	})
}

func keyOf(k kind.Kind, o kind.Object) matchKey {
	key := matchKey{o.GetObjectKind().GroupVersionKind().GroupKind(), o.GetName()}
	if child := k.Observes(key.GroupKind); child != nil && child.Immutable {
		key.name = beforeHash(key.name)
	}
	return key
}

// match pairs each expected object with its live object, or nil if it is missing. It also returns
// the rendered objects that are not expected, sorted.
func match(k kind.Kind, all []registry.Child, children []kind.Object) (found, leftOver []kind.Object) {
	rendered := renderedOf(children)
	slices.SortFunc(rendered, newestFirst)
	byID := map[matchKey][]kind.Object{}
	for _, o := range rendered {
		key := keyOf(k, o)
		byID[key] = append(byID[key], o)
	}
	found = make([]kind.Object, len(all))
	taken := map[kind.Object]bool{}
	for i, e := range all {
		if o := bestMatch(e, byID[matchKey{e.GroupKind, e.Name}]); o != nil {
			found[i] = o
			taken[o] = true
		}
	}
	leftOver = slices.DeleteFunc(rendered, func(o kind.Object) bool { return taken[o] })
	slices.SortFunc(leftOver, func(a, b kind.Object) int { return cmp.Compare(describe(a), describe(b)) })
	return found, leftOver
}

// bestMatch returns the live object that was rendered from the current spec, or else
// the newest stale object that is not being deleted. Objects are sorted newest first.
func bestMatch(e registry.Child, objects []kind.Object) (stale kind.Object) {
	for _, o := range objects {
		switch {
		case !isStale(e, o):
			return o
		case stale == nil && o.GetDeletionTimestamp() == nil:
			stale = o
		}
	}
	return stale
}

func isStale(e registry.Child, o kind.Object) bool {
	return o.GetAnnotations()[kind.DigestAnnotation] != e.Digest
}

// newestFirst orders objects by age. Objects that are being deleted come last.
func newestFirst(a, b kind.Object) int {
	if terminating := a.GetDeletionTimestamp() != nil; terminating != (b.GetDeletionTimestamp() != nil) {
		if terminating {
			return 1
		}
		return -1
	}
	return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time),
		cmp.Compare(a.GetName(), b.GetName()))
}

// beforeHash returns a name without its hash; empty for a name without a hash.
func beforeHash(name string) string {
	before := name[:max(strings.LastIndexByte(name, '-'), 0)]
	if !registry.IsHashName(name, before) {
		return ""
	}
	return before
}

func describe(o kind.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetName()
}

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
	isOfSpec := committed.Spec == expanded.Spec
	isKnown := s.lastMatch != ""
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
