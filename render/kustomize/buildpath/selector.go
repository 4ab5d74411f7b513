package buildpath

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

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
	GVK        resid.Gvk
	Identities []Identity // nil if they are unknown
	// Added are sets that may be added to the labels and to the annotations.
	Added               []labels.Set
	labels, annotations labels.Set
	// Before is the candidate before other fields than patches of the kustomization change it, if that differs.
	Before *Candidate
	// Path is its build path, and Index that of the folder there, if they are known.
	Path  *Path
	Index int
}

// NewCandidate returns a built object as a candidate.
func NewCandidate(o manifest.Object) Candidate {
	id := IDOf(o)
	return Candidate{GVK: id.Gvk, Identities: []Identity{id.Identity}, labels: o.GetLabels(),
		annotations: o.GetAnnotations()}
}

// Candidate returns the object of a path as the kustomization in path.Folders[i] may see it.
func (p *Paths) Candidate(path Path, i int) Candidate {
	d := path.Document
	c := Candidate{GVK: path.GVK, Identities: path.Identities(i + 1), labels: d.Labels(), annotations: d.Annotations()}
	for _, folder := range path.Folders[:i+1] {
		for _, pairs := range p.AddedMetadata(p.Sources.Kustomizations[folder]) {
			c.Added = append(c.Added, pairs)
		}
	}
	return c
}

// BeforePatches returns the object of a path as the patches of path.Folders[i] see it: kustomize compares its first and
// its last identity, before namespace, namePrefix, nameSuffix, labels and annotations of that kustomization. If it
// is known, built has the labels and annotations that other patches may have added, which are among mentioned.
func (p *Paths) BeforePatches(path Path, i int, built manifest.Object, mentioned map[string]bool) Candidate {
	c := p.Candidate(path, i)
	before := path.Steps[i]
	c.Identities = []Identity{path.Steps[0][0], before[len(before)-1]}
	c.Added = nil
	for _, folder := range path.Folders[:i] {
		c.Added = append(c.Added, toSets(p.AddedMetadata(p.Sources.Kustomizations[folder]))...)
	}
	c.Added = append(c.Added, toSets(p.generatedMetadata(p.Sources.Kustomizations[path.Folders[i]]))...)
	if built.Unstructured == nil {
		return c
	}
	for _, pairs := range []labels.Set{built.GetLabels(), built.GetAnnotations()} {
		for _, folder := range path.Folders[i:] {
			for _, later := range transformerMetadata(p.Sources.Kustomizations[folder]) {
				maps.DeleteFunc(pairs, func(key, _ string) bool {
					_, isLater := later[key]
					return isLater && !mentioned[key]
				})
			}
		}
		c.Added = append(c.Added, pairs)
	}
	return c
}

// Mentioned returns the texts in all patches, and the last keys of JSON pointers: labels and annotations that patches
// may set are among them.
func (p *Paths) Mentioned() map[string]bool {
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

func toSets(all []map[string]string) (sets []labels.Set) {
	for _, pairs := range all {
		sets = append(sets, pairs)
	}
	return sets
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
	return c.Identities == nil || slices.Contains(c.Identities, NewIdentity(c.GVK, name, namespace))
}

// mayMeet reports whether the candidate's labels or annotations, or added ones, meet requirements.
func (c Candidate) mayMeet(requirements labels.Requirements, own labels.Set) bool {
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return !r.Matches(own) && !slices.ContainsFunc(c.Added, func(added labels.Set) bool { return r.Matches(added) })
	})
}

// Selector selects the targets of a patch or of a replacement.
type Selector struct {
	*types.SelectorRegex
	name, namespace     string
	labels, annotations labels.Requirements
	matches             map[resid.Gvk]bool // caches MatchGvk
}

// NewSelector compiles the target of a patch or of a replacement.
func NewSelector(target *types.Selector) (*Selector, error) {
	regex, err := types.NewSelectorRegex(target)
	withLabels, labelsErr := labels.ParseToRequirements(target.LabelSelector)
	withAnnotations, annotationsErr := labels.ParseToRequirements(target.AnnotationSelector)
	if err := errors.Join(err, labelsErr, annotationsErr); err != nil {
		return nil, err
	}
	return &Selector{regex, target.Name, target.Namespace, withLabels, withAnnotations, map[resid.Gvk]bool{}}, nil
}

// Selects reports whether the selector may select a candidate.
func (s *Selector) Selects(c Candidate) bool {
	return s.MatchGvk(c.GVK) && (c.Identities == nil || s.selectsIdentity(c.Identities)) &&
		c.mayMeet(s.labels, c.labels) && c.mayMeet(s.annotations, c.annotations)
}

// plainName matches names that are not regular expressions.
var plainName = regexp.MustCompile(`^[a-z0-9-]+$`)

// selectsIdentity reports whether the selector may select an object with some identities. kustomize
// compares the first and the last of them.
func (s *Selector) selectsIdentity(identities []Identity) bool {
	isPlain := plainName.MatchString(s.name)
	return slices.ContainsFunc(identities, func(id Identity) bool {
		return id.Name == s.name || !isPlain && s.MatchName(id.Name)
	}) &&
		slices.ContainsFunc(identities, func(id Identity) bool { return s.MatchNamespace(id.Namespace) })
}

// HasNamespace reports whether the selector selects namespaces.
func (s *Selector) HasNamespace() bool { return s.namespace != "" }

// HasPattern reports whether the selector has a pattern of names.
func (s *Selector) HasPattern() bool { return s.name != "" && !plainName.MatchString(s.name) }

// MaySelect reports whether the selector may select an object with some identities. It ignores labels
// and annotations, and is not safe for concurrent use.
func (s *Selector) MaySelect(gvk resid.Gvk, identities []Identity) bool {
	matches, isKnown := s.matches[gvk]
	if !isKnown {
		matches = s.MatchGvk(gvk)
		s.matches[gvk] = matches
	}
	return matches && s.selectsIdentity(identities)
}
