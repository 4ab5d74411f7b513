package kustomize

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// UnmatchedPatches warns of patches whose target selects no object. kustomize ignores such patches. The
// overrides are in a folder, "" without overrides. A component outside of the environment's folder may
// have patches for other environments.
func UnmatchedPatches(paths *Paths, overrides string, built, rendered []manifest.Object) (warnings []manifest.Problem) {
	s, folder := paths.Sources, paths.Folder
	if !slices.ContainsFunc(slices.Collect(maps.Values(paths.Patches)), hasTarget) {
		return nil
	}
	inFolder := candidatesByFolder(paths, built)
	inOverrides := make([]buildpath.Candidate, 0, len(rendered))
	for _, o := range rendered {
		inOverrides = append(inOverrides, buildpath.NewCandidate(o))
	}
	for _, at := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[at]
		if k.Kind == types.ComponentKind && !isBelow(at, folder) {
			continue
		}
		candidates, others, hint := inFolder[at], inOverrides, "patch rendered objects in "+path.Join(source.Relative(folder), "overrides")
		if overrides != "" && isBelow(at, overrides) {
			candidates, others, hint = inOverrides, inFolder[folder], "patch source objects in "+source.Relative(folder)+" itself"
		}
		for _, p := range paths.Patches[k.Folder] {
			if p.Target == nil || slices.ContainsFunc(candidates, p.Selects) {
				continue
			}
			advice := "correct it, or remove the patch"
			if slices.ContainsFunc(others, p.Selects) {
				advice = hint
			}
			warnings = append(warnings, manifest.Problem{
				File:    source.Relative(k.File),
				Line:    s.Line(k.File, p.Field, strconv.Itoa(p.Index), "target"),
				Field:   p.Entry() + ".target",
				Message: p.Entry() + ".target: selects nothing: " + advice,
				Warning: true,
			})
		}
	}
	return warnings
}

// hasTarget reports whether one of the patches has a target.
func hasTarget(patches []buildpath.Patch) bool {
	return slices.ContainsFunc(patches, func(p buildpath.Patch) bool { return p.Target != nil })
}

// isBelow reports whether a folder is another or below it.
func isBelow(folder, other string) bool {
	return folder == other || strings.HasPrefix(folder, other+"/")
}

// candidatesByFolder returns the candidates of each folder that has patches with a target, and of the
// environment's own folder. A built object with an unknown build path is a candidate everywhere, under
// any name.
func candidatesByFolder(paths *Paths, built []manifest.Object) map[string][]buildpath.Candidate {
	candidates := map[string][]buildpath.Candidate{}
	builtFrom := map[*Path]manifest.Object{}
	for _, o := range built {
		if path := paths.Find(o); path != nil {
			builtFrom[path] = o
			continue
		}
		c := buildpath.NewCandidate(o)
		c.Identities = nil
		for at := range paths.Sources.Kustomizations {
			candidates[at] = append(candidates[at], c)
		}
	}
	for n := range paths.All {
		path := &paths.All[n]
		for i, at := range path.Folders {
			if at != paths.Folder && !hasTarget(paths.Patches[at]) {
				continue
			}
			c := paths.Candidate(*path, i)
			if o, ok := builtFrom[path]; ok {
				c.Added = append(c.Added, o.GetLabels(), o.GetAnnotations())
			}
			candidates[at] = append(candidates[at], c)
		}
	}
	return candidates
}
