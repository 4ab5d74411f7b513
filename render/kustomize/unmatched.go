package kustomize

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// UnmatchedPatches warns of patches of an environment whose target selects nothing, which
// kustomize ignores. The overrides are those in a folder, empty where there are none. A
// component outside of the environment's folder is shared: its patches may be for other
// environments.
func UnmatchedPatches(s *source.Sources, folder, overrides string, built, rendered []manifest.Object) (warnings []manifest.Problem) {
	written := newCandidates(s, folder, built)
	made := make([]candidate, 0, len(rendered))
	for _, o := range rendered {
		made = append(made, newCandidate(o))
	}
	for _, at := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[at]
		if k.Kind == types.ComponentKind && !isBelow(at, folder) {
			continue
		}
		selectable, other, hint := written[at], made, "what is rendered is patched in "+path.Join(source.Relative(folder), "overrides")
		if overrides != "" && isBelow(at, overrides) {
			selectable, other, hint = made, written[folder], "what people write is patched in "+source.Relative(folder)+" itself"
		}
		for field, patches := range map[string][]types.Patch{"patches": k.Patches, "patchesJson6902": k.PatchesJson6902} {
			for i, p := range patches {
				if p.Target == nil || selectsAny(p.Target, selectable) {
					continue
				}
				what := "correct it, or remove the patch"
				if selectsAny(p.Target, other) {
					what = hint
				}
				warnings = append(warnings, manifest.Problem{
					File:    source.Relative(k.File),
					Line:    s.Line(k.File, field, strconv.Itoa(i), "target"),
					Field:   fmt.Sprintf("%s[%d].target", field, i),
					Message: fmt.Sprintf("%s[%d].target: selects nothing: %s", field, i, what),
					Warning: true,
				})
			}
		}
	}
	return warnings
}

// isBelow reports whether a folder is another or below it.
func isBelow(folder, other string) bool {
	return folder == other || strings.HasPrefix(folder, other+"/")
}

// candidate is what selectors ask about an object: all that it is on its way, until a
// kustomization patches it.
type candidate struct {
	gvk                 resid.Gvk
	names, namespaces   []string // none where a name may be any
	labels, annotations labels.Set
	added               []labels.Set // what may have been added to either

	// See addTexts.
	texts        []string
	isNamespaced bool
}

// newCandidate returns a built object as a candidate.
func newCandidate(o manifest.Object) candidate {
	return candidate{
		gvk: gvkOf(o.GroupVersionKind()), names: []string{o.GetName()}, namespaces: []string{o.NamespaceOrDefault()},
		labels: o.GetLabels(), annotations: o.GetAnnotations(),
	}
}

// candidate returns the object of a way as the kustomization in one of its folders may see it.
func (w *Ways) candidate(way Way, folder int) candidate {
	d := way.Document
	c := candidate{gvk: resid.NewGvk(d.Group, path.Base(d.APIVersion), d.Kind), names: way.names[:folder+2], labels: d.Labels(), annotations: d.Annotations()}
	for _, namespace := range way.namespaces[:folder+2] {
		c.namespaces = append(c.namespaces, cmp.Or(namespace, defaultNamespace))
	}
	for _, at := range way.Folders[:folder+1] {
		for _, pairs := range addedMetadata(w.sources.Kustomizations[at]) {
			c.added = append(c.added, pairs)
		}
	}
	return c
}

// newCandidates returns the candidates of the patches in each folder that has some with a
// target, and of the outermost folder: the objects that come through it, and what was built
// and has no way of its own.
func newCandidates(s *source.Sources, folder string, built []manifest.Object) map[string][]candidate {
	candidates := map[string][]candidate{}
	hasTargets := func(folder string) bool {
		k := s.Kustomizations[folder]
		return slices.ContainsFunc(slices.Concat(k.Patches, k.PatchesJson6902), func(p types.Patch) bool { return p.Target != nil })
	}
	ways := FindWays(s, folder)
	builtFrom := map[*Way]manifest.Object{}
	for _, o := range built {
		if way := ways.Find(o); way != nil {
			builtFrom[way] = o
			continue
		}
		c := newCandidate(o)
		c.names, c.namespaces = nil, nil
		for at := range s.Kustomizations {
			candidates[at] = append(candidates[at], c)
		}
	}
	for n, way := range ways.All {
		for i, at := range way.Folders {
			if at != folder && !hasTargets(at) {
				continue
			}
			c := ways.candidate(way, i)
			if o, ok := builtFrom[&ways.All[n]]; ok {
				c.added = append(c.added, o.GetLabels(), o.GetAnnotations())
			}
			candidates[at] = append(candidates[at], c)
		}
	}
	return candidates
}

// selector is a target of a patch.
type selector struct {
	*types.Selector
	regex               *types.SelectorRegex
	labels, annotations labels.Requirements
}

func newSelector(target *types.Selector) (*selector, error) {
	regex, err := types.NewSelectorRegex(target)
	withLabels, labelsErr := labels.ParseToRequirements(target.LabelSelector)
	withAnnotations, annotationsErr := labels.ParseToRequirements(target.AnnotationSelector)
	if err := errors.Join(err, labelsErr, annotationsErr); err != nil {
		return nil, err
	}
	return &selector{target, regex, withLabels, withAnnotations}, nil
}

// plainName matches names that are not regular expressions.
var plainName = regexp.MustCompile(`^[a-z0-9-]+$`)

// selects reports whether the selector may select a candidate.
func (s *selector) selects(c candidate) bool {
	isNamed := c.names == nil || s.Name == "" || slices.Contains(c.names, s.Name) || !plainName.MatchString(s.Name) && slices.ContainsFunc(c.names, s.regex.MatchName)
	return isNamed && s.regex.MatchGvk(c.gvk) && (c.namespaces == nil || slices.ContainsFunc(c.namespaces, s.regex.MatchNamespace)) &&
		c.mayMeet(s.labels, c.labels) && c.mayMeet(s.annotations, c.annotations)
}

// mayMeet reports whether labels or annotations, or those that kustomizations add, meet
// requirements.
func (c candidate) mayMeet(requirements labels.Requirements, has labels.Set) bool {
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return !r.Matches(has) && !slices.ContainsFunc(c.added, func(added labels.Set) bool { return r.Matches(added) })
	})
}

// selectsAny reports whether a target may select any of some candidates; true for one that is
// malformed, which kustomize reports.
func selectsAny(target *types.Selector, candidates []candidate) bool {
	s, err := newSelector(target)
	return err != nil || slices.ContainsFunc(candidates, s.selects)
}
