package kustomize

import (
	"cmp"
	"errors"
	"path"
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
	return candidate{
		gvk: gvkOf(o.GroupVersionKind()), identities: []identity{{o.GetName(), o.NamespaceOrDefault()}},
		labels: o.GetLabels(), annotations: o.GetAnnotations(),
	}
}

// candidate returns the object of a way as the kustomization in one of its folders may see it.
func (w *Ways) candidate(way Way, folder int) candidate {
	d := way.Document
	c := candidate{gvk: documentGVK(d), identities: w.identities(way, folder+1), labels: d.Labels(), annotations: d.Annotations()}
	for _, at := range way.Folders[:folder+1] {
		for _, pairs := range w.addedMetadata(w.sources.Kustomizations[at]) {
			c.added = append(c.added, pairs)
		}
	}
	return c
}

func gvkOf(gvk schema.GroupVersionKind) resid.Gvk {
	return resid.Gvk{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
}

func documentGVK(d source.Document) resid.Gvk {
	return resid.NewGvk(d.Group, path.Base(d.APIVersion), d.Kind)
}

// has reports whether a candidate may have an identity that passes a test.
func (c candidate) has(test func(identity) bool) bool {
	return c.identities == nil || slices.ContainsFunc(c.identities, test)
}

// isNamed reports whether a candidate has a name in a namespace, empty for the default one.
func (c candidate) isNamed(name, namespace string) bool {
	return c.has(func(id identity) bool {
		return id.name == name && (id.namespace == cmp.Or(namespace, defaultNamespace) || c.gvk.IsClusterScoped())
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
	kind                *types.SelectorRegex // by the kind alone
}

func newSelector(target *types.Selector) (*selector, error) {
	regex, err := types.NewSelectorRegex(target)
	kind, kindErr := types.NewSelectorRegex(&types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: target.Kind}}})
	withLabels, labelsErr := labels.ParseToRequirements(target.LabelSelector)
	withAnnotations, annotationsErr := labels.ParseToRequirements(target.AnnotationSelector)
	if err := errors.Join(err, kindErr, labelsErr, annotationsErr); err != nil {
		return nil, err
	}
	return &selector{regex, target.Name, withLabels, withAnnotations, kind}, nil
}

// plainName matches names that are not regular expressions.
var plainName = regexp.MustCompile(`^[a-z0-9-]+$`)

// selects reports whether the selector may select a candidate.
func (s *selector) selects(c candidate) bool {
	isPlain := plainName.MatchString(s.name)
	return s.MatchGvk(c.gvk) &&
		c.has(func(id identity) bool { return id.name == s.name || !isPlain && s.MatchName(id.name) }) &&
		c.has(func(id identity) bool { return s.MatchNamespace(id.namespace) }) &&
		c.mayMeet(s.labels, c.labels) && c.mayMeet(s.annotations, c.annotations)
}

// selectsKind reports whether the selector may select an object of a kind.
func (s *selector) selectsKind(kind string) bool { return s.kind.MatchGvk(resid.Gvk{Kind: kind}) }
