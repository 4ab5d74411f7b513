package setup

import (
	"cmp"
	"reflect"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
)

// addResource adds an entry to the resources of a kustomization. It keeps all other bytes if resources is a
// list with one entry per line, and reports whether it did.
func addResource(content []byte, entry string) (edited []byte, keepsRest bool) {
	var want, got map[string]any
	_ = yaml.Unmarshal(content, &want) // readOverlay reports errors
	if want == nil {
		want = map[string]any{}
	}
	entries, _ := want["resources"].([]any)
	want["resources"] = append(entries, any(entry))
	edited = insertEntry(content, entry)
	if edited != nil && yaml.Unmarshal(edited, &got) == nil && reflect.DeepEqual(got, want) {
		return edited, true
	}
	return manifest.ToYAML(want), false
}

// insertEntry inserts a line after the last resource of a kustomization. It returns nil if resources is not
// a block list.
func insertEntry(content []byte, entry string) []byte {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(content, &document); err != nil || len(document.Content) == 0 {
		return nil
	}
	list := node.Field(document.Content[0], "resources")
	if list == nil || list.Kind != yamlv3.SequenceNode || list.Style&yamlv3.FlowStyle != 0 || len(list.Content) == 0 {
		return nil
	}
	last := list.Content[len(list.Content)-1]
	lines := strings.SplitAfter(string(content), "\n")
	line := strings.TrimRight(lines[last.Line-1], "\r\n")
	end := lines[last.Line-1][len(line):]
	dash := line[:min(last.Column-1, len(line))]
	lines[last.Line-1] = line + cmp.Or(end, "\n") + dash + entry + end
	return []byte(strings.Join(lines, ""))
}
