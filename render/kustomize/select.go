package kustomize

import (
	"errors"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// candidate is what patches and generators ask about an object: all that it is on its way, until
// their kustomization changes it.
type candidate struct {
	gvk                 resid.Gvk
	identities          []identity // none where it may have any
	labels, annotations labels.Set
	added               []labels.Set // what may have been added to either
}

// newCandidate returns a built object as a candidate.
func newCandidate(o manifest.Object) candidate {
	gvk := gvkOf(o.GroupVersionKind())
	return candidate{
		gvk: gvk, identities: []identity{newIdentity(gvk, o.GetName(), o.GetNamespace())},
		labels: o.GetLabels(), annotations: o.GetAnnotations(),
	}
}

// candidate returns the object of a way as the kustomization in one of its folders may see it.
func (w *Ways) candidate(way Way, folder int) candidate {
	d := way.Document
	c := candidate{gvk: way.gvk, identities: way.identities(folder + 1), labels: d.Labels(), annotations: d.Annotations()}
	for _, at := range way.Folders[:folder+1] {
		for _, pairs := range w.addedMetadata(w.sources.Kustomizations[at]) {
			c.added = append(c.added, pairs)
		}
	}
	return c
}

func gvkOf(gvk schema.GroupVersionKind) resid.Gvk {
	return resid.NewGvk(gvk.Group, gvk.Version, gvk.Kind)
}

func documentGVK(d source.Document) resid.Gvk {
	group, version := resid.ParseGroupVersion(d.APIVersion)
	return resid.NewGvk(group, version, d.Kind)
}

// has reports whether a candidate may have an identity that passes a test.
func (c candidate) has(test func(identity) bool) bool {
	return c.identities == nil || slices.ContainsFunc(c.identities, test)
}

// isNamed reports whether a candidate has a name in a namespace, empty for the default one.
func (c candidate) isNamed(name, namespace string) bool {
	return c.has(func(id identity) bool {
		return id == newIdentity(c.gvk, name, namespace)
	})
}

// mayMeet reports whether labels or annotations, or those that kustomizations add, meet
// requirements.
func (c candidate) mayMeet(requirements labels.Requirements, has labels.Set) bool {
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return !r.Matches(has) && !slices.ContainsFunc(c.added, func(added labels.Set) bool { return r.Matches(added) })
	})
}

// selector is a target of a patch, or of a replacement.
type selector struct {
	*types.SelectorRegex
	name                string
	labels, annotations labels.Requirements
	kinds               map[resid.Gvk]bool // that were asked for, and whether they match
}

func newSelector(target *types.Selector) (*selector, error) {
	regex, err := types.NewSelectorRegex(target)
	withLabels, labelsErr := labels.ParseToRequirements(target.LabelSelector)
	withAnnotations, annotationsErr := labels.ParseToRequirements(target.AnnotationSelector)
	if err := errors.Join(err, labelsErr, annotationsErr); err != nil {
		return nil, err
	}
	return &selector{regex, target.Name, withLabels, withAnnotations, map[resid.Gvk]bool{}}, nil
}

// plainName matches names that are not regular expressions.
var plainName = regexp.MustCompile(`^[a-z0-9-]+$`)

// selects reports whether the selector may select a candidate.
func (s *selector) selects(c candidate) bool {
	return s.MatchGvk(c.gvk) && (c.identities == nil || s.selectsIdentity(c.identities)) &&
		c.mayMeet(s.labels, c.labels) && c.mayMeet(s.annotations, c.annotations)
}

// selectsIdentity reports whether the selector may select an object that has had some identities:
// kustomize compares the first and the last.
func (s *selector) selectsIdentity(identities []identity) bool {
	isPlain := plainName.MatchString(s.name)
	return slices.ContainsFunc(identities, func(id identity) bool { return id.name == s.name || !isPlain && s.MatchName(id.name) }) &&
		slices.ContainsFunc(identities, func(id identity) bool { return s.MatchNamespace(id.namespace) })
}

// mayChange reports whether the selector may select an object of a kind that has had some
// identities, whatever its labels. It may not be called concurrently.
func (s *selector) mayChange(gvk resid.Gvk, identities []identity) bool {
	matches, isKnown := s.kinds[gvk]
	if !isKnown {
		matches = s.MatchGvk(gvk)
		s.kinds[gvk] = matches
	}
	return matches && s.selectsIdentity(identities)
}
