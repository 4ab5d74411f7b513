package source

import (
	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
)

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
		if reason := manifest.Inexact(scalar, isKey); reason != "" {
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
		if value := node.Field(operation, "value"); value != nil {
			manifest.EachScalar(value, node.JSONPointer(node.Text(operation, "path")), report)
		}
	}
	return problems
}
