package setup

import (
	"cmp"
	"reflect"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/source"
)

// withResource returns the content of a kustomization with one more entry in its resources, and
// reports whether that keeps every other byte: it does where resources are a list with one entry a
// line.
func withResource(content []byte, entry string) (edited []byte, keepsRest bool, err error) {
	var want, got map[string]any
	if err := yaml.Unmarshal(content, &want); err != nil {
		return nil, false, err
	}
	if want == nil {
		want = map[string]any{}
	}
	entries, _ := want["resources"].([]any)
	want["resources"] = append(entries, any(entry))
	edited = withLine(content, entry)
	if edited != nil && yaml.Unmarshal(edited, &got) == nil && reflect.DeepEqual(got, want) {
		return edited, true, nil
	}
	edited, err = yaml.Marshal(want)
	return edited, false, err
}

// withLine returns the content of a kustomization with a line for one more entry after the last of
// its resources, or nil where these are no list.
func withLine(content []byte, entry string) []byte {
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
	return []byte(strings.Join(lines, ""))
}
