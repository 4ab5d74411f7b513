package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/render/source/node"
)

// Replacement is a replacement of a kustomization, or of a file that it loads.
type Replacement struct {
	types.Replacement
	// Entry is the entry of the kustomization, as replacements[0].
	Entry string
	File  string
	Node  *yaml.Node // nil if it is unknown
}

// Replacements returns the replacements of a kustomization that can be read.
func (s *Sources) Replacements(k *Kustomization) []Replacement { return replacementsOf(s.FS, k) }

func replacementsOf(files *FileSystem, k *Kustomization) (all []Replacement) {
	entry := ""
	add := func(file string, list *yaml.Node, found ...types.Replacement) {
		for i, r := range found {
			all = append(all, Replacement{r, entry, file, node.Item(list, i)})
		}
	}
	for i, field := range k.Replacements {
		entry = fmt.Sprintf("replacements[%d]", i)
		if field.Path == "" {
			add(k.File, node.Item(node.Field(k.root, "replacements"), i), field.Replacement)
			continue
		}
		file := k.Paths[field.Path]
		_, content, _ := files.find(file)
		var root *yaml.Node
		for _, d := range k.Documents[field.Path] {
			root = d.Node()
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

// ReplacementsIn returns the replacements of transformers in an entry of a kustomization. Load returns the documents of
// a file.
func ReplacementsIn(transformers []Document, entry string, load func(file string) []Document) (all []Replacement) {
	add := func(file string, at *yaml.Node) {
		var r types.Replacement
		if content, err := yaml.Marshal(at); at != nil && err == nil && sigsyaml.Unmarshal(content, &r) == nil {
			all = append(all, Replacement{r, entry, file, at})
		}
	}
	for _, d := range transformers {
		for _, item := range node.Items(node.Field(d.Node(), "replacements")) {
			name := node.Text(item, "path")
			if name == "" {
				add(d.File, item)
				continue
			}
			for _, loaded := range load(name) {
				for _, at := range node.Items(loaded.Node()) {
					add(loaded.File, at)
				}
			}
		}
	}
	return all
}

// FindReplacement returns the position of the replacement in an error of kustomize, or "".
func (s *Sources) FindReplacement(message string) (file string, line int) {
	for _, k := range s.sorted() {
		for _, r := range replacementsOf(s.FS, k) {
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
		isEmpty := r.Node != nil && node.IsNull(r.Node) // checkItems reports it
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
