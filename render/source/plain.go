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

	"example.com/gatehouse/render/object"
)

// What has no quotes is for each YAML tool to read. Kustomize has read it once when an
// object is built: what it was is only in the files.

// TimeProblems are of times without quotes that manifests and patches give a field of a
// kind whose times are text.
func (s *Sources) TimeProblems(group, kind, field string) (problems []object.Problem) {
	keys := strings.Split(field, ".")
	report := func(d Document) {
		node := timeIn(d.Node, keys)
		if node == nil {
			return
		}
		p := object.Problem{File: Relative(d.File), Line: d.line(node), Field: field, Message: field + `: is a time without quotes, which tools may write another way: put it in quotes, like "2027-01-31T09:00:00Z"`}
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

// timeIn returns the node that gives a field a time without quotes, nil where none does.
func timeIn(node *yaml.Node, keys []string) *yaml.Node {
	isTime := test(func(node *yaml.Node) bool { return node.ShortTag() == "!!timestamp" })
	if node.Kind == yaml.SequenceNode {
		return jsonPatchNode(node, keys, isTime)
	}
	if key, value := walkKeys(node, keys, isTime); isTime.passes(value) {
		return key
	}
	return nil
}

// patchesOf are the documents of the patches of a kustomization that may be of a kind.
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
			if p.Target != nil && mayBe(p.Target.Kind, kind) || p.Target == nil && d.Kind == kind {
				documents = append(documents, d)
			}
		}
	}
	return documents
}

// mayBe says whether a pattern of kinds, which may be empty, selects a kind.
func mayBe(pattern, kind string) bool {
	selects, err := regexp.MatchString("^(?:"+pattern+")$", kind)
	return pattern == "" || err == nil && selects
}

var scientific = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$`)

// NumberProblems are of numbers in manifests that are so large that some tools take them
// for text, and others for infinite.
func (s *Sources) NumberProblems() (problems []object.Problem) {
	for _, manifest := range s.Manifests {
		for _, d := range s.documents[manifest.File] {
			hugeNumbers(d.Node, nil, func(node *yaml.Node, path []string) {
				p := object.Problem{File: Relative(d.File), Line: d.line(node), Object: d.String(), Field: object.JoinField(path)}
				value := node.Value
				if d.Kind == "Secret" { // whoever reads problems need not know its values
					value = "..."
				}
				p.Message = p.Field + ": Invalid value: " + value + ": is larger than a number can be: write a smaller one, or text in quotes"
				problems = append(problems, p)
			})
		}
	}
	return problems
}

func hugeNumbers(node *yaml.Node, path []string, report func(node *yaml.Node, path []string)) {
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Style != 0 || node.Tag != "!!str" || !scientific.MatchString(node.Value) {
			return
		}
		if _, err := strconv.ParseFloat(strings.ReplaceAll(node.Value, "_", ""), 64); errors.Is(err, strconv.ErrRange) {
			report(node, path)
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			hugeNumbers(item, append(path, "["+strconv.Itoa(i)+"]"), report)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			hugeNumbers(node.Content[i+1], append(path, node.Content[i].Value), report)
		}
	}
}
