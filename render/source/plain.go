package source

import (
	"errors"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
)

// Each YAML tool reads a scalar without quotes in its own way, and kustomize has done so once
// when an object is built. Only the files tell what people wrote.

// eachDocument yields the documents of manifests and patches, and the kinds that each is about: a
// pattern, "" for any.
func (s *Sources) eachDocument() iter.Seq2[Document, string] {
	return func(yield func(d Document, kind string) bool) {
		for _, m := range s.Manifests {
			for _, d := range s.documents[m.File] {
				if !yield(d, d.Kind) {
					return
				}
			}
		}
		for _, p := range s.patches {
			if !yield(p.Document, p.kind) {
				return
			}
		}
	}
}

// TimeProblems reports times without quotes that manifests and patches give to a field of a kind
// whose times are text.
func (s *Sources) TimeProblems(group, kind, field string) (problems []manifest.Problem) {
	keys := strings.Split(field, ".")
	for d, pattern := range s.eachDocument() {
		if !mayName(pattern, kind) || d.APIVersion != "" && d.Group != group {
			continue
		}
		node := timeIn(d.Node, keys)
		if node == nil {
			continue
		}
		p := manifest.Problem{File: Relative(d.File), Line: node.Line, Field: field, Message: field + `: is a time without quotes, which tools may write another way: put it in quotes, like "2027-01-31T09:00:00Z"`}
		if d.Name != "" {
			p.Object = d.String()
		}
		problems = append(problems, p)
	}
	return problems
}

// timeIn returns the node that gives a field a time without quotes, or nil.
func timeIn(node *yaml.Node, keys []string) *yaml.Node {
	isTime := test(func(node *yaml.Node) bool { return node.ShortTag() == "!!timestamp" })
	if given := nodeAt(node, keys, nil); given != nil {
		return nodeAt(node, keys, isTime)
	}
	if value := mergedValue(node, keys); isTime.passes(value) {
		return value
	}
	return nil
}

// mergedValue returns the value at keys that may come by merge keys, or nil.
func mergedValue(node *yaml.Node, keys []string) *yaml.Node {
	for _, key := range keys {
		var fields map[string]yaml.Node
		if node == nil || node.Decode(&fields) != nil {
			return nil
		}
		value := fields[key]
		node = dereferenced(&value)
	}
	return node
}

// NumberProblems reports numbers in manifests and patches that the API server would get rounded,
// or not at all.
func (s *Sources) NumberProblems() (problems []manifest.Problem) {
	report := func(d Document, node *yaml.Node, keys []string) {
		inexactScalars(node, keys, func(node *yaml.Node, keys []string, reason string) {
			p := manifest.InexactProblem(d.ID, keys, node.Value, reason)
			p.File, p.Line = Relative(d.File), node.Line
			problems = append(problems, p)
		})
	}
	for d := range s.eachDocument() {
		if d.Node.Kind != yaml.SequenceNode {
			report(d, d.Node, nil)
			continue
		}
		for _, operation := range d.Node.Content {
			if value := Field(operation, "value"); value != nil {
				report(d, value, JSONPointer(textAt(operation, "path")))
			}
		}
	}
	return problems
}

// inexactScalars calls report with the scalars in a node that the API server would not get as
// they are written, and the keys that lead to them.
func inexactScalars(node *yaml.Node, keys []string, report func(node *yaml.Node, keys []string, reason string)) {
	switch node.Kind {
	case yaml.ScalarNode:
		if isHuge(node) {
			report(node, keys, "is larger than a number can be: write a smaller one, or text in quotes")
		} else if reason := manifest.Inexact(node); reason != "" {
			report(node, keys, reason)
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			inexactScalars(item, append(slices.Clip(keys), "["+strconv.Itoa(i)+"]"), report)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			inexactScalars(node.Content[i+1], append(slices.Clip(keys), node.Content[i].Value), report)
		}
	}
}

var scientific = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$`)

// isHuge reports whether a scalar is a number so large that some tools take it for text, and
// others for infinite.
func isHuge(node *yaml.Node) bool {
	if node.Style != 0 || node.Tag != "!!str" || !scientific.MatchString(node.Value) {
		return false
	}
	_, err := strconv.ParseFloat(strings.ReplaceAll(node.Value, "_", ""), 64)
	return errors.Is(err, strconv.ErrRange)
}
