package setup

import (
	"cmp"
	"reflect"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/source"
)

// addResource adds an entry to the resources of a kustomization, where they are a list with one
// entry a line, and keeps every other byte. It returns nil where they are written in any other way.
func addResource(content []byte, entry string) []byte {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(content, &document); err != nil || len(document.Content) == 0 {
		return nil
	}
	list := source.Field(document.Content[0], "resources")
	if list == nil || list.Kind != yamlv3.SequenceNode || list.Style&yamlv3.FlowStyle != 0 || len(list.Content) == 0 {
		return nil
	}
	last := list.Content[len(list.Content)-1]
	lines := strings.SplitAfter(string(content), "\n")
	line := strings.TrimRight(lines[last.Line-1], "\r\n")
	end := lines[last.Line-1][len(line):]
	dash := line[:min(last.Column-1, len(line))]
	lines[last.Line-1] = line + cmp.Or(end, "\n") + dash + entry + end
	added := []byte(strings.Join(lines, ""))

	var before, after map[string]any
	if yaml.Unmarshal(content, &before) != nil || yaml.Unmarshal(added, &after) != nil {
		return nil
	}
	entries, _ := before["resources"].([]any)
	before["resources"] = append(entries, any(entry))
	if !reflect.DeepEqual(before, after) {
		return nil
	}
	return added
}
