package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resources is the key of the list of a kustomization, which kustomize takes in any case.
const resources = "resources"

// addResource adds an entry to the resources of a kustomization, in the way in which the
// list is written, and leaves the other bytes as they are.
func addResource(content []byte, entry string) ([]byte, error) {
	root, err := onlyDocument(content)
	if err != nil {
		return nil, err
	}
	added := newText(content).add(root, entry)
	after, err := onlyDocument(added)
	if err != nil || !reflect.DeepEqual(plain(after), withResource(root, entry)) {
		return nil, fmt.Errorf("resources are written in a way that is not understood here: write them as a list, one on a line, or add %s yourself", entry)
	}
	return added, nil
}

// onlyDocument parses a kustomization, nil where it is empty.
func onlyDocument(content []byte) (root *yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			return nil, fmt.Errorf("malformed YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		case len(document.Content) == 0 || isNull(document.Content[0]):
			continue
		case root != nil:
			return nil, fmt.Errorf("line %d: a second document, which kustomize does not read: remove it, or make one of both", document.Content[0].Line)
		case document.Content[0].Kind != yaml.MappingNode:
			return nil, fmt.Errorf("line %d: a kustomization is a mapping: write resources: and below it the list of files", document.Content[0].Line)
		}
		root = document.Content[0]
	}
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }

// listOf returns the key and the value of the resources, nil where there are none.
func listOf(root *yaml.Node) (key, list *yaml.Node) {
	for i := 0; root != nil && i+1 < len(root.Content); i += 2 {
		if strings.EqualFold(root.Content[i].Value, resources) {
			return root.Content[i], root.Content[i+1]
		}
	}
	return nil, nil
}

// lists says whether a kustomization lists a resource.
func lists(root *yaml.Node, entry string) bool {
	_, list := listOf(root)
	if list != nil && list.Kind == yaml.AliasNode {
		list = list.Alias
	}
	return list != nil && slices.ContainsFunc(list.Content, func(item *yaml.Node) bool {
		return item.Kind == yaml.ScalarNode && path.Clean(item.Value) == entry
	})
}

// plain is what a node says, however that is written: maps, lists, and scalars as their tag
// and value.
func plain(node *yaml.Node) any {
	switch node.Kind {
	case yaml.AliasNode:
		return plain(node.Alias)
	case yaml.SequenceNode:
		items := []any{}
		for _, item := range node.Content {
			items = append(items, plain(item))
		}
		return items
	case yaml.MappingNode:
		fields := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			fields[node.Content[i].Value] = plain(node.Content[i+1])
		}
		return fields
	}
	return [2]string{node.ShortTag(), node.Value}
}

// withResource is what a kustomization says that has one more resource.
func withResource(root *yaml.Node, entry string) any {
	fields := map[string]any{"apiVersion": [2]string{"!!str", apiVersion}, "kind": [2]string{"!!str", kindOfFile}}
	if root != nil {
		fields = maps.Clone(plain(root).(map[string]any))
	}
	key := resources
	var items []any
	if k, list := listOf(root); list != nil {
		key = k.Value
		items, _ = plain(list).([]any)
	}
	fields[key] = append(slices.Clone(items), any([2]string{"!!str", entry}))
	return fields
}

const (
	apiVersion = "kustomize.config.k8s.io/v1beta1"
	kindOfFile = "Kustomization"
)
