package source

import (
	"errors"
	"iter"
	"regexp"
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

// NumberProblems reports values in manifests and patches, most of them numbers, that the API server
// would get rounded, or not at all.
func (s *Sources) NumberProblems() (problems []manifest.Problem) {
	for _, m := range s.Manifests {
		for _, text := range m.Texts {
			problems = append(problems, text.notExact...)
		}
	}
	for _, p := range s.patches {
		problems = append(problems, p.numberProblems()...)
	}
	return problems
}

func (d Document) numberProblems() (problems []manifest.Problem) {
	report := func(scalar *yaml.Node, keys []string, isKey bool) {
		reason := manifest.Inexact(scalar, isKey)
		if !isKey && isHuge(scalar) {
			reason = "is larger than a number can be: write a smaller one, or text in quotes"
		}
		if reason != "" {
			wrong := manifest.InexactError{Keys: keys, Value: scalar.Value, Reason: reason}
			p := wrong.Problem(d.ID)
			p.File, p.Line = Relative(d.File), scalar.Line
			problems = append(problems, p)
		}
	}
	if d.Node.Kind != yaml.SequenceNode {
		manifest.EachScalar(d.Node, nil, report)
		return problems
	}
	for _, operation := range d.Node.Content {
		if value := Field(operation, "value"); value != nil {
			manifest.EachScalar(value, JSONPointer(textAt(operation, "path")), report)
		}
	}
	return problems
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
