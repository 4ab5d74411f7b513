package source

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	"sigs.k8s.io/yaml"
)

// maxCopies is how many copies of one value replacements may make of each other's.
const maxCopies = 1_000

// copiesTooMuch notes a kustomization whose replacements copy what others of them have
// copied, each of which may double it, more often than memory lasts for.
func (s *Sources) copiesTooMuch() bool {
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[folder]
		replacements := s.replacements(k)
		copies := make([]int, len(replacements))
		for i, r := range replacements {
			copies[i] = 1
			for j, earlier := range replacements[:i] {
				copies[i] = min(copies[i]+copies[j]*earlier.feeds(r), maxCopies+1)
			}
			if copies[i] > maxCopies {
				s.problem(k.File, 0, "replacements: they copy again and again what others of them have copied: copy from what none of them changes")
				return true
			}
		}
	}
	return false
}

// replacements are those of a kustomization, as far as they can be read.
func (s *Sources) replacements(k *Kustomization) (all []replacement) {
	for _, field := range k.Replacements {
		if field.Path == "" {
			all = append(all, replacement{field.Replacement})
			continue
		}
		content, _ := s.FS.content(k.Paths[field.Path])
		var several []replacement
		if yaml.Unmarshal(content, &several) == nil {
			all = append(all, several...)
			continue
		}
		var one replacement
		if yaml.Unmarshal(content, &one) == nil {
			all = append(all, one)
		}
	}
	return all
}

type replacement struct{ types.Replacement }

// feeds counts the fields of a replacement's targets that the source of another may have
// in it, or be in.
func (r replacement) feeds(other replacement) (count int) {
	if other.Source == nil {
		return 0
	}
	for _, target := range r.Targets {
		if target == nil || target.Select == nil || !mayName(target.Select.Kind, other.Source.Kind) || !mayName(target.Select.Name, other.Source.Name) {
			continue
		}
		for _, field := range target.FieldPaths {
			if overlap(field, other.Source.FieldPath) {
				count++
			}
		}
	}
	return count
}

// mayName says whether what selects a name may select that of another selector.
func mayName(a, b string) bool {
	return a == "" || b == "" || a == b || strings.ContainsAny(a, `.*+?|()[]^$\`)
}

// overlap says whether one field may be another, or within it.
func overlap(a, b string) bool {
	inA, inB := utils.SmarterPathSplitter(a, "."), utils.SmarterPathSplitter(b, ".")
	for i := range min(len(inA), len(inB)) {
		if inA[i] != inB[i] && !strings.ContainsAny(inA[i]+inB[i], "*[") {
			return false
		}
	}
	return true
}
