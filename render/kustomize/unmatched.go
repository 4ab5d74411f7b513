package kustomize

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// UnmatchedPatches warns of patches of an environment whose target selects nothing, which
// kustomize ignores. The overrides are those in a folder, empty where there are none. A
// component outside of the environment's folder is shared: its patches may be for other
// environments.
func (w *Ways) UnmatchedPatches(overrides string, built, rendered []manifest.Object) (warnings []manifest.Problem) {
	s, folder := w.sources, w.folder
	if !slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(w.patches))...), func(p patch) bool { return p.Target != nil }) {
		return nil
	}
	written := w.candidates(built)
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
		for _, p := range w.patches[k.Folder] {
			if p.Target == nil || slices.ContainsFunc(selectable, p.selects) {
				continue
			}
			what := "correct it, or remove the patch"
			if slices.ContainsFunc(other, p.selects) {
				what = hint
			}
			warnings = append(warnings, manifest.Problem{
				File:    source.Relative(k.File),
				Line:    s.Line(k.File, p.field, strconv.Itoa(p.index), "target"),
				Field:   p.path() + ".target",
				Message: p.path() + ".target: selects nothing: " + what,
				Warning: true,
			})
		}
	}
	return warnings
}

// isBelow reports whether a folder is another or below it.
func isBelow(folder, other string) bool {
	return folder == other || strings.HasPrefix(folder, other+"/")
}

// candidates returns the candidates of the patches in each folder that has some with a target,
// and of the outermost folder: the objects that come through it, and what was built and has no
// way of its own.
func (w *Ways) candidates(built []manifest.Object) map[string][]candidate {
	candidates := map[string][]candidate{}
	builtFrom := map[*Way]manifest.Object{}
	for _, o := range built {
		if way := w.Find(o); way != nil {
			builtFrom[way] = o
			continue
		}
		c := newCandidate(o)
		c.identities = nil
		for at := range w.sources.Kustomizations {
			candidates[at] = append(candidates[at], c)
		}
	}
	for n, way := range w.All {
		for i, at := range way.Folders {
			if at != w.folder && !slices.ContainsFunc(w.patches[at], func(p patch) bool { return p.Target != nil }) {
				continue
			}
			c := w.candidate(way, i)
			if o, ok := builtFrom[&w.All[n]]; ok {
				c.added = append(c.added, o.GetLabels(), o.GetAnnotations())
			}
			candidates[at] = append(candidates[at], c)
		}
	}
	return candidates
}
