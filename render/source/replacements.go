package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
)

// Replacement is a replacement of a kustomization, or of a file that it loads.
type Replacement struct {
	types.Replacement
	// Entry is the entry of the kustomization, as replacements[0].
	Entry string
	File  string
	Node  *yaml.Node
}

// ReplacementsOf returns the replacements of a kustomization.
func ReplacementsOf(k *Kustomization) (all []Replacement) {
	for _, list := range node.Fields(k.root, "replacements") {
		for i, entry := range node.Items(list) {
			all = append(all, readReplacements(entry, fmt.Sprintf("replacements[%d]", i), k.File,
				func(path string) []Document { return k.Documents[path] })...)
		}
	}
	return all
}

// ReplacementsIn returns the replacements of transformers in an entry of a kustomization. Load returns the documents of
// a file.
func ReplacementsIn(transformers []Document, entry string, load func(file string) []Document) (all []Replacement) {
	for _, d := range transformers {
		for _, item := range node.Items(node.Field(d.Node(), "replacements")) {
			all = append(all, readReplacements(item, entry, d.File, load)...)
		}
	}
	return all
}

// readReplacements returns the replacement at a node of a file, or the replacements in the file that it names.
func readReplacements(at *yaml.Node, entry, file string, load func(file string) []Document) (all []Replacement) {
	if at == nil {
		return nil
	}
	if name := node.Text(at, "path"); name != "" {
		for _, d := range load(name) {
			for _, item := range node.Items(d.Node()) {
				all = append(all, readReplacements(item, entry, d.File, load)...)
			}
		}
		return all
	}
	var content any
	var r types.Replacement
	if at.Decode(&content) != nil || manifest.Decode(content, &r) != nil {
		return nil
	}
	return []Replacement{{r, entry, file, at}}
}

// FindReplacement returns the position of the replacement in an error of kustomize, or "".
func (s *Sources) FindReplacement(message string) (file string, line int) {
	for _, k := range s.sorted() {
		for _, r := range ReplacementsOf(k) {
			if r.Source != nil &&
				(strings.HasSuffix(message, " "+r.Source.String()) ||
					strings.HasSuffix(message, " "+r.Source.ResId.String())) {
				return Relative(r.File), node.Line(r.Node, "source")
			}
			for i, target := range r.Targets {
				if at := slices.IndexFunc(target.FieldPaths, func(path string) bool {
					return strings.Contains(message, strconv.Quote(path)+" in replacement target")
				}); at >= 0 {
					return Relative(r.File), node.Line(r.Node, "targets", strconv.Itoa(i), "fieldPaths",
						strconv.Itoa(at))
				}
			}
		}
	}
	return "", 0
}

// incompleteReplacements reports replacements without a source or target, and targets without a
// selector. An empty selector selects everything.
func incompleteReplacements(replacements []Replacement) (found problems) {
	for _, r := range replacements {
		isEmpty := node.IsNull(r.Node) // checkItems reports it
		if !isEmpty && (r.Source == nil && r.SourceValue == nil || r.Targets == nil) {
			found.add(r.File, node.Line(r.Node),
				"a replacement needs source or sourceValue, and targets: write what is missing")
		}
		for i, target := range r.Targets {
			if target != nil && target.Select == nil {
				found.add(r.File, node.Line(r.Node, "targets", strconv.Itoa(i)),
					"a target of a replacement needs select: write select: and the kind and name of what it "+
						"changes, or select: {} to change everything")
			}
		}
	}
	return found
}

// mayName reports whether a pattern may select a name. Both may be "", for any.
func mayName(pattern, name string) bool {
	if pattern == "" || name == "" || pattern == name {
		return true
	}
	if regexp.QuoteMeta(pattern) == pattern { // nearly always
		return false
	}
	selects, err := regexp.MatchString("^(?:"+pattern+")$", name)
	return err == nil && selects
}
