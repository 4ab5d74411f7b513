package source

import (
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// Document is an object, a patch or a generator in a source file.
type Document struct {
	manifest.ID

	// File is the file, from the root.
	File string
	// APIVersion is the object's.
	APIVersion string
	*Tree
	// Listed marks an item of a List.
	Listed bool
	// FromChart marks an object of a Helm chart: namespace of a kustomization does not change it.
	FromChart bool
}

// Position returns the file of the document, relative to the root, and its first line.
func (d Document) Position() (file string, line int) { return Relative(d.File), d.Line() }

// splitList returns the items of a List, or the document itself.
func splitList(file string, root *yaml.Node, isListed bool) (documents []Document) {
	d := Document{File: file, Tree: newTree(root), Listed: isListed, APIVersion: node.Text(root, "apiVersion")}
	d.ID = manifest.ID{
		Group:     manifest.Group(d.APIVersion),
		Kind:      node.Text(root, "kind"),
		Namespace: node.Text(root, "metadata", "namespace"),
		Name:      node.Text(root, "metadata", "name"),
	}
	items := node.Field(root, "items")
	if items == nil || items.Kind != yaml.SequenceNode || !manifest.IsListKind(d.Kind) {
		return []Document{d}
	}
	for _, item := range node.Items(items) {
		documents = append(documents, splitList(file, item, true)...)
	}
	return documents
}

// Inside returns the documents in the text of a field, with their lines in the file.
func (d Document) Inside(field string) (documents []Document) {
	for _, value := range node.Fields(d.Node(), field) {
		documents = append(documents, parsed(d.File, text.SplitScalar(value))...)
	}
	return documents
}

// Loaded returns the documents of a file that a plugin loads, and none of one that is not there.
func (s *Sources) Loaded(file string) []Document {
	_, content, _ := s.FS.find(file) // kustomize reports errors
	return parsed(file, text.Split(content))
}

// Parse returns the objects in the content of a file. A file that is no YAML has none.
func Parse(file string, content []byte) []Document { return parsed(file, text.Split(content)) }

// ParseKustomization returns the kustomization in the content of a file, which may be a template. A file that is no
// YAML has none.
func ParseKustomization(file string, content []byte) []Document {
	texts := text.Split(content)
	for i, d := range texts {
		texts[i] = d.Uniting(node.TakeLast)
	}
	return parsed(file, texts)
}

// parsed returns the documents of a file that are YAML.
func parsed(file string, texts []text.Document) (documents []Document) {
	for _, inside := range texts {
		if root, err := inside.Parse(); err == nil && root != nil {
			documents = append(documents, splitList(file, root, false)...)
		}
	}
	return documents
}

// completeItems gives the items of a list of one kind, such as a ConfigMapList, that kind where they have none.
func completeItems(list *yaml.Node) {
	itemKind, isList := strings.CutSuffix(node.Text(list, "kind"), "List")
	items := node.Field(list, "items")
	if !isList || itemKind == "" || items == nil || items.Kind != yaml.SequenceNode {
		return
	}
	for _, item := range node.Items(items) {
		if item.Kind != yaml.MappingNode || node.Text(item, "kind") != "" || node.Text(item, "apiVersion") != "" {
			continue
		}
		var fields []*yaml.Node
		for _, text := range []string{"apiVersion", node.Text(list, "apiVersion"), "kind", itemKind} {
			fields = append(fields, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: item.Line,
				Column: item.Column})
		}
		node.Remove(item, "kind", "apiVersion")
		item.Content = append(fields, item.Content...)
	}
}

func generators(file string, kustomization *yaml.Node) (documents []Document) {
	for _, generator := range []struct{ field, kind string }{{"configMapGenerator", "ConfigMap"},
		{"secretGenerator", "Secret"}} {
		for _, list := range node.Fields(kustomization, generator.field) {
			for _, entry := range node.Items(list) {
				id := manifest.ID{Kind: generator.kind, Namespace: node.Text(entry, "namespace"),
					Name: node.Text(entry, "name")}
				documents = append(documents, Document{ID: id, File: file, Tree: newTree(entry)})
			}
		}
	}
	return documents
}

// Annotations returns the annotations of the object in the file.
func (d Document) Annotations() map[string]string { return d.metadata("annotations") }

// Labels returns the labels of the object in the file.
func (d Document) Labels() map[string]string { return d.metadata("labels") }

func (d Document) metadata(field string) map[string]string {
	values := map[string]string{}
	for key, value := range node.Entries(node.Field(node.Field(d.Node(), "metadata"), field)) {
		values[key.Value] = value.Value
	}
	return values
}

// Values yields the text of the scalars in the document, including keys.
func (d Document) Values() iter.Seq[string] { return node.Scalars(d.Node()) }

// Documents returns the YAML documents of a file, without documents of comments alone.
func Documents(content []byte) (documents [][]byte) {
	for _, d := range text.Split(content) {
		if !d.IsEmpty() {
			documents = append(documents, d.Content)
		}
	}
	return documents
}
