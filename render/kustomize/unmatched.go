package kustomize

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Ineffective warns of patches and images of kustomizations that change nothing, or something else than they say. The
// overrides are in a folder, "" without overrides. Rendered has the objects before and after them.
func Ineffective(paths *Paths, overrides string, built, rendered []manifest.Object) []manifest.Problem {
	return slices.Concat(unmatchedTargets(paths, overrides, built, rendered),
		unmatchedImages(paths, slices.Concat(built, rendered)), unmeantMerges(paths, built))
}

// idleWarning returns the warning of an entry in a file.
func idleWarning(file string, line int, field, reason string) manifest.Problem {
	return manifest.Problem{Code: manifest.NothingChanged,
		File: source.Relative(file), Line: line, Field: field, Message: field + ": " + reason,
		Warning: true}
}

// unmatchedTargets warns of patches whose target selects no object, which kustomize ignores. A component outside of the
// environment's folder may have patches for other environments.
func unmatchedTargets(paths *Paths, overrides string, built, rendered []manifest.Object) (warnings []manifest.Problem) {
	s := paths.Sources
	folder := paths.Folder
	if !slices.ContainsFunc(slices.Collect(maps.Values(s.Kustomizations)), func(k *source.Kustomization) bool {
		return len(paths.Patches[k.Folder]) > 0
	}) {
		return nil
	}
	inFolder := candidatesByFolder(paths, built)
	inOverrides := newCandidates(rendered)
	for _, at := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[at]
		if k.Kind == types.ComponentKind && !source.IsWithin(at, folder) {
			continue
		}
		candidates := inFolder[at]
		others := inOverrides
		hint := "patch rendered objects in " + path.Join(source.Relative(folder), "overrides")
		if overrides != "" && source.IsWithin(at, overrides) {
			candidates = inOverrides
			others = inFolder[folder]
			hint = "patch source objects in " + source.Relative(folder) + " itself"
		}
		for _, p := range paths.Patches[k.Folder] {
			if p.Target == nil || slices.ContainsFunc(candidates, p.Changes) {
				continue
			}
			advice := adviceFor(p.Target, candidates, "correct it, or remove the patch")
			switch {
			case slices.ContainsFunc(candidates, p.Selects):
				advice = "kustomize applies patches before " + laterFields(k, p.Target) +
					" of the same kustomization: select objects as they are without it"
			case slices.ContainsFunc(others, p.Selects):
				advice = hint
			}
			line := s.Line(k.File, p.Field, strconv.Itoa(p.Index), "target")
			warnings = append(warnings, idleWarning(k.File, line, p.Entry()+".target", "selects nothing: "+advice))
		}
	}
	return warnings
}

func newCandidates(objects []manifest.Object) []buildpath.Candidate {
	candidates := make([]buildpath.Candidate, len(objects))
	for i, o := range objects {
		candidates[i] = buildpath.NewCandidate(o)
	}
	return candidates
}

// adviceFor returns advice for a selector that selects nothing: the candidate that is meant, if there is one.
func adviceFor(by *types.Selector, candidates []buildpath.Candidate, otherwise string) string {
	if by.Name == "" {
		return otherwise
	}
	return cmp.Or(closest(source.Document{ID: manifest.ID{Kind: by.Kind, Name: by.Name}}, candidates), otherwise)
}

// laterFields names the fields of a kustomization that change what a target selects by after the patches.
func laterFields(k *source.Kustomization, by *types.Selector) string {
	var fields []string
	for _, field := range []struct {
		name  string
		isSet bool
	}{
		{"namespace", k.Namespace != "" && by.Namespace != ""},
		{"namePrefix", k.NamePrefix != "" && by.Name != ""},
		{"nameSuffix", k.NameSuffix != "" && by.Name != ""},
		{"labels", len(k.Labels) > 0 && by.LabelSelector != ""},
		{"commonLabels", len(k.CommonLabels) > 0 && by.LabelSelector != ""},
		{"commonAnnotations", len(k.CommonAnnotations) > 0 && by.AnnotationSelector != ""},
	} {
		if field.isSet {
			fields = append(fields, field.name)
		}
	}
	if len(fields) == 0 {
		return "other fields"
	}
	return strings.Join(fields, ", ")
}

// isUnmatched matches the error of patches that name no object.
var isUnmatched = regexp.MustCompile(`unique target for patch|no resource matches strategic merge patch`)

// unmatchedDocuments returns the problems of patches without a target that name no candidate, or one
// with another version.
func unmatchedDocuments(patches []buildpath.Patch, candidates []buildpath.Candidate) (problems []manifest.Problem) {
	for _, patch := range patches {
		if patch.Selector != nil || patch.Err != nil {
			continue
		}
		for _, patch := range patch.Each() {
			d := patch.Documents[0]
			var versions []string // of candidates that differ in no more
			for _, c := range candidates {
				if patch.Selects(c) {
					versions = append(versions, c.GVK.ApiVersion())
				}
			}
			slices.Sort(versions)
			message := "the patch selects nothing: "
			switch {
			case len(candidates) == 0:
				message = "the patch selects nothing, as this folder loads no objects: list them under resources, or " +
					"move the patch to the folder that loads them"
			case slices.Contains(versions, d.APIVersion):
				continue
			case len(versions) > 0:
				message += "write apiVersion: " + strings.Join(slices.Compact(versions), " or ")
			default:
				message += cmp.Or(closest(d, candidates), "correct or remove it") +
					" (overrides/kustomization.yaml patches rendered objects)"
			}
			problems = append(problems, at(manifest.Problem{Code: manifest.NothingSelected, Message: message}, d))
		}
	}
	return problems
}

// withoutPatchesOfAbsent returns the files of a build without the patches that name no object. They may name objects
// that are absent.
func withoutPatchesOfAbsent(paths *Paths) *source.FileSystem {
	files := map[string][]byte{}
	candidates := candidatesByFolder(paths, nil)
	for folder, k := range paths.Loaded {
		left := k.Kustomization
		isIdle := func(field string, i int) bool {
			return slices.ContainsFunc(paths.Patches[folder], func(p buildpath.Patch) bool {
				return p.Field == field && p.Index == i && p.Selector == nil && p.Err == nil &&
					len(unmatchedDocuments([]buildpath.Patch{p}, candidates[folder])) == len(p.Each())
			})
		}
		left.PatchesStrategicMerge = without(left.PatchesStrategicMerge, "patchesStrategicMerge", isIdle)
		left.Patches = without(left.Patches, "patches", isIdle)
		files[k.File] = manifest.ToYAML(left)
	}
	return paths.Sources.FS.With(files)
}

// without returns a list of a field without some items.
func without[T any](list []T, field string, is func(field string, i int) bool) (left []T) {
	for i, item := range list {
		if !is(field, i) {
			left = append(left, item)
		}
	}
	return left
}

// closest returns advice to name a candidate of the same name in a patch, and if possible of the same or
// a similar kind, or else of the same kind and a similar name; "" if there is none.
func closest(d source.Document, candidates []buildpath.Candidate) string {
	var sameName, sameKind, sameBoth []string
	for _, c := range candidates {
		identities := c.Identities()
		if identities == nil {
			continue
		}
		id := identities[0]
		if id.Namespace == resid.TotallyNotANamespace || id.Namespace == resid.DefaultNamespace {
			id.Namespace = ""
		}
		isSameKind := c.GVK.Kind == d.Kind
		switch {
		case id.Name == d.Name && mayBeMeant(d, c.GVK):
			shown := fmt.Sprintf("%s (apiVersion: %s)", manifest.ID{Kind: c.GVK.Kind, Namespace: id.Namespace,
				Name: id.Name}, c.GVK.ApiVersion())
			sameName = append(sameName, shown)
			if isSameKind || manifest.DidYouMean(d.Kind, []string{c.GVK.Kind}) != "" {
				sameBoth = append(sameBoth, shown)
			}
		case isSameKind:
			sameKind = append(sameKind, id.Name)
		}
	}
	if len(sameBoth) > 0 {
		sameName = sameBoth
	}
	if len(sameName) > 0 {
		slices.Sort(sameName)
		return "did you mean " + manifest.FirstOf(3, slices.Compact(sameName)) + "?"
	}
	return strings.TrimPrefix(manifest.DidYouMean(d.Name, sameKind), ": ")
}

// mayBeMeant reports whether a patch may be meant for an object of another kind: a custom kind, or one of the same
// group. A Deployment is not the PodDisruptionBudget of its name.
func mayBeMeant(d source.Document, gvk resid.Gvk) bool {
	isBuiltin := !strings.Contains(gvk.Group, ".") || strings.HasSuffix(gvk.Group, ".k8s.io")
	return !isBuiltin || gvk.Group == d.Group || d.Kind == "" || manifest.DidYouMean(d.Kind, []string{gvk.Kind}) != ""
}

// candidatesByFolder returns the candidates of each folder that has patches, and of the
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
		c := buildpath.Candidate{GVK: buildpath.GVKOf(o), Built: o}
		for at := range paths.Sources.Kustomizations {
			candidates[at] = append(candidates[at], c)
		}
	}
	for n := range paths.All {
		path := &paths.All[n]
		for i, at := range path.Folders {
			if at != paths.Folder && len(paths.Patches[at]) == 0 {
				continue
			}
			c := paths.Candidate(path, i)
			c.Built = builtFrom[path]
			candidates[at] = append(candidates[at], c)
		}
	}
	return candidates
}
