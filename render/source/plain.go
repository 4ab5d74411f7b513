package source

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
)

// YAML tools read plain scalars, without quotes, in different ways. Only the source files show whether
// a scalar was plain: kustomize changes it when it builds the object.

// TimeProblems reports times without quotes in a field of a kind, in manifests and patches.
func (s *Sources) TimeProblems(group, kind, field string) (problems []manifest.Problem) {
	var all []patchDocument
	for _, m := range s.Manifests {
		for _, d := range s.documents[m.File] {
			all = append(all, patchDocument{Document: d, kind: d.Kind})
		}
	}
	for _, d := range append(all, s.patches...) {
		if !mayName(d.kind, kind) || d.APIVersion != "" && d.Group != group {
			continue
		}
		at := plainTime(d.Node(), strings.Split(field, "."))
		if at == nil {
			continue
		}
		p := manifest.Problem{Code: manifest.InexactValue, File: Relative(d.File), Line: at.Line, Field: field,
			Message: field +
				`: is a time without quotes, which tools may write another way: put it in quotes, like ` +
				`"2027-01-31T09:00:00Z"`}
		if d.Name != "" {
			p.Object = d.String()
		}
		problems = append(problems, p)
	}
	return problems
}

// plainTime returns the node that sets a field to a time without quotes, or nil.
func plainTime(document *yaml.Node, keys []string) *yaml.Node {
	isTime := node.Test(func(n *yaml.Node) bool { return n.ShortTag() == "!!timestamp" })
	if set := node.At(document, keys, nil); set != nil {
		return node.At(document, keys, isTime)
	}
	if value := mergedValue(document, keys); isTime.Accepts(value) {
		return value
	}
	return nil
}

// mergedValue returns the value at keys with merge keys applied, or nil.
func mergedValue(n *yaml.Node, keys []string) *yaml.Node {
	for _, key := range keys {
		var fields map[string]yaml.Node
		if n == nil || n.Decode(&fields) != nil {
			return nil
		}
		value := fields[key]
		n = node.Deref(&value)
	}
	return n
}

// NumberProblems reports values in manifests and patches, mostly numbers, that JSON rounds or cannot
// represent.
func (s *Sources) NumberProblems() (problems []manifest.Problem) {
	for _, m := range s.Manifests {
		for _, text := range m.Texts {
			problems = append(problems, text.numberProblems...)
		}
	}
	for _, p := range s.patches {
		problems = append(problems, p.checkNumbers()...)
	}
	return problems
}

func (d Document) checkNumbers() (problems []manifest.Problem) {
	report := func(scalar *yaml.Node, keys []string, isKey bool) {
		reason := manifest.Inexact(scalar, isKey)
		if !isKey && isHuge(scalar) {
			reason = "is larger than a number can be: write a smaller one, or text in quotes"
		}
		if reason != "" {
			wrong := manifest.InexactError{Keys: keys, Value: scalar.Value, Reason: reason}
			p := wrong.Problem(d.ID)
			p.File = Relative(d.File)
			p.Line = scalar.Line
			problems = append(problems, p)
		}
	}
	if d.Node().Kind != yaml.SequenceNode {
		manifest.EachScalar(d.Node(), nil, report)
		return problems
	}
	for _, operation := range d.Node().Content {
		if value := node.Field(operation, "value"); value != nil {
			manifest.EachScalar(value, node.JSONPointer(node.Text(operation, "path")), report)
		}
	}
	return problems
}

var scientific = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$`)

// isHuge reports whether a scalar is a number so large that some tools read text, and others infinity.
func isHuge(n *yaml.Node) bool {
	if n.Style != 0 || n.Tag != "!!str" || !scientific.MatchString(n.Value) {
		return false
	}
	_, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	return errors.Is(err, strconv.ErrRange)
}
