package source

import (
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	"sigs.k8s.io/yaml"
)

// maxReplaced is how many copies of one value the replacements of a kustomization may make.
const maxReplaced = 1_000

// checkReplacements reports replacements that copy what others of them have copied, each of
// which may double it.
func (s *Sources) checkReplacements(k *Kustomization) {
	replacements := s.replacements(k)
	copies := make([]int, len(replacements))
	for i, r := range replacements {
		copies[i] = 1
		for j, earlier := range replacements[:i] {
			copies[i] = min(copies[i]+copies[j]*countFed(earlier, r.Source), maxReplaced+1)
		}
		if copies[i] > maxReplaced {
			s.report(k.File, 0, "replacements: they copy again and again what others of them have copied: copy from what none of them changes")
			return
		}
	}
}

// replacements returns those of a kustomization that can be read.
func (s *Sources) replacements(k *Kustomization) (all []types.Replacement) {
	for _, field := range k.Replacements {
		if field.Path == "" {
			all = append(all, field.Replacement)
			continue
		}
		_, content, _ := s.FS.find(k.Paths[field.Path])
		var several []types.Replacement
		var one types.Replacement
		switch {
		case yaml.Unmarshal(content, &several) == nil:
			all = append(all, several...)
		case yaml.Unmarshal(content, &one) == nil:
			all = append(all, one)
		}
	}
	return all
}

// countFed returns how many fields that a replacement writes to the source of another may
// have in it, or be in.
func countFed(r types.Replacement, source *types.SourceSelector) (count int) {
	for _, target := range r.Targets {
		if source == nil || target == nil || target.Select == nil || !mayName(target.Select.Kind, source.Kind) || !mayName(target.Select.Name, source.Name) {
			continue
		}
		for _, field := range target.FieldPaths {
			if mayOverlap(field, source.FieldPath) {
				count++
			}
		}
	}
	return count
}

// mayName reports whether a pattern may select a name. Either may be "", for any.
func mayName(pattern, name string) bool {
	if pattern == "" || name == "" || pattern == name {
		return true
	}
	if regexp.QuoteMeta(pattern) == pattern { // as nearly all are
		return false
	}
	selects, err := regexp.MatchString("^(?:"+pattern+")$", name)
	return err == nil && selects
}

// mayOverlap reports whether one field may be another, or within it.
func mayOverlap(a, b string) bool {
	inA, inB := utils.SmarterPathSplitter(a, "."), utils.SmarterPathSplitter(b, ".")
	for i := range min(len(inA), len(inB)) {
		if inA[i] != inB[i] && !strings.ContainsAny(inA[i]+inB[i], "*[") {
			return false
		}
	}
	return true
}
