package build

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

// UnmatchedPatches warns of patches of an environment whose target selects nothing, which
// kustomize passes over in silence. The overrides are those in a folder, empty where there
// are none. A component outside of the environment's folder is shared: its patches may be
// of other environments.
func UnmatchedPatches(s *source.Sources, folder, overrides string, built, rendered []object.Object) (warnings []object.Problem) {
	written, made := newCandidates(s, built, overrides), &candidates{sources: s, objects: rendered}
	for _, at := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[at]
		if k.Kind == types.ComponentKind && !isBelow(at, folder) {
			continue
		}
		selectable, other, hint := written, made, "what is rendered is patched in "+path.Join(source.Relative(folder), "overrides")
		if overrides != "" && isBelow(at, overrides) {
			selectable, other, hint = made, written, "what people write is patched in "+source.Relative(folder)+" itself"
		}
		for field, patches := range map[string][]types.Patch{"patches": k.Patches, "patchesJson6902": k.PatchesJson6902} {
			for i, p := range patches {
				if p.Target == nil || selectable.have(p.Target) {
					continue
				}
				what := selectable.correction(*p.Target)
				if other.have(p.Target) {
					what = ": " + hint
				}
				warnings = append(warnings, object.Problem{
					File:    source.Relative(k.File),
					Line:    s.Line(k.File, field, strconv.Itoa(i), "target"),
					Field:   fmt.Sprintf("%s[%d].target", field, i),
					Message: fmt.Sprintf("%s[%d].target: selects nothing, no %s%s", field, i, selectorText(p.Target), what),
					Warning: true,
				})
			}
		}
	}
	return warnings
}

// isBelow says whether a folder is another or below it.
func isBelow(folder, other string) bool {
	return folder == other || strings.HasPrefix(folder, other+"/")
}

// selectorText is what a selector asks for, as people say it.
func selectorText(target *types.Selector) string {
	text := cmp.Or(target.Kind, "object")
	if target.Name != "" {
		text += " " + path.Join(target.Namespace, target.Name)
	} else if target.Namespace != "" {
		text += " in namespace " + target.Namespace
	}
	if target.Group+target.Version != "" {
		text += " of " + strings.Trim(target.Group+"/"+target.Version, "/")
	}
	for _, with := range []struct{ what, selector string }{{"labels", target.LabelSelector}, {"annotations", target.AnnotationSelector}} {
		if with.selector != "" {
			text += fmt.Sprintf(" with %s %s", with.what, with.selector)
		}
	}
	return text
}

// candidates are what patches may select: objects as they were built, and documents as they
// were written, since a patch may remove what it selects or make another of it.
type candidates struct {
	sources *source.Sources
	objects []object.Object
	// affixes are what names may begin and end with when a patch sees them, namespaces
	// those that objects may be in then, and added the labels and annotations that they
	// may have.
	affixes    [][2]string
	namespaces []string
	added      []labels.Set
	documents  []source.Document

	all    []candidate // once they are needed
	byName map[string][]candidate
}

// candidate is what selectors ask about.
type candidate struct {
	gvk                 resid.Gvk
	names, namespaces   []string
	labels, annotations labels.Set
}

// newCandidates are those of an environment, built from all but the overrides.
func newCandidates(s *source.Sources, built []object.Object, overrides string) *candidates {
	c := &candidates{sources: s, objects: built}
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[folder]
		if overrides != "" && isBelow(folder, overrides) {
			continue
		}
		if k.NamePrefix+k.NameSuffix != "" {
			c.affixes = append(c.affixes, [2]string{k.NamePrefix, k.NameSuffix})
		}
		if k.Namespace != "" {
			c.namespaces = append(c.namespaces, k.Namespace)
		}
		for _, pairs := range addedMetadata(k) {
			c.added = append(c.added, pairs)
		}
		c.documents = append(c.documents, filter(s.Documents(k.File), func(d source.Document) bool { return !d.IsInline() })...) // what it generates
	}
	for _, m := range s.Manifests {
		for _, text := range m.Texts {
			c.documents = append(c.documents, text.Objects...)
		}
	}
	return c
}

// read takes objects and documents for what selectors ask about.
func (c *candidates) read() {
	if c.byName != nil {
		return
	}
	c.byName = map[string][]candidate{}
	for _, o := range c.objects {
		c.add(gvkOf(o.GroupVersionKind()), o.GetName(), o.GetNamespace(), o.GetLabels(), o.GetAnnotations())
	}
	for _, d := range c.documents {
		c.add(resid.NewGvk(d.Group, path.Base(d.APIVersion), d.Kind), d.Name, d.Namespace, d.Labels(), d.Annotations())
	}
}

func (c *candidates) add(gvk resid.Gvk, name, namespace string, labels, annotations map[string]string) {
	one := candidate{gvk: gvk, names: []string{name}, namespaces: append([]string{cmp.Or(namespace, "default")}, c.namespaces...), labels: labels, annotations: annotations}
	for _, affix := range c.affixes {
		one.names = append(one.names, affix[0]+name+affix[1], strings.TrimSuffix(strings.TrimPrefix(name, affix[0]), affix[1]))
	}
	c.all = append(c.all, one)
	for _, name := range unique(one.names) {
		c.byName[name] = append(c.byName[name], one)
	}
}

// have says whether a target selects any of the candidates.
func (c *candidates) have(target *types.Selector) bool {
	regex, err := types.NewSelectorRegex(target)
	if err != nil {
		return true // kustomize says what is wrong
	}
	withLabels, err := labels.ParseToRequirements(target.LabelSelector)
	if err != nil {
		return true
	}
	withAnnotations, err := labels.ParseToRequirements(target.AnnotationSelector)
	if err != nil {
		return true
	}
	c.read()
	selects := func(one candidate) bool {
		return regex.MatchGvk(one.gvk) && slices.ContainsFunc(one.names, regex.MatchName) && slices.ContainsFunc(one.namespaces, regex.MatchNamespace) &&
			c.mayMeet(withLabels, one.labels) && c.mayMeet(withAnnotations, one.annotations)
	}
	return slices.ContainsFunc(c.byName[target.Name], selects) || slices.ContainsFunc(c.all, selects)
}

// mayMeet says whether labels or annotations, or those that kustomizations add, meet
// requirements.
func (c *candidates) mayMeet(requirements []labels.Requirement, has labels.Set) bool {
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return !r.Matches(has) && !slices.ContainsFunc(c.added, func(added labels.Set) bool { return r.Matches(added) })
	})
}

// correction says what to do about a target that selects nothing.
func (c *candidates) correction(target types.Selector) string {
	anyVersion, anyNamespace := target, target
	anyVersion.Group, anyVersion.Version, anyNamespace.Namespace = "", "", ""
	switch {
	case c.have(&anyVersion):
		return ": correct its group or version, or remove the patch"
	case c.have(&anyNamespace):
		return ": correct its namespace, or remove the patch"
	}
	hint, names := "", c.namesOf(target.Kind)
	if target.Name != "" && !slices.Contains(names, target.Name) {
		hint = object.DidYouMean(target.Name, names)
	}
	return cmp.Or(hint, ": correct it, or remove the patch")
}

// namesOf are the names of the candidates of a kind; empty is any.
func (c *candidates) namesOf(kind string) (names []string) {
	for _, one := range c.all {
		if kind == "" || one.gvk.Kind == kind {
			names = append(names, one.names[0])
		}
	}
	return names
}
