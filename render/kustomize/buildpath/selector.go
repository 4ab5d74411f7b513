package buildpath

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// Candidate is an object that patches and generators of a kustomization may change: with all of its
// identities and metadata up to there.
type Candidate struct {
	GVK resid.Gvk
	// Built is the built object, if it is known.
	Built manifest.Object
	// Path is its build path, and Index the index of the folder there, if they are known.
	Path  *Path
	Index int

	identities []Identity // without a path; nil if they are unknown
	paths      *Paths     // of the path
	// transformed is the number of folders whose other fields than patches changed it: all, or all but the last.
	transformed int
}

// NewCandidate returns a built object as a candidate.
func NewCandidate(o manifest.Object) Candidate {
	id := IDOf(o)
	return Candidate{GVK: id.Gvk, Built: o, identities: []Identity{id.Identity}}
}

// Candidate returns the object of a path as the kustomization in path.Folders[i] may see it.
func (p *Paths) Candidate(path *Path, i int) Candidate {
	return Candidate{GVK: path.GVK, Path: path, Index: i, paths: p, transformed: i + 1}
}

// Identities returns the identities of the candidate, or nil if they are unknown. Patches come before the other fields
// of their kustomization, and compare the first and the last identity.
func (c Candidate) Identities() []Identity {
	switch {
	case c.Path == nil:
		return c.identities
	case c.transformed > c.Index:
		return c.Path.Identities(c.Index + 1)
	}
	before := c.Path.Steps[c.Index]
	return []Identity{c.Path.Steps[0][0], before[len(before)-1]}
}

// added returns sets that may be added to the labels and to the annotations of the candidate: by kustomizations, and by
// patches of the built object.
func (c Candidate) added() (sets []map[string]string) {
	if c.Path == nil {
		return nil
	}
	isLater := map[string]bool{}
	for i, folder := range c.Path.Folders {
		k := c.paths.Sources.Kustomizations[folder]
		if i <= c.Index {
			sets = append(sets, c.paths.generatedMetadata(k)...)
		}
		if i < c.transformed {
			sets = append(sets, transformerMetadata(k)...)
			continue
		}
		for _, pairs := range transformerMetadata(k) {
			for key := range pairs {
				isLater[key] = !c.paths.mentioned()[key]
			}
		}
	}
	if c.Built.Unstructured != nil {
		for _, pairs := range []map[string]string{c.Built.GetLabels(), c.Built.GetAnnotations()} {
			maps.DeleteFunc(pairs, func(key, _ string) bool { return isLater[key] })
			sets = append(sets, pairs)
		}
	}
	return sets
}

// findMentioned returns the texts in all patches, and the last keys of JSON pointers: labels and annotations that
// patches may set are among them.
func (p *Paths) findMentioned() map[string]bool {
	mentioned := map[string]bool{}
	for _, patches := range p.Patches {
		for _, patch := range patches {
			for _, d := range patch.Documents {
				for value := range d.Values() {
					mentioned[value] = true
					if strings.HasPrefix(value, "/") {
						keys := node.JSONPointer(value)
						mentioned[keys[len(keys)-1]] = true
					}
				}
			}
		}
	}
	return mentioned
}

// AddedMetadata returns the labels and annotations that a kustomization adds to objects. They are not
// kept apart, since its configurations may turn one into the other.
func (p *Paths) AddedMetadata(k *source.Kustomization) []map[string]string {
	return append(transformerMetadata(k), p.generatedMetadata(k)...)
}

// transformerMetadata returns the labels and annotations that a kustomization adds to all objects.
func transformerMetadata(k *source.Kustomization) []map[string]string {
	added := make([]map[string]string, 0, 2+len(k.Labels))
	added = append(added, k.CommonLabels, k.CommonAnnotations)
	for _, label := range k.Labels {
		added = append(added, label.Pairs)
	}
	return added
}

// generatedMetadata returns the labels and annotations that a kustomization adds to the objects that it generates.
func (p *Paths) generatedMetadata(k *source.Kustomization) (added []map[string]string) {
	add := func(options *types.GeneratorOptions) {
		if options != nil {
			added = append(added, options.Labels, options.Annotations)
		}
	}
	add(k.GeneratorOptions)
	for _, g := range p.Generators[k.Folder] {
		add(g.Options)
	}
	return added
}

// isNamed reports whether the candidate may have a name in a namespace. An empty namespace is the
// default one.
func (c Candidate) isNamed(name, namespace string) bool {
	identities := c.Identities()
	return identities == nil || slices.Contains(identities, NewIdentity(c.GVK, name, namespace))
}

func (c Candidate) metadata() (labels, annotations map[string]string) {
	if c.Path != nil {
		return c.Path.Document.Labels(), c.Path.Document.Annotations()
	}
	return c.Built.GetLabels(), c.Built.GetAnnotations()
}

// Selector selects the targets of a patch or of a replacement.
type Selector struct {
	*types.SelectorRegex
	name, namespace     string
	labels, annotations labels.Requirements
	matches             sync.Map // caches MatchGvk
}

// NewSelector compiles the target of a patch or of a replacement.
func NewSelector(target *types.Selector) (*Selector, error) {
	regex, err := types.NewSelectorRegex(target)
	withLabels, labelsErr := labels.ParseToRequirements(target.LabelSelector)
	withAnnotations, annotationsErr := labels.ParseToRequirements(target.AnnotationSelector)
	if err := errors.Join(err, labelsErr, annotationsErr); err != nil {
		return nil, err
	}
	return &Selector{SelectorRegex: regex, name: target.Name, namespace: target.Namespace, labels: withLabels,
		annotations: withAnnotations}, nil
}

// Selects reports whether the selector may select a candidate.
func (s *Selector) Selects(c Candidate) bool {
	switch {
	case !s.MatchGvk(c.GVK) || !s.selectsIdentity(c.Identities()):
		return false
	case len(s.labels)+len(s.annotations) == 0:
		return true
	}
	added := slices.Clip(c.added())
	ownLabels, ownAnnotations := c.metadata()
	return meets(s.labels, append(added, ownLabels)) && meets(s.annotations, append(added, ownAnnotations))
}

// meets reports whether each requirement is met by one of some sets.
func meets(requirements labels.Requirements, sets []map[string]string) bool {
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return !slices.ContainsFunc(sets, func(set map[string]string) bool { return r.Matches(labels.Set(set)) })
	})
}

// MatchGvk reports whether the selector selects a kind.
func (s *Selector) MatchGvk(gvk resid.Gvk) bool {
	matches, isKnown := s.matches.Load(gvk)
	if !isKnown {
		matches = s.SelectorRegex.MatchGvk(gvk)
		s.matches.Store(gvk, matches)
	}
	return matches.(bool)
}

// plainName matches names that are not regular expressions.
var plainName = regexp.MustCompile(`^[a-z0-9-]+$`)

// selectsIdentity reports whether the selector may select an object with some identities, nil if they are unknown.
// kustomize compares the first and the last of them.
func (s *Selector) selectsIdentity(identities []Identity) bool {
	isPlain := plainName.MatchString(s.name)
	return identities == nil || slices.ContainsFunc(identities, func(id Identity) bool {
		return id.Name == s.name || !isPlain && s.MatchName(id.Name)
	}) &&
		slices.ContainsFunc(identities, func(id Identity) bool { return s.MatchNamespace(id.Namespace) })
}

// MatchesNamespaces reports whether the selector may match a namespace by a pattern: of a namespaced object, or of a
// Namespace, whose name is its namespace.
func (s *Selector) MatchesNamespaces() bool {
	isPattern := s.name != "" && !plainName.MatchString(s.name)
	return s.namespace != "" || isPattern && s.MatchGvk(resid.NewGvk("", "v1", "Namespace"))
}

// MaySelect reports whether the selector may select an object with some identities: any object if it is nil. It ignores
// labels and annotations.
func (s *Selector) MaySelect(gvk resid.Gvk, identities []Identity) bool {
	return s == nil || s.MatchGvk(gvk) && s.selectsIdentity(identities)
}
