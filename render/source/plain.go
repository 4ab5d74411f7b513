package source

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
)

// Each YAML tool reads a scalar without quotes in its own way, and kustomize has done so once
// when an object is built. Only the files tell what people wrote.

// TimeProblems reports times without quotes that manifests and patches give to a field of a kind
// whose times are text.
func (s *Sources) TimeProblems(group, kind, field string) (problems []manifest.Problem) {
	keys := strings.Split(field, ".")
	report := func(d Document) {
		node := timeIn(d.Node, keys)
		if node == nil {
			return
		}
		p := manifest.Problem{File: Relative(d.File), Line: d.line(node), Field: field, Message: field + `: is a time without quotes, which tools may write another way: put it in quotes, like "2027-01-31T09:00:00Z"`}
		if d.Name != "" {
			p.Object = d.String()
		}
		problems = append(problems, p)
	}
	for _, manifest := range s.Manifests {
		for _, d := range s.documents[manifest.File] {
			if d.Kind == kind && d.Group == group {
				report(d)
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		for _, d := range s.patchesOf(s.Kustomizations[folder], kind) {
			report(d)
		}
	}
	return problems
}

// timeIn returns the node that gives a field a time without quotes, or nil.
func timeIn(node *yaml.Node, keys []string) *yaml.Node {
	isTime := test(func(node *yaml.Node) bool { return node.ShortTag() == "!!timestamp" })
	if node.Kind == yaml.SequenceNode {
		return jsonPatchNode(node, keys, isTime)
	}
	switch key, value := walkKeys(node, keys, isTime); {
	case isTime.passes(value):
		return key
	case value != nil:
		return nil
	}
	last := len(keys) - 1
	_, holder := walkKeys(node, keys[:last], nil)
	_, merged := mappingEntry(holder, "<<")
	for _, mapping := range append(contentOf(merged), merged) { // it is one, or a list of them
		if key, value := mappingEntry(mapping, keys[last]); isTime.passes(value) {
			return key
		}
	}
	return nil
}

// patchesOf returns the documents of the patches of a kustomization that may change a kind.
func (s *Sources) patchesOf(k *Kustomization, kind string) (documents []Document) {
	for _, d := range s.Documents(k.File) {
		if d.inline && mayBe(d.Kind, kind) {
			documents = append(documents, d)
		}
	}
	list := slices.Concat(k.Patches, k.PatchesJson6902)
	for _, file := range k.PatchesStrategicMerge {
		list = append(list, types.Patch{Path: string(file)})
	}
	for _, p := range list {
		for _, d := range s.Documents(k.Paths[p.Path]) {
			if p.Target != nil && mayBe(p.Target.Kind, kind) || p.Target == nil && mayBe(d.Kind, kind) {
				documents = append(documents, d)
			}
		}
	}
	return documents
}

// mayBe reports whether a pattern of kinds may select a kind. An empty one stands for any.
func mayBe(pattern, kind string) bool {
	selects, err := regexp.MatchString("^(?:"+pattern+")$", kind)
	return pattern == "" || kind == "" || err == nil && selects
}

// NumberProblems reports numbers in manifests and patches that the API server would get rounded,
// or not at all.
func (s *Sources) NumberProblems() (problems []manifest.Problem) {
	report := func(d Document, node *yaml.Node, keys []string) {
		inexactScalars(node, keys, func(node *yaml.Node, keys []string, reason string) {
			p := manifest.InexactProblem(d.ID, keys, node.Value, reason)
			p.File, p.Line = Relative(d.File), d.line(node)
			problems = append(problems, p)
		})
	}
	for _, manifest := range s.Manifests {
		for _, d := range s.documents[manifest.File] {
			report(d, d.Node, nil)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		for _, d := range s.patchesOf(s.Kustomizations[folder], "") {
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
