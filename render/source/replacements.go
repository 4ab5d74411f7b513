package source

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	sigsyaml "sigs.k8s.io/yaml"
)

// maxReplaced is how many copies of one value the replacements of a kustomization may make.
const maxReplaced = 1_000

// checkReplacements reports incomplete replacements, and those that copy what others of them have
// copied, each of which may double it.
func (s *Sources) checkReplacements(k *Kustomization) {
	replacements := s.replacements(k)
	s.reportIncomplete(replacements)
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

// replacement is one of a kustomization, or of a file that this loads.
type replacement struct {
	types.Replacement
	file string
	node *yaml.Node // nil where it is not known
}

// replacements returns those of a kustomization that can be read.
func (s *Sources) replacements(k *Kustomization) (all []replacement) {
	add := func(file string, node *yaml.Node, found ...types.Replacement) {
		for i, r := range found {
			all = append(all, replacement{r, file, item(node, i)})
		}
	}
	for i, field := range k.Replacements {
		if field.Path == "" {
			add(k.File, item(Field(k.root, "replacements"), i), field.Replacement)
			continue
		}
		file := k.Paths[field.Path]
		_, content, _ := s.FS.find(file)
		var root *yaml.Node
		for _, d := range k.Documents[field.Path] {
			root = d.Node
		}
		var several []types.Replacement
		var one types.Replacement
		switch {
		case sigsyaml.Unmarshal(content, &several) == nil:
			add(file, root, several...)
		case sigsyaml.Unmarshal(content, &one) == nil:
			add(file, root, one)
		}
	}
	return all
}

// FindReplacement returns where the replacement is that an error of kustomize is about, or "".
func (s *Sources) FindReplacement(message string) (file string, line int) {
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		for _, r := range s.replacements(s.Kustomizations[folder]) {
			if r.Source != nil && (strings.HasSuffix(message, " "+r.Source.String()) || strings.HasSuffix(message, " "+r.Source.ResId.String())) {
				return Relative(r.file), lineAt(r.node, []string{"source"})
			}
			for i, target := range r.Targets {
				if at := slices.IndexFunc(target.FieldPaths, func(path string) bool { return strings.Contains(message, strconv.Quote(path)+" in replacement target") }); at >= 0 {
					return Relative(r.file), lineAt(r.node, []string{"targets", strconv.Itoa(i), "fieldPaths", strconv.Itoa(at)})
				}
			}
		}
	}
	return "", 0
}

// reportIncomplete reports replacements from nothing or to nothing, and their targets that select
// nothing. An empty mapping selects everything.
func (s *Sources) reportIncomplete(replacements []replacement) {
	for _, r := range replacements {
		isEmpty := r.node != nil && r.node.ShortTag() == "!!null" // which checkItems reports
		if !isEmpty && (r.Source == nil && r.SourceValue == nil || r.Targets == nil) {
			s.report(r.file, lineAt(r.node, nil), "a replacement needs source or sourceValue, and targets: write what is missing")
		}
		for i, target := range r.Targets {
			if target != nil && target.Select == nil {
				s.report(r.file, lineAt(r.node, []string{"targets", strconv.Itoa(i)}), "a target of a replacement needs select: write select: and the kind and name of what it changes, or select: {} to change everything")
			}
		}
	}
}

// countFed returns how many fields that a replacement writes to the source of another may
// have in it, or be in.
func countFed(r replacement, source *types.SourceSelector) (count int) {
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
